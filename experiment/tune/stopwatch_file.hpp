#pragma once

#include <span>
#include <string>
#include <vector>

#include "planning/tune/profiled_case.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Steps that were timed on a real cluster: a CSV file (docs/tune.md) with the columns pack_tokens,
/// sp_degree, gc_layers, step_s, peak_memory_bytes. step_s is of an iteration of the scenario's
/// tokens_per_iteration and empty where the memory column says oom; that one may be empty beside a time.
/// Lines that start with # and empty ones are left out.
///
/// Throws ScenarioError with every line that cannot be, or that the scenario's model and cluster cannot have
/// run; FileError where the file cannot be read.
std::vector<ProfiledCase> read_stopwatch(const std::string& path, const Scenario& scenario);

/// The same file to fill in, with the cases that a cluster should be timed on: every length and degree that
/// can run and that the memory model has fit, with the fewest checkpointed layers that it has fit. The others
/// are named in comments.
std::string stopwatch_template(const Scenario& scenario, std::span<const std::int64_t> lengths_tokens,
                               std::span<const int> sp_degrees);

}  // namespace packsim
