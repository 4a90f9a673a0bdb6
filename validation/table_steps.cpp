#include <algorithm>
#include <cmath>

#include "models/kernels/transfer_profile.hpp"
#include "models/memory/peak_memory.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/fit_provenance.hpp"
#include "validation/step_simulation.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

constexpr const char* kProfile = "deepspeed-ulysses-h100";

// "table 18, 32K SP 2" is T18.
std::string table_of(const PublishedTableStep& step) {
  constexpr std::string_view kStart = "table ";
  return "T" + step.name.substr(kStart.size(), step.name.find(',') - kStart.size());
}

// Documents have one length, and the last one is what is left, as in the fit.
Documents documents_of(std::int64_t pack_tokens, double document_tokens) {
  const std::int64_t length = std::llround(document_tokens);
  Documents documents;
  if (pack_tokens >= length) documents.runs.push_back({pack_tokens / length, length});
  if (pack_tokens % length > 0) documents.runs.push_back({1, pack_tokens % length});
  return documents;
}

class TableSteps {
 public:
  TableSteps(const PublishedTables& tables, const DataPaths& data)
      : tables_(tables),
        profile_(load_profile(kProfile, data)),
        hardware_(profile_on(load_hardware_profile(profile_.hardware, data), tables.cluster)),
        fit_(read_fit_provenance(path_of(kProfileFiles, kProfile, data))) {}

  double step_s(const PublishedTableStep& step) const {
    const auto found = fit_.document_tokens.find(table_of(step));
    const double length =
        found == fit_.document_tokens.end() ? static_cast<double>(step.capacity_tokens) : found->second;
    PublishedStep published;
    published.model = tables_.model;
    published.cluster = tables_.cluster;
    published.plan = plan_of(step);
    published.micro_batches = {{step.micro_batches, documents_of(step.capacity_tokens, length)}};
    return simulate_step(published, hardware_, profile_.factors).step_s;
  }

  std::optional<double> left_out_s(const PublishedTableStep& step) const {
    const auto row = std::ranges::find_if(fit_.rows, [&](const FitProvenance::Row& of_fit) {
      return of_fit.table == table_of(step) && of_fit.pack_tokens == step.capacity_tokens &&
             of_fit.sequence.ulysses == step.sequence.ulysses;
    });
    return row == fit_.rows.end() ? std::nullopt : row->left_out_s;
  }

  std::optional<int> fewest_layers(const PublishedTableStep& step) const {
    const ParallelPlan plan = plan_of(step);
    return fewest_gc_layers(tables_.model, tables_.cluster, plan, memory_assumptions(profile_.factors),
                            static_cast<double>(step.capacity_tokens) / plan.sequence_gpus(),
                            step.micro_batches);
  }

 private:
  ParallelPlan plan_of(const PublishedTableStep& step) const {
    ParallelPlan plan = tables_.plan;
    plan.sequence.ulysses = step.sequence.ulysses;
    plan.gc_layers = step.gc_layers;
    plan.execution.overlaps_states = profile_.execution.overlaps_states;
    plan.execution.recompute_stops_early = profile_.execution.recompute_stops_early;
    plan.execution.bucket_elements = profile_.execution.bucket_elements;
    return plan;
  }

  const PublishedTables& tables_;
  FrameworkProfile profile_;
  HardwareProfile hardware_;
  FitProvenance fit_;
};

// An out-of-memory verdict counts as one layer more than the model has; a prediction of none that fits too.
ValidationRow memory_row(const PublishedTableStep& step, std::optional<int> fewest, int n_layers,
                         double tolerance) {
  const int published = step.out_of_memory ? n_layers + 1 : step.gc_layers;
  const int predicted = fewest.value_or(n_layers + 1);
  ValidationRow row = compared_row(step.name, published, predicted, "layers", tolerance, true);
  row.is_fitted = true;
  // Verdicts are right or wrong, however near.
  if (step.out_of_memory == fewest.has_value()) row.outcome = Outcome::missed;
  if (step.out_of_memory || !fewest) {
    row.beside = std::string(step.out_of_memory ? "out of memory" : "fits") + " (" +
                 (fewest ? "fits" : "out of memory") + ")";
  }
  return row;
}

}  // namespace

std::vector<ValidationSet> validate_table_steps(const PublishedTables& tables, const DataPaths& data) {
  const TableSteps steps(tables, data);
  const double step_max = tables.tolerance("step_time/max_fraction");
  ValidationSet fitted{.name = "hbp-steps",
                       .title = "HBP step times, fitted",
                       .about =
                           "LLaMA-3.1-8B on 32 H100; the rows went into the six factors of "
                           "deepspeed-ulysses-h100 on h100-sxm-public-fa2. Documents of tables 18 and 19 "
                           "have the length that the fit found, except a shorter last one"};
  ValidationSet left_out{.name = "hbp-steps-left-out",
                         .title = "HBP step times, each left out of the fit",
                         .about = "The errors are those in the profile's provenance"};
  ValidationSet memory{
      .name = "hbp-memory",
      .title = "HBP memory verdicts, fitted",
      .about = "The fewest checkpointed layers that fit, by two fitted numbers. 33 means that nothing fits"};
  for (const PublishedTableStep& step : tables.steps) {
    memory.rows.push_back(memory_row(step, steps.fewest_layers(step), tables.model.n_layers,
                                     tables.tolerance("memory/gc_layers")));
    if (!step.step_time_s) continue;
    fitted.rows.push_back(compared_row(step.name, *step.step_time_s, steps.step_s(step), "s", step_max));
    fitted.rows.back().is_fitted = true;
    if (const std::optional<double> left_out_s = steps.left_out_s(step))
      left_out.rows.push_back(compared_row(step.name, *step.step_time_s, *left_out_s, "s"));
  }
  fitted.bounds = {{"mean error", mean_error(fitted.rows), tables.tolerance("step_time/mean_fraction")},
                   {"worst error", worst_error(fitted.rows), step_max}};
  left_out.bounds = {
      {"mean error", mean_error(left_out.rows), tables.tolerance("step_time/left_out_mean_fraction")}};
  return {fitted, left_out, memory};
}

}  // namespace packsim
