#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// The job: model, cluster, data, training, plan and profile, a labelled line each.
std::string job_text(const Report& report, int width_columns);

/// The mixture of a scenario that has one, with what it rests on; else empty.
/// with_groups: also of each group of a subset.
std::string mixture_text(const Report& report, int width_columns, bool with_groups);

/// The tables that few need: plans, lower bounds, searches, loss weights, policies, and what makes intervals
/// wide. Their sentences are wrapped at width_columns, the tables are as wide as they are.
std::string further_tables(const Report& report, int width_columns);

}  // namespace packsim::formats_detail
