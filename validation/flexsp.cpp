#include <fmt/format.h>

#include <cmath>

#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

ValidationRow row_of(const std::string& name, double published, double predicted, const std::string& unit,
                     std::optional<double> tolerance) {
  ValidationRow row{.name = name,
                    .published = published,
                    .predicted = predicted,
                    .unit = unit,
                    .error = relative_error(predicted, published),
                    .tolerance = tolerance};
  row.outcome = outcome_of(row.error, tolerance);
  if (std::isnan(predicted)) row.outcome = Outcome::missed;
  return row;
}

ValidationRow gpu_days_row(const PublishedRun& run, const StrategyResult& result, double tolerance) {
  ValidationRow row = row_of(run.name, run.gpu_days, result.times->gpu_days, "GPU-days", tolerance);
  row.interval = Interval{result.times->gpu_days_low, result.times->gpu_days_high};
  return row;
}

// Of different SP degrees side by side there are no ranks to compare, only GPUs.
void add_ratio_rows(const PublishedRun& run, const StrategyResult& result, const PublishedTolerances& bounds,
                    std::vector<ValidationRow>& rows) {
  if (run.abr)
    rows.push_back(
        row_of(run.name + ", ABR", *run.abr, result.balance->abr, "ratio", bounds.flexsp_abr / *run.abr));
  if (run.cr)
    rows.push_back(
        row_of(run.name + ", CR", *run.cr, result.balance->cr, "ratio", bounds.flexsp_cr / *run.cr));
}

ValidationRow wait_row(const PublishedWait& wait, const StrategyResult& result, double tolerance) {
  ValidationRow row =
      row_of(wait.name + ", wait", wait.exposed_s, result.planning->exposed_s, "s", tolerance);
  row.beside = fmt::format("step {:.2f} s ({:.2f}) without it", result.times->step_mean_s, wait.model_s);
  return row;
}

}  // namespace

std::vector<ValidationSet> validate_flexsp(const PublishedTables& tables, ScenarioRuns& runs) {
  for (const PublishedRun& run : tables.flexsp) runs.need(run.scenario, run.strategy);
  for (const PublishedWait& wait : tables.planning) runs.need(wait.scenario, wait.strategy);
  ValidationSet set{.name = "hbp-flexsp",
                    .title = "HBP against FlexSP, predicted",
                    .about = "The time of a plan is the paper's; the rest went into no fit"};
  const PublishedTolerances& bounds = tables.tolerances;
  for (const PublishedRun& run : tables.flexsp) {
    const StrategyResult& result = runs.run(run.scenario, run.strategy);
    set.rows.push_back(gpu_days_row(run, result, bounds.flexsp_gpu_days));
    if (result.strategy == "flexsp") add_ratio_rows(run, result, bounds, set.rows);
  }
  for (const PublishedWait& wait : tables.planning)
    set.rows.push_back(wait_row(wait, runs.run(wait.scenario, wait.strategy), bounds.planning));
  return {set};
}

}  // namespace packsim
