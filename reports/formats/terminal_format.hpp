#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

/// What was simulated, one table with a line per run, what its columns mean, how each group was run, and a
/// conclusion; no escape codes. Sentences are wrapped at width_columns, the table never is.
std::string to_terminal(const Report& report, int width_columns);

}  // namespace packsim
