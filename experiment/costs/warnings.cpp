#include "experiment/costs/warnings.hpp"

#include <fmt/format.h>

#include <cmath>

namespace packsim {

std::vector<std::string> extrapolation_warnings(const Scenario& scenario) {
  const FrameworkProfile& profile = scenario.profile;
  std::vector<std::string> warnings;
  if (profile.gpu != scenario.cluster.gpu) {
    warnings.push_back(
        fmt::format("profile {} was measured on {}, the cluster has {}: every time is extrapolated",
                    profile.name, profile.gpu, scenario.cluster.gpu));
  }
  if (scenario.hardware.gpu != scenario.cluster.gpu) {
    warnings.push_back(fmt::format(
        "hardware profile {} was measured on {}, the cluster has {}: every kernel is extrapolated",
        scenario.hardware.name, scenario.hardware.gpu, scenario.cluster.gpu));
  }
  if (!scenario.is_hardware_of_profile) {
    warnings.push_back(
        fmt::format("profile {} was fitted on hardware profile {}: its factors are assumed to hold on {} too",
                    profile.name, profile.hardware, scenario.hardware.name));
  }
  if (!scenario.is_model_of_profile) {
    warnings.push_back(
        fmt::format("profile {} was fitted to steps of {}: its factors are assumed to hold for {} too",
                    profile.name, profile.model, scenario.model.name));
  }
  if (profile.zero_stage != scenario.training.zero_stage) {
    warnings.push_back(
        fmt::format("profile {} was fitted with ZeRO stage {}: the additional communication of stage {} is "
                    "priced from the hardware profile alone",
                    profile.name, profile.zero_stage, scenario.training.zero_stage));
  }
  if (profile.n_gpus != scenario.cluster.n_gpus()) {
    warnings.push_back(
        fmt::format("profile {} was fitted on {} GPUs: the fixed cost of an iteration on {} is extrapolated",
                    profile.name, profile.n_gpus, scenario.cluster.n_gpus()));
  }
  return warnings;
}

std::vector<std::string> run_warnings(const StrategyResult& run) {
  std::vector<std::string> warnings;
  if (run.failure) return warnings;
  if (run.iterations == 0) {
    warnings.push_back(fmt::format("{}: fewer packs than one iteration needs; nothing is trained", run.name));
    return warnings;
  }
  if (run.failures && std::isinf(run.failures->gpu_days)) {
    warnings.push_back(
        fmt::format("{}: the run fails faster than it makes progress; it would never finish", run.name));
  }
  return warnings;
}

}  // namespace packsim
