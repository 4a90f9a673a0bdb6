#include "experiment/search/trials.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "experiment/search/plan_space.hpp"

namespace packsim {
namespace {

std::vector<LengthCount> count_lengths(std::span<const std::int32_t> lengths_tokens,
                                       std::int64_t longest_tokens, OverLong over_long) {
  std::map<std::int32_t, std::int64_t> counts;
  const auto longest = static_cast<std::int32_t>(longest_tokens);
  for (const std::int32_t length : lengths_tokens) {
    if (length > longest && over_long == OverLong::drop) continue;
    const bool splits = over_long == OverLong::split;
    if (length > longest && splits) counts[longest] += length / longest;
    const std::int32_t rest = length > longest ? (splits ? length % longest : longest) : length;
    if (rest > 0) ++counts[rest];
  }
  std::vector<LengthCount> lengths;
  for (const auto& [length, n_samples] : counts) lengths.push_back({length, n_samples});
  return lengths;
}

std::int64_t count_lost(std::span<const std::int32_t> lengths_tokens, std::int64_t longest_tokens,
                        OverLong over_long) {
  std::int64_t n_tokens = 0;
  for (const std::int32_t length : lengths_tokens) {
    if (length <= longest_tokens) continue;
    if (over_long == OverLong::drop) n_tokens += length;
    if (over_long == OverLong::truncate) n_tokens += length - longest_tokens;
  }
  return n_tokens;
}

}  // namespace

Samples samples_of(std::span<const std::int32_t> lengths_tokens, std::int64_t longest_tokens,
                   OverLong over_long, bool are_some) {
  return {.lengths_tokens = lengths_tokens,
          .counts = count_lengths(lengths_tokens, longest_tokens, over_long),
          .lost_tokens = count_lost(lengths_tokens, longest_tokens, over_long),
          .are_some = are_some};
}

bool Trials::best_rules_out() const {
  if (tried_.empty()) return false;
  const TriedPlan& best = tried_.front();
  return best.lost_tokens <= samples_.lost_tokens &&
         (best.is_asked_job || (best.has_asked_mean && strategy_of(best.candidate.spec).counts_samples));
}

bool Trials::rules_out(double floor_s) const {
  return best_rules_out() && floor_s * kFloorAccuracy > tried_.front().epoch_s;
}

void Trials::add(const PlanCandidate& candidate, PlanSearch& search) {
  if (!candidate.is_usual && rules_out(candidate.floor_s)) {
    ++search.n_ruled_out;
    return;
  }
  if (is_over()) {
    search.is_cut_short = true;
    ++search.n_given_up;
    return;
  }
  const bool may_be_slow = candidate.is_usual || !best_rules_out();
  ++search.n_simulated;
  const double most_s = may_be_slow ? std::numeric_limits<double>::infinity()
                                    : (1 + kFinalistFraction) * tried_.front().epoch_s;
  TriedPlan tried =
      try_plan(scenario_, candidate, samples_.lengths_tokens, samples_.are_some, most_s, pricers_);
  if (!tried.refusal.empty()) {
    if (refusal_.empty()) refusal_ = tried.refusal;
    return;
  }
  tried_.insert(std::ranges::upper_bound(tried_, tried, is_better), std::move(tried));
}

}  // namespace packsim
