#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiment/pricers/shared_prices.hpp"
#include "planning/bound/lower_bound.hpp"
#include "scenarios/search_space/plan_hash.hpp"

namespace packsim {

/// The GPU time that samples take at least in packs of a plan, by the prices of full and shorter packs. No
/// pack waits for anything or is padded.
class WorkFloors {
 public:
  /// lengths: of the samples, ascending; each above 0. Both are kept by reference.
  /// are_of_all_samples: whether these are all samples of the data set.
  WorkFloors(std::span<const LengthCount> lengths, bool are_of_all_samples, ScenarioPricers& pricers)
      : lengths_(lengths), are_of_all_samples_(are_of_all_samples), pricers_(pricers) {}

  /// The floors of packs of one plan and length.
  class OfPacks {
   public:
    /// Seconds of one of the GPUs to which packs are assigned, for the samples that fit in a pack and are
    /// longer than `above_tokens`, which are not more than a pack has.
    double gpu_s(std::int64_t above_tokens) const;

   private:
    friend class WorkFloors;
    std::span<const LengthCount> lengths_;  // that fit in a pack
    // [n_lengths + 1], GPU seconds of the samples before each length: without attention; attention; and
    // transfers that attention may hide.
    std::vector<double> tokens_s_ = {0};
    std::vector<double> attention_s_ = {0};
    std::vector<double> transfers_s_ = {0};
    double hiding_fraction_ = 0;
  };
  /// plan: with the checkpointed layers of its packs. samples_of_pack: how many samples of about the same
  /// length are in a pack; 0: as many as it takes to cost least. Valid as long as this object.
  const OfPacks& of(const ParallelPlan& plan, std::int64_t capacity_tokens, std::int64_t samples_of_pack = 0);
  /// What a step takes in addition to its packs.
  double step_s(const ParallelPlan& plan, std::int64_t capacity_tokens);
  bool are_of_all_samples() const { return are_of_all_samples_; }
  std::int64_t n_tokens() const;
  std::int64_t longest_tokens() const { return lengths_.empty() ? 0 : lengths_.back().length_tokens; }
  /// Tokens of the samples that are not longer than this.
  double n_tokens(std::int64_t longest_tokens) const;

 private:
  std::span<const LengthCount> lengths_;
  bool are_of_all_samples_;
  ScenarioPricers& pricers_;
  using ByLength = std::map<std::pair<std::int64_t, std::int64_t>, OfPacks>;  // and by samples_of_pack
  std::unordered_map<ParallelPlan, ByLength, PlanHash> known_;                // references stay valid
};

}  // namespace packsim
