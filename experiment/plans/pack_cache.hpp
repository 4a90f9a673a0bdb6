#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "experiment/plans/planned_strategy.hpp"
#include "experiment/shared/once_map.hpp"
#include "packing/schedule/schedule.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What strategies that only pack have made of one data set, for all jobs that make the same of it. Threads
/// may share it.
class PackCache {
 public:
  std::shared_ptr<const PackedData> packed(const StrategySpec& spec, const std::function<PackedData()>& make);
  /// packed: by the same spec.
  std::shared_ptr<const PlacedPacks> placed(const StrategySpec& spec, const ScheduleOptions& options,
                                            const std::function<PlacedPacks()>& make);

 private:
  static constexpr std::size_t kMostPackings = 64;
  static constexpr std::size_t kMostSchedules = 64;
  OnceMap<PackedData> packed_{kMostPackings};
  OnceMap<PlacedPacks> placed_{kMostSchedules};
};

}  // namespace packsim
