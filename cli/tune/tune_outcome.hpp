#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/results/plan_search.hpp"
#include "planning/tune/checkpointed_layers.hpp"
#include "planning/tune/tune.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What `packsim tune` found, and what it was asked.
struct TuneOutcome {
  TuneRequest request;
  std::string stopwatch;   ///< file of timed steps; empty if the simulator was used
  int n_iterations = 0;    ///< number of simulated iterations; 0 with a file of timed steps
  std::string order = {};  ///< name of the order of the simulated packs
  Tuning tuning;
  /// Cases for which the measured memory leaves room for fewer checkpointed layers.
  std::vector<FewerLayers> fewer_layers;
  /// What the whole run takes with these groups and with the best ones that a search found; none with a file
  /// of timed steps.
  std::optional<PlanSearch> search = {};
};

/// Data tokens a second that one GPU trains. Only for a case that can run.
double tokens_per_gpu_second(const Scenario& scenario, const ProfiledCase& one);

/// What the terminal shows: the table of cases, the groups with their reasons, and near ties.
std::string tune_text(const Scenario& scenario, const TuneOutcome& outcome);

/// The same as JSON, for programs. It does not end in a newline.
std::string tune_json(const Scenario& scenario, const TuneOutcome& outcome, const std::string& version);

}  // namespace packsim
