#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiment/plans/pack_attentions.hpp"
#include "experiment/shared/once_map.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/pack_use_counts.hpp"
#include "packing/schedule/schedule.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The micro-batches of each group: [n_groups][n_packs of the group].
using GroupBatches = std::vector<std::vector<MicroBatch>>;

/// The packs that a strategy makes of a data set.
struct PackedData {
  Packing packing;
  GroupBatches batches;
  std::shared_ptr<PackAttentions> attentions;
};

/// When and where these packs are trained.
struct ScheduledPacks {
  Schedule schedule;
  PackUseCounts uses;
};

/// What strategies that only pack have made of one data set, for all jobs that make the same of it. Threads
/// may share it.
class PackCache {
 public:
  std::shared_ptr<const PackedData> packed(const StrategySpec& spec, const std::function<PackedData()>& make);
  /// packed: by the same spec.
  std::shared_ptr<const ScheduledPacks> scheduled(const StrategySpec& spec, const ScheduleOptions& options,
                                                  const std::function<ScheduledPacks()>& make);

 private:
  static constexpr std::size_t kMostPackings = 64;
  static constexpr std::size_t kMostSchedules = 64;
  OnceMap<PackedData> packed_{kMostPackings};
  OnceMap<ScheduledPacks> scheduled_{kMostSchedules};
};

}  // namespace packsim
