#include "experiment/search/work_floors.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

// The least time per token of all packs up to the capacity.
double least_rate(const CostCurve& tokens_s) {
  double rate = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < tokens_s.tokens.size(); ++i)
    rate = std::min(rate, tokens_s.time_s[i] / static_cast<double>(tokens_s.tokens[i]));
  return rate;
}

std::span<const LengthCount> up_to(std::span<const LengthCount> lengths, std::int64_t length_tokens) {
  const auto end = std::ranges::upper_bound(lengths, length_tokens, {}, &LengthCount::length_tokens);
  return lengths.first(static_cast<std::size_t>(end - lengths.begin()));
}

// The plan without what has no effect: how layers would be checkpointed, if none is.
ParallelPlan priced_alike(ParallelPlan plan) {
  if (plan.gc_layers > 0) return plan;
  plan.offload.activations = false;
  return with_whole_layers(std::move(plan));
}

}  // namespace

const WorkFloors::OfPacks& WorkFloors::of(const ParallelPlan& of_plan, std::int64_t capacity_tokens,
                                          std::int64_t samples_of_pack) {
  const ParallelPlan plan = priced_alike(of_plan);
  ByLength& known = known_[plan];
  const std::pair length_and_samples(capacity_tokens, samples_of_pack);
  if (const auto found = known.find(length_and_samples); found != known.end()) return found->second;
  const PackCost& cost = pricers_.rough_cost(plan, capacity_tokens).pack;
  const double rate = least_rate(cost.tokens_s);
  const double gpus = plan.sequence.gpus_per_pack();
  const auto n_together = static_cast<double>(samples_of_pack);
  AscendingCurve document_s(cost.document_s);
  AscendingCurve tokens_s(cost.tokens_s);
  const bool has_transfers = !cost.transfers_s.tokens.empty();
  const double transfers_rate =
      has_transfers ? cost.transfers_s.at(capacity_tokens) / static_cast<double>(capacity_tokens) : 0;
  OfPacks& floors = known[length_and_samples];
  floors.lengths_ = up_to(lengths_, capacity_tokens);
  floors.hiding_fraction_ = cost.hiding_fraction;
  for (const LengthCount& samples : floors.lengths_) {
    const double one_s = samples_of_pack == 0
                             ? rate * samples.length_tokens
                             : tokens_s.at(samples_of_pack * samples.length_tokens) / n_together;
    const double n_gpus = gpus * static_cast<double>(samples.n_samples);
    floors.tokens_s_.push_back(floors.tokens_s_.back() + n_gpus * one_s);
    floors.attention_s_.push_back(floors.attention_s_.back() + n_gpus * document_s.at(samples.length_tokens));
    floors.transfers_s_.push_back(floors.transfers_s_.back() +
                                  n_gpus * transfers_rate * samples.length_tokens);
  }
  return floors;
}

double WorkFloors::OfPacks::gpu_s(std::int64_t above_tokens) const {
  const std::size_t first = up_to(lengths_, above_tokens).size();
  const auto from = [&](const std::vector<double>& before_s) { return before_s.back() - before_s[first]; };
  const double attention_s = from(attention_s_);
  const double hidden_s = std::min(from(transfers_s_), hiding_fraction_ * attention_s);
  return from(tokens_s_) + attention_s - hidden_s;
}

double WorkFloors::step_s(const ParallelPlan& plan, std::int64_t capacity_tokens) {
  const double step_s = pricers_.rough_cost(priced_alike(plan), capacity_tokens).step_s;
  // It is negative where the first pack of a step takes less than the others, which is real, and where stages
  // of a pipeline are shorter than the longest one, which is not: packs wait for the longest.
  return plan.pp_degree > 1 ? std::max(0.0, step_s) : step_s;
}

std::int64_t WorkFloors::n_tokens() const {
  std::int64_t n_tokens = 0;
  for (const LengthCount& samples : lengths_) n_tokens += samples.length_tokens * samples.n_samples;
  return n_tokens;
}

double WorkFloors::n_tokens(std::int64_t longest_tokens) const {
  double n_tokens = 0;
  for (const LengthCount& samples : up_to(lengths_, longest_tokens))
    n_tokens += static_cast<double>(samples.length_tokens) * static_cast<double>(samples.n_samples);
  return n_tokens;
}

}  // namespace packsim
