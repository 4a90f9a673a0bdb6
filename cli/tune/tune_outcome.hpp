#pragma once

#include <string>
#include <vector>

#include "planning/tune/checkpointed_layers.hpp"
#include "planning/tune/tune.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What `packsim tune` found, and what it was asked.
struct TuneOutcome {
  TuneRequest request;
  std::string stopwatch;   ///< the file; empty: the simulator
  int n_iterations = 0;    ///< simulated; 0 with a stopwatch
  std::string order = {};  ///< of the simulated packs, by its name
  Tuning tuning;
  std::vector<FewerLayers> fewer_layers;  ///< what timed memory leaves room for
};

/// Data tokens a second of one GPU. The case can run.
double tokens_per_gpu_second(const Scenario& scenario, const ProfiledCase& one);

/// The table of cases, the groups with their reasons, near ties: what the terminal shows.
std::string tune_text(const Scenario& scenario, const TuneOutcome& outcome);

/// The same for programs; ends without a line end.
std::string tune_json(const Scenario& scenario, const TuneOutcome& outcome, const std::string& version);

}  // namespace packsim
