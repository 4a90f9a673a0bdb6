#include <fmt/format.h>

#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

ValidationRow gpu_days_row(const PublishedRow& run, const StrategyResult& result, double tolerance) {
  ValidationRow row = compared_row(run.name, run.value, result.times->gpu_days, "GPU-days", tolerance);
  set_interval(result, run.scenario, row);
  return row;
}

// Groups of different SP degrees side by side have no ranks to compare, only GPUs. The tolerances are
// differences.
void add_ratio_rows(const PublishedTables& tables, const PublishedRow& run, const StrategyResult& result,
                    std::vector<ValidationRow>& rows) {
  if (run.abr)
    rows.push_back(compared_row(run.name + ", ABR", *run.abr, result.balance->abr, "ratio",
                                tables.tolerance("flexsp/abr") / *run.abr));
  if (run.cr)
    rows.push_back(compared_row(run.name + ", CR", *run.cr, result.balance->cr, "ratio",
                                tables.tolerance("flexsp/cr") / *run.cr));
}

ValidationRow wait_row(const PublishedRow& wait, const StrategyResult& result, double tolerance) {
  ValidationRow row =
      compared_row(wait.name + ", wait", wait.value, result.planning->exposed_s, "s", tolerance);
  if (wait.model_s)
    row.beside = fmt::format("step {:.2f} s ({:.2f}) without it", result.times->step_mean_s, *wait.model_s);
  return row;
}

}  // namespace

std::vector<ValidationSet> validate_flexsp(const PublishedTables& tables, ScenarioRuns& runs) {
  for (const auto* published : {&tables.flexsp, &tables.planning}) {
    for (const PublishedRow& row : *published) runs.need(row.scenario, row.strategy);
  }
  ValidationSet set{.name = "hbp-flexsp",
                    .title = "HBP against FlexSP, predicted",
                    .about = "The time of a plan is the paper's; the rest went into no fit"};
  for (const PublishedRow& run : tables.flexsp) {
    const StrategyResult& result = runs.run(run.scenario, run.strategy);
    set.rows.push_back(gpu_days_row(run, result, tables.tolerance("flexsp/gpu_days_fraction")));
    if (result.strategy == "flexsp") add_ratio_rows(tables, run, result, set.rows);
  }
  for (const PublishedRow& wait : tables.planning) {
    set.rows.push_back(
        wait_row(wait, runs.run(wait.scenario, wait.strategy), tables.tolerance("flexsp_planning/fraction")));
  }
  return {set};
}

}  // namespace packsim
