#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/cluster_hardware.hpp"
#include "validation/step_simulation.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// These are the project's targets.
constexpr double kMostMedian = 0.06;
constexpr double kMostWorst = 0.15;

}  // namespace

ValidationSet validate_transformers_steps(const DataPaths& data) {
  const FrameworkProfile profile = load_profile("transformers-h100", data);
  ClusterHardware hardware(load_hardware_profile(profile.hardware, data));
  ValidationSet set{
      .name = "steps-transformers",
      .title = "Steps of plain Hugging Face transformers",
      .about =
          "Launches and bytes of eager kernels were counted; four costs of the host were fitted to "
          "the rows that wait for it, and nothing to the others"};
  for (const PublishedStep& step : load_transformers_steps(data)) {
    const SimulatedStep simulated = simulate_step(step, hardware.on(step.cluster), profile.factors);
    set.rows.push_back(compared_row(step.id, step.step_time_s, simulated.step_s, "s"));
    set.rows.back().is_fitted = simulated.by_cause_s[static_cast<std::size_t>(Cause::host)] > 0;
  }
  set.bounds = {{"median error", error_quantile(set.rows, 0.5), kMostMedian},
                {"worst error", worst_error(set.rows), kMostWorst}};
  return set;
}

}  // namespace packsim
