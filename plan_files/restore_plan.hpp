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

/// The packing alone, of tables without table_mistakes(), which must outlive the result.
Packing restore_packing(const PlanTables& plan, const Strategy& strategy);

/// The view must outlive the result. Throws as PlanView::check(), which it calls.
RestoredPlan restore_plan(const PlanView& plan);

}  // namespace packsim
