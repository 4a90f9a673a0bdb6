#pragma once

#include "planning/group_selection/candidate_groups.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What a scenario trains, and where, by reference.
inline Job job_of(const Scenario& scenario) {
  return {scenario.model, scenario.cluster, scenario.hardware, scenario.profile.factors,
          scenario.trainer.get()};
}

}  // namespace packsim
