#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "packing/algorithms/shuffle.hpp"
#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"
#include "packing/planner/small_jobs/iteration_timer.hpp"

namespace packsim {

struct IterationLimits {
  std::int64_t most_tokens = 0;  ///< of an iteration, unless a single item is longer
  std::int64_t fewest = 0;       ///< iterations
  std::int64_t most = std::numeric_limits<std::int64_t>::max();  ///< iterations, where so few are possible
};

/// The iterations of a small job, which random changes make faster.
class RandomChanges {
 public:
  /// The setting, the costs and the lengths are kept by reference.
  RandomChanges(const BatchSetting& setting, const DegreeCosts& costs,
                std::span<const std::int32_t> lengths_tokens, const IterationLimits& limits);

  /// Forgets all other iterations. Returns what these take, with what each takes beside its packs.
  double start(std::span<const ComposedIteration> iterations);
  /// Makes changes until about so many packs have been placed.
  void improve(std::int64_t n_placed);
  double total_s() const;
  std::vector<ComposedIteration> iterations();

 private:
  struct Pack {
    std::size_t degree = 0;
    std::int64_t tokens = 0;
    double time_s = 0;
    bool is_critical = false;
    std::vector<ItemIndex> items;  // none: the pack is not there
  };
  struct TimedIteration {
    std::vector<Pack> packs;
    std::int64_t tokens = 0;
    double time_s = 0;
    double score_s = 0;
  };
  // Two packs that change.
  struct Change {
    std::size_t iterations[2] = {};
    std::size_t packs[2] = {};
  };

  std::size_t pick(std::size_t n) { return uniform_up_to(generator_, static_cast<std::uint32_t>(n - 1)); }
  Pack& pack(const Change& change, int which) {
    return iterations_[change.iterations[which]].packs[change.packs[which]];
  }
  bool pick_packs(Change& change);
  bool change_packs(const Change& change);
  void move_item(Pack& from, Pack& to, bool has_new_degree);
  bool swap_items(Pack& one, Pack& other);
  bool merge(Pack& to, Pack& from);
  bool change_degree(Pack& pack);
  bool price(Pack& pack);
  void recount(TimedIteration& iteration) const;
  void time(TimedIteration& iteration);
  void try_change(const Change& change, double most_worse_s);
  bool are_enough() const;
  void keep_one_free(TimedIteration& iteration);

  const BatchSetting& setting_;
  const DegreeCosts& costs_;
  std::span<const std::int32_t> lengths_;
  IterationLimits limits_;
  IterationTimer timer_;
  Generator generator_{1};
  std::vector<TimedIteration> iterations_;
  std::int64_t n_placed_ = 0;
  // Scratch.
  Pack before_[2];
  std::vector<TimedPack> timed_;
  std::vector<std::size_t> timed_of_;
  std::vector<std::int32_t> pack_lengths_;
};

}  // namespace packsim
