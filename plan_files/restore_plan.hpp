#pragma once

#include <vector>

#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"
#include "packing/sequence_parallelism.hpp"
#include "plan_files/plan_bytes.hpp"
#include "plan_files/plan_view.hpp"

namespace packsim {

/// The packing and the schedule that plan_bytes() was given, item for item.
struct RestoredPlan {
  Packing packing;
  Schedule schedule;
  std::vector<SequenceParallelism> sequence;  ///< [n_groups]
};

/// The view must outlive the result. Throws PlanFileError for a strategy that this packsim does not know, and
/// for items that are in several packs, or in none without being counted.
RestoredPlan restore_plan(const PlanView& plan);

}  // namespace packsim
