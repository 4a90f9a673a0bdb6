#include "c_api/request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "c_api/status.hpp"

namespace packsim::c_api {
namespace {

using Request = packsim_pack_request;

// Of the header of 0.1.0. Later ones add fields at the end.
constexpr std::size_t kFirstStructSize =
    offsetof(Request, samples_per_iteration) + sizeof(Request::samples_per_iteration);
static_assert(kFirstStructSize <= sizeof(Request));

struct Range {
  const char* name;
  std::int64_t Request::*field;
  std::int64_t least;
  std::int64_t most;
};

// What is over these is a typing error, and sums of it might not fit in 64 bits.
constexpr std::int64_t kMostTokens = kLongestCapacityTokens;
constexpr std::int64_t kMostSamples = 1'000'000'000;
constexpr std::int64_t kMostGpus = 1 << 20;
constexpr std::int64_t kMostGroups = 65'535;
constexpr std::int64_t kMostTokensPerIteration = 1'000'000'000'000;

constexpr std::array<Range, 16> kRanges = {{
    {"n_capacities", &Request::n_capacities, 1, kMostGroups},
    {"longest_tokens", &Request::longest_tokens, 0, kMostTokens},
    {"window_samples", &Request::window_samples, -1, kMostSamples},
    {"n_gpus", &Request::n_gpus, 0, kMostGpus},
    {"tokens_per_iteration", &Request::tokens_per_iteration, 0, kMostTokensPerIteration},
    {"n_sp_degrees", &Request::n_sp_degrees, 0, kMostGroups},
    {"rounds", &Request::rounds, 1, 1'000'000},
    {"threshold_tokens", &Request::threshold_tokens, -1, kMostTokens},
    {"max_samples_per_pack", &Request::max_samples_per_pack, 0, kMostSamples},
    {"batch_samples", &Request::batch_samples, 0, kMostSamples},
    {"linear_weight_tokens", &Request::linear_weight_tokens, 0, kMostTokens},
    {"outlier_queues", &Request::outlier_queues, 0, 1000},
    {"outlier_threshold_tokens", &Request::outlier_threshold_tokens, -1, kMostTokens},
    {"micro_batch_tokens", &Request::micro_batch_tokens, -1, kMostTokens},
    {"batch_tokens", &Request::batch_tokens, 0, kMostTokensPerIteration},
    {"samples_per_iteration", &Request::samples_per_iteration, 0, kMostSamples},
}};

std::string_view text(const char* field, const char* value) {
  if (value == nullptr) refuse(std::string(field) + ": expected a name, got NULL");
  return value;
}

template <typename Enum, std::size_t N>
Enum policy(const char* field, const std::array<PolicyName<Enum>, N>& names, const char* given) {
  const std::string_view name = text(field, given);
  if (const auto value = policy_value(names, name)) return *value;
  std::string known;
  for (const PolicyName<Enum>& row : names) known += (known.empty() ? "" : ", ") + std::string(row.name);
  refuse(std::string(field) + ": expected one of " + known + ", got \"" + std::string(name) + "\"");
}

template <typename T>
std::span<const T> array(const char* field, const T* values, std::int64_t n) {
  if (values == nullptr && n > 0)
    refuse(std::string(field) + ": expected " + std::to_string(n) + " values, got NULL");
  return {values, static_cast<std::size_t>(n)};
}

StrategyOptions options_of(const Request& request) {
  StrategyOptions options;
  options.seed = request.seed;
  options.shuffle = request.shuffle != 0;
  options.greedy_fill = request.greedy_fill != 0;
  options.padded_batches = request.padded_batches != 0;
  options.packer = text("packer", request.packer);
  options.rounds = static_cast<int>(request.rounds);
  options.threshold_tokens = request.threshold_tokens;
  options.max_samples_per_pack = request.max_samples_per_pack;
  options.batch_samples = request.batch_samples;
  options.linear_weight_tokens = request.linear_weight_tokens;
  options.outlier_queues = static_cast<int>(request.outlier_queues);
  options.outlier_threshold_tokens = request.outlier_threshold_tokens;
  options.micro_batch_tokens = request.micro_batch_tokens;
  options.batch_tokens = request.batch_tokens;
  options.samples_per_iteration = request.samples_per_iteration;
  return options;
}

// Where a strategy that forms iterations runs, without prices.
BatchSetting setting_of(const Request& request, std::span<const std::int64_t> capacities_tokens) {
  const auto degrees = array("sp_degrees", request.sp_degrees, request.n_sp_degrees);
  if (degrees.size() > 1 && degrees.size() != capacities_tokens.size()) {
    refuse("n_sp_degrees: expected 0, 1, or one for each of " + std::to_string(capacities_tokens.size()) +
           " capacities, got " + std::to_string(degrees.size()));
  }
  for (const std::int32_t degree : degrees) {
    if (degree < 1 || degree > kMostGpus)
      refuse("sp_degrees: expected 1.." + std::to_string(kMostGpus) + ", got " + std::to_string(degree));
  }
  BatchSetting setting;
  const std::int32_t widest = degrees.empty() ? 1 : *std::ranges::max_element(degrees);
  setting.n_gpus = request.n_gpus > 0 ? static_cast<int>(request.n_gpus) : widest;
  setting.tokens_per_iteration = request.tokens_per_iteration;
  for (std::size_t group = 0; group < capacities_tokens.size(); ++group) {
    setting.groups.push_back({.capacity_tokens = capacities_tokens[group],
                              .gpus_per_pack = static_cast<int>(gpus_of_pack(request, group))});
  }
  return setting;
}

}  // namespace

Request default_request() {
  const PackRequest core;
  const StrategyOptions& options = core.options;
  Request request = {};
  request.struct_size = sizeof request;
  request.over_long = policy_name(kOverLongNames, core.over_long).data();
  request.empty = policy_name(kEmptyNames, core.empty).data();
  request.window_samples = -1;
  request.seed = options.seed;
  request.shuffle = options.shuffle;
  request.greedy_fill = options.greedy_fill;
  request.padded_batches = options.padded_batches;
  request.packer = options.packer.data();
  request.rounds = options.rounds;
  request.threshold_tokens = options.threshold_tokens;
  request.max_samples_per_pack = options.max_samples_per_pack;
  request.batch_samples = options.batch_samples;
  request.linear_weight_tokens = options.linear_weight_tokens;
  request.outlier_queues = options.outlier_queues;
  request.outlier_threshold_tokens = options.outlier_threshold_tokens;
  request.micro_batch_tokens = options.micro_batch_tokens;
  request.batch_tokens = options.batch_tokens;
  request.samples_per_iteration = options.samples_per_iteration;
  return request;
}

void check_struct_size(std::size_t struct_size) {
  if (struct_size >= kFirstStructSize && struct_size <= sizeof(Request)) return;
  refuse("struct_size: expected " + std::to_string(kFirstStructSize) + ".." +
         std::to_string(sizeof(Request)) + ", as packsim_pack_request_init() sets it, got " +
         std::to_string(struct_size));
}

Request known_request(const Request& request) {
  check_struct_size(request.struct_size);
  Request known = default_request();
  std::memcpy(&known, &request, request.struct_size);
  return known;
}

bool needs_prices(const Strategy& strategy) {
  const auto reads = [&](std::string_view option) {
    return std::ranges::find(strategy.options, option) != strategy.options.end();
  };
  return strategy.chooses_groups || reads("costs");
}

std::uint32_t gpus_of_pack(const Request& request, std::size_t group) {
  if (request.n_sp_degrees == 0) return 1;
  return static_cast<std::uint32_t>(request.sp_degrees[request.n_sp_degrees == 1 ? 0 : group]);
}

Packing pack_as_requested(std::span<const std::int32_t> lengths_tokens, const Request& request) {
  for (const Range& range : kRanges) {
    const std::int64_t value = request.*range.field;
    if (value < range.least || value > range.most) {
      refuse(std::string(range.name) + ": expected " + std::to_string(range.least) + ".." +
             std::to_string(range.most) + ", got " + std::to_string(value));
    }
  }
  const std::string_view name = text("strategy", request.strategy);
  const auto capacities = array("capacities_tokens", request.capacities_tokens, request.n_capacities);
  const Strategy* strategy = find_strategy(name);
  if (strategy != nullptr && needs_prices(*strategy)) {
    refuse("strategy: expected one that needs no prices, got \"" + std::string(name) +
           "\"; packsim run packs with it, for the model and cluster of a scenario");
  }
  PackRequest core{.lengths_tokens = lengths_tokens,
                   .capacities_tokens = {capacities.begin(), capacities.end()},
                   .over_long = policy("over_long", kOverLongNames, request.over_long),
                   .longest_tokens = request.longest_tokens,
                   .empty = policy("empty", kEmptyNames, request.empty),
                   .window_samples = request.window_samples,
                   .options = options_of(request)};
  BatchSetting setting;
  if (strategy != nullptr) {
    if (request.window_samples < 0) core.window_samples = strategy->default_window_samples;
    if (strategy->plan_batches != nullptr) setting = setting_of(request, capacities);
  }
  core.setting = &setting;
  return pack(name, core);
}

}  // namespace packsim::c_api
