#include "packing/flexsp/cost.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace packsim::flexsp {
namespace {

constexpr double kSecondsPerMs = 1e-3;

}  // namespace

double SequenceCost::group_s(std::span<const std::int32_t> lengths_tokens) const {
  if (lengths_tokens.empty()) return 0;
  double time_s = fixed_s;
  for (const std::int32_t length : lengths_tokens) time_s += sequence_s(length);
  return time_s;
}

double published_all_to_all_ms(const PublishedModel& model, std::int64_t tokens, int gpus_per_pack,
                               std::span<const AllToAllRate> rates) {
  if (gpus_per_pack == 1) return 0;
  const auto rate = std::ranges::find(rates, gpus_per_pack, &AllToAllRate::gpus_per_pack);
  if (rate == rates.end()) {
    throw std::invalid_argument("flexsp: no published all-to-all bandwidth for SP degree " +
                                std::to_string(gpus_per_pack));
  }
  constexpr double kTensorsBothWays = 4 * 2;
  constexpr double kBytes = 2;
  constexpr double kMb = 1024.0 * 1024.0;
  const double size_mb = kTensorsBothWays * model.n_layers * model.hidden_size * static_cast<double>(tokens) *
                         kBytes / kMb / gpus_per_pack;
  return size_mb / rate->gb_per_s;
}

SequenceCost published_cost(const PublishedModel& model, int gpus_per_pack,
                            std::span<const AllToAllRate> rates) {
  constexpr std::int64_t kMany = 1 << 20;  // the exchange is proportional to the tokens
  const double exchange_ms = published_all_to_all_ms(model, kMany, gpus_per_pack, rates) / kMany;
  return {.fixed_s = model.fixed_ms * kSecondsPerMs,
          .token_s = (model.token_ms / gpus_per_pack + exchange_ms) * kSecondsPerMs,
          .squared_token_s = model.attention_ms / gpus_per_pack * kSecondsPerMs};
}

SequenceCost profile_cost(const PackCost& cost, std::int64_t capacity_tokens) {
  const std::int64_t half_tokens = capacity_tokens / 2;
  const double half_s = cost.tokens_s.at(half_tokens);
  const double slope_s = (cost.tokens_s.at(capacity_tokens) - half_s) /
                         static_cast<double>(std::max<std::int64_t>(1, capacity_tokens - half_tokens));
  // A curve that bends upwards must not give time back to small packs.
  const double fixed_s = std::max(0.0, half_s - slope_s * static_cast<double>(half_tokens));
  return {.fixed_s = fixed_s, .token_s = slope_s, .document_s = cost.document_s};
}

}  // namespace packsim::flexsp
