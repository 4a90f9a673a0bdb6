#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/plan_key.hpp"
#include "reports/settings/trainer_job.hpp"

namespace packsim {

/// The value of a fact that settings files name (docs/extending.md lists all): a key of the plan, a word of
/// its "offload" ("offload.optimizer"), or a row of the table. None where the job has no such value, such as
/// one number of micro-batches where steps differ, or where the value would not say the plan exactly.
std::optional<PlanValue> fact_of(const TrainerJob& job, std::string_view name);

/// Whether packs are fed as rows of a data set (packsim.trainers.packed_dataset()): several GPUs train each,
/// which packsim's own trainers do not do.
bool feeds_rows(const TrainerJob& job);

/// Whether there is a fact of that name.
bool is_fact(std::string_view name);

/// The parts of the plan that a fact says, as parts_to_say() names them.
std::vector<std::string> parts_said_by(std::string_view fact);

/// What a settings file says or does not say of a plan.
struct PlanPartSaid {
  std::string name;  ///< a key of the plan, or "offload.optimizer"
  std::string text;  ///< in words: "TP 4"
};

/// Everything in which the plan is not the one of which nothing is said.
std::vector<PlanPartSaid> parts_to_say(const TrainerJob& job);

}  // namespace packsim
