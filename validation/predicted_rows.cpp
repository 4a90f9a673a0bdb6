#include "validation/predicted_rows.hpp"

#include <fmt/format.h>

#include <array>

#include "models/step/profile_doubts.hpp"
#include "models/step/uncertainty.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/step_simulation.hpp"

namespace packsim {
namespace {

// The model, the GPUs, and how the stack computes.
std::string job_of(const PublishedStep& step) {
  const ParallelPlan& plan = step.plan;
  return fmt::format("{} {} on {} {}, {}, {}, {}, LoRA {}, {}", step.source, step.model.name,
                     step.cluster.n_gpus(), step.cluster.gpu.driver_name,
                     policy_name(kKernelStyles, plan.execution.kernels),
                     policy_name(kLossStyles, plan.execution.loss), precision_kind(plan.precision).name,
                     plan.lora_rank, policy_name(kFrozenFormats, plan.frozen_weights));
}

}  // namespace

ValidationRow PredictedRows::row(const PublishedStep& step, const FrameworkProfile& profile) {
  ValidationRow row{.name = step.id, .published = step.step_time_s, .unit = "s", .note = step.note};
  if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) {
    row.predicted = row.error;  // NaN
    row.outcome = Outcome::refused;
    return row;
  }
  PublishedStep as_run = step;
  as_run.plan.execution.overlaps_states = profile.execution.overlaps_states;
  const HardwareProfile& kernels = hardware(profile.hardware).on(step.cluster);
  FrameworkFactors factors = profile.factors;
  if (profile.has_flash_attention_2)
    factors.attention_factor *= flash_attention_2_change(kernels, step.cluster.gpu);
  const SimulatedStep simulated = simulate_step(as_run, kernels, factors);
  row.predicted = simulated.step_s;
  row.error = relative_error(row.predicted, row.published);
  std::array<double, kNCauses> fraction = simulated.by_cause_s;
  for (double& part : fraction) part /= simulated.step_s;
  const std::vector<ProfileDoubt> doubts = profile_doubts(profile, step.model, step.cluster, as_run.plan);
  const bool is_fitted = profile.fitted_on.has_gpu(step.cluster.gpu.driver_name);
  row.errors = run_uncertainty(fraction, simulated.account, profile, is_fitted, doubts).errors;
  row.job = job_of(step);
  const double factor = nine_of_ten_factor(time_error(*row.errors));
  row.interval = {row.predicted / factor, row.predicted * factor};
  return row;
}

ClusterHardware& PredictedRows::hardware(const std::string& name) {
  const auto at = hardware_.find(name);
  if (at != hardware_.end()) return at->second;
  return hardware_.emplace(name, load_hardware_profile(name, data_)).first->second;
}

double share_outside(const std::vector<ValidationRow>& rows) {
  double n_rows = 0;
  double n_outside = 0;
  for (const ValidationRow& row : rows) {
    if (!row.interval) continue;
    ++n_rows;
    if (!row.interval->holds(row.published)) ++n_outside;
  }
  return n_rows > 0 ? n_outside / n_rows : 0;
}

}  // namespace packsim
