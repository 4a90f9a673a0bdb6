#include "experiment/costs/whole_run.hpp"

namespace packsim {
namespace {

double evaluation_s(const BesideSteps::Evaluation& evaluation, int n_gpus, double forward_gpu_s_per_token) {
  return evaluation.duration_s.value_or(evaluation.tokens * forward_gpu_s_per_token / n_gpus);
}

}  // namespace

std::optional<WholeRun> whole_run(const Scenario& scenario, const RunTimes& times, std::int64_t n_iterations,
                                  double forward_gpu_s_per_token) {
  if (!scenario.beside_steps) return std::nullopt;
  const BesideSteps& beside = *scenario.beside_steps;
  const int n_gpus = scenario.cluster.n_gpus();
  WholeRun run{.startup_s = beside.startup_s,
               .first_steps_s = beside.first_steps_s,
               .data_wait_s = beside.data_wait_s * static_cast<double>(n_iterations),
               .finish_s = beside.finish_s};
  const auto times_in_run = [&](const auto& repeated) {
    return static_cast<double>(n_iterations / repeated.every_iterations);
  };
  double priced_s = 0;  // as uncertain as the steps
  if (const auto& evaluation = beside.evaluation) {
    run.evaluation_s = times_in_run(*evaluation) * evaluation_s(*evaluation, n_gpus, forward_gpu_s_per_token);
    if (!evaluation->duration_s) priced_s = run.evaluation_s;
  }
  if (const auto& checkpoints = beside.checkpoints)
    run.checkpoint_s = times_in_run(*checkpoints) * checkpoints->blocking_s;
  const double beside_s = run.startup_s + run.first_steps_s + run.data_wait_s + run.evaluation_s +
                          run.checkpoint_s + run.finish_s;
  const auto gpu_days_of = [&](double wall_s) { return wall_s / 86400 * n_gpus; };
  run.wall_hours = times.wall_hours + beside_s / 3600;
  run.gpu_days = times.gpu_days + gpu_days_of(beside_s);
  if (times.gpu_days_low > 0) {
    const double certain = gpu_days_of(beside_s - priced_s);
    const double uncertain = 1 + gpu_days_of(priced_s) / times.gpu_days;
    run.gpu_days_low = certain + uncertain * times.gpu_days_low;
    run.gpu_days_high = certain + uncertain * times.gpu_days_high;
  }
  return run;
}

}  // namespace packsim
