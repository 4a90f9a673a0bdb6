#pragma once

#include <span>
#include <string>
#include <vector>

#include "planning/tune/profiled_case.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Reads steps that were timed on a real cluster from a CSV file (docs/tune.md) with the columns pack_tokens,
/// sp_degree, gc_layers, step_s and peak_memory_bytes. step_s is the time of an iteration of the scenario's
/// tokens_per_iteration; it is empty if the memory column says oom. The memory column may be empty if there
/// is a time. Empty lines and lines that start with # are skipped.
///
/// Throws ScenarioError that lists every line that is malformed, or that the scenario's model and cluster
/// cannot have run; FileError if the file cannot be read.
std::vector<ProfiledCase> read_stopwatch(const std::string& path, const Scenario& scenario);

/// Makes such a file to fill in, with the cases that should be timed on a cluster: every length and degree
/// that can run and fits in memory by the memory model, with the fewest checkpointed layers for that. All
/// other cases are named in comments.
std::string stopwatch_template(const Scenario& scenario, std::span<const std::int64_t> lengths_tokens,
                               std::span<const int> sp_degrees);

}  // namespace packsim
