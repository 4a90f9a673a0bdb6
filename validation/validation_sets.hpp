#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "models/coverage/published_step.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "validation/published_tables.hpp"
#include "validation/validation_row.hpp"

namespace packsim {

/// Reports of shipped scenarios. Each scenario is run once, with the strategies that are compared with
/// published values, and without lower bounds and loss biases, which are not compared.
class ScenarioRuns {
 public:
  explicit ScenarioRuns(const DataPaths& data) : data_(data) {}
  /// Declares that run() will be called for the strategy. Must be called before the first run() of the
  /// scenario.
  void need(const std::string& scenario, const std::string& strategy);
  /// Throws std::invalid_argument for a strategy that the scenario does not have or that need() has not
  /// declared.
  const StrategyResult& run(const std::string& scenario, const std::string& strategy);

 private:
  DataPaths data_;
  std::map<std::string, std::vector<std::string>> needed_;  // strategies by scenario
  std::map<std::string, Report> reports_;
};

/// Sets the interval of a row that predicts the GPU-days of a run, and the job.
void set_interval(const StrategyResult& run, const std::string& scenario, ValidationRow& row);

/// Step times and checkpointed layers of the HBP paper from the profile that was fitted to them.
std::vector<ValidationSet> validate_table_steps(const PublishedTables& tables, const DataPaths& data);
/// The ABR of packings of the HBP paper, by length and by data set.
std::vector<ValidationSet> validate_balance(const PublishedTables& tables, const DataPaths& data);
/// Whether the ratios of packings order them as their GPU-days do, in the HBP paper and here. need() must
/// have been called for the runs of its tables.
ValidationSet validate_ratio_ranks(const PublishedTables& tables, ScenarioRuns& runs);
/// GPU-days and minutes of the HBP paper.
std::vector<ValidationSet> validate_gpu_days(const PublishedTables& tables, ScenarioRuns& runs);
/// The HBP paper's comparison with FlexSP: GPU-days, FlexSP's ratios, and the waits for its plans.
std::vector<ValidationSet> validate_flexsp(const PublishedTables& tables, ScenarioRuns& runs);
/// The speed-up of HBP on the paper's largest job.
std::vector<ValidationSet> validate_ratios(const PublishedTables& tables, ScenarioRuns& runs);
/// Steps to which the profile of their stack is fitted: from kernels alone, and left out of this fit.
std::vector<ValidationSet> validate_published_steps(const DataPaths& data);
/// Steps of held_out_steps.json by fits to other steps; and all steps, each stack left out of the fit.
std::vector<ValidationSet> validate_held_out_steps(const DataPaths& data);

/// Steps of plain transformers on an H100, measured for this project: as shipped, and left out of the fit.
std::vector<ValidationSet> validate_transformers_steps(const DataPaths& data);
/// Steps that users of stacks have published (user_steps.json), by the profile of each stack.
ValidationSet validate_user_stacks(const DataPaths& data);
/// Megatron-LM's published benchmark of dynamic context parallelism.
ValidationSet validate_dynamic_cp(const DataPaths& data);
/// Jobs of which users and maintainers have reported memory or times (public_reports.json).
ValidationSet validate_public_reports(const DataPaths& data);
/// Whether the memory model lets all published steps run, as they did.
ValidationSet validate_step_memory(const DataPaths& data);

/// Names of the sets, in their order.
std::vector<std::string> validation_set_names();
/// The named sets, or all sets if no name is given. Throws std::invalid_argument for an unknown name.
std::vector<ValidationSet> validate(std::span<const std::string> names, const DataPaths& data);

/// Spearman's rank correlation of two lists of equal length: the linear correlation of their ranks, where
/// equal values share the mean of their ranks. -1 to 1. None if a list has fewer than two different values.
///
/// Throws std::invalid_argument if the lists differ in length.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace packsim
