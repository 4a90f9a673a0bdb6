#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/plan/trainer.hpp"
#include "reports/settings/trainer_job.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A file by its name, which may have a folder, and its text.
using SettingsText = std::pair<std::string, std::string>;

/// A plan as one trainer is told it.
struct TrainerSettings {
  std::string way;                         ///< in which the trainer runs the plan
  std::vector<SettingsText> files;         ///< none where it cannot
  std::vector<std::string> files_for;      ///< what each file is, in words
  std::vector<std::string> unsaid;         ///< parts of the plan that no file says, in words
  std::vector<std::string> refusals = {};  ///< why the trainer cannot run it; empty: it can
};

/// The settings of this trainer, or why it cannot run the plan.
TrainerSettings settings_of_trainer(const Trainer& trainer, TrainerJob job);

/// Everything that a trainer is told, with README.md. For the scenario's trainer; where it names none, for
/// each shipped trainer that can run the plan, in a folder of its name.
std::vector<SettingsText> all_settings(const Scenario& scenario, const TrainerJob& job,
                                       const DataPaths& data);

/// The name of every file that all_settings() may have, whatever the scenario and the job.
std::vector<std::string> all_settings_names(const DataPaths& data);

}  // namespace packsim
