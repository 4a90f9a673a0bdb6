#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/degree_costs.hpp"
#include "packing/planner/small_jobs/pipeline_time.hpp"

namespace packsim {

/// A pack before it has a place.
struct TimedPack {
  std::size_t degree = 0;  ///< index in DegreeCosts
  double time_s = 0;
};

/// Orders in which a rank of a pipeline may train its packs. A pipeline fills during the forward pass of the
/// first pack and drains during the backward pass of the last, which takes twice as long; what is sent beside
/// these hides behind longer ones.
enum class RankOrder {
  longest_last,   ///< ascending
  longest_first,  ///< descending
  shortest_last,  ///< the longest in the middle, the shortest at the end
};
inline constexpr std::array kRankOrders = {RankOrder::longest_last, RankOrder::longest_first,
                                           RankOrder::shortest_last};

/// Finds a place for each pack of an iteration, and says what the iteration then takes.
///
/// If all GPUs synchronise in every round, packs go, longest first, into the first round with enough GPUs
/// left. A GPU has a pack in every round up to its last. Otherwise packs go, those with the most GPUs and of
/// these the longest first, to the block that is free first; and a pipeline takes the fastest of kRankOrders.
class IterationTimer {
 public:
  /// Both are kept by reference. setting.rounds.multiple must be 1.
  IterationTimer(const BatchSetting& setting, const DegreeCosts& costs);

  struct Place {
    int first_gpu = 0;
    int round = 0;
    /// Whether the iteration may end earlier with less in this pack.
    bool is_critical = false;
  };

  /// Time of the iteration. Its packs have places then, until the next call.
  double place(std::span<const TimedPack> packs);
  std::span<const Place> places() const { return places_; }
  /// What shows progress where the iteration still takes as long as before: the mean time of GPUs, those that
  /// are busy for longer counting for more.
  double mean_s() const { return mean_s_; }

 private:
  int gpus(const TimedPack& pack) const { return costs_.gpus_per_pack(pack.degree); }
  double exposed_s(double first_s, double last_s) const;
  double pipeline_s(std::span<const std::size_t> longest_first, std::span<const TimedPack> packs,
                    int first_gpu, RankOrder order);
  double place_in_rounds(std::span<const TimedPack> packs);
  double place_on_blocks(std::span<const TimedPack> packs);
  double place_in_pipelines(std::span<const TimedPack> packs);

  struct Round {
    int n_used_gpus = 0;
    double time_s = 0;
    std::size_t first = 0;  // position of its longest pack
  };

  const BatchSetting& setting_;
  const DegreeCosts& costs_;
  PipelineTime pipeline_;
  std::vector<double> fixed_s_;  // [n_degrees], of a pack
  double mean_s_ = 0;
  std::vector<Place> places_;
  // Scratch.
  std::vector<std::size_t> order_;
  std::vector<double> loads_;
  std::vector<int> counts_;
  std::vector<double> firsts_;
  std::vector<double> lasts_;
  std::vector<Round> rounds_;
  std::vector<std::size_t> round_order_;
  std::vector<std::vector<std::size_t>> of_rank_;
  std::vector<PipelineTime::Pack> of_pipeline_;
};

}  // namespace packsim
