#include "experiment/costs/warnings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>

#include "models/step/profile_doubts.hpp"

namespace packsim {

namespace {

// The GPUs on which kernels were measured that are scaled to the scenario's, each with the families of these
// kernels.
std::map<std::string, std::set<std::string>> families_of_other_gpus(const HardwareProfile& hardware) {
  std::map<std::string, std::set<std::string>> families;
  for (const KernelCurve& curve : hardware.curves) {
    if (!curve.transferred) continue;
    for (const MeasurementSource& source : hardware.sources) {
      const bool is_its = std::ranges::find(curve.sources, source.id) != curve.sources.end();
      if (is_its && source.gpu != hardware.gpu)
        families[source.gpu].insert(curve.key.substr(0, curve.key.find(' ')));
    }
  }
  return families;
}

// Whether the profile was fitted to steps of QLoRA and no strategy of the job has adapters: a user may take
// the profile's name for the setting.
bool lacks_adapters_of_profile(const Scenario& scenario) {
  const auto has_adapters = [](const StrategySpec& spec) { return spec.plan && spec.plan->lora_rank > 0; };
  const std::vector<PlanTrait>& traits = scenario.profile.fitted_on.traits;
  return std::ranges::find(traits, PlanTrait::qlora) != traits.end() && scenario.plan.lora_rank == 0 &&
         std::ranges::none_of(scenario.strategies, has_adapters);
}

bool has_own_kernels(const HardwareProfile& hardware) {
  return !std::ranges::all_of(hardware.curves, &KernelCurve::transferred);
}

}  // namespace

std::optional<std::string> what_if_warning(const Scenario& scenario) {
  const std::vector<std::string_view> free = free_names(scenario);
  if (free.empty()) return std::nullopt;
  return fmt::format(
      "a what-if that no real job reaches, as these cost nothing: {} (what_if.free){}", fmt::join(free, ", "),
      scenario.ranks_wait ? "" : "; a step takes what GPUs take on average, and has no lower bound");
}

std::vector<std::string> extrapolation_warnings(const Scenario& scenario) {
  const FrameworkProfile& profile = scenario.profile;
  std::vector<std::string> warnings;
  const bool has_own = has_own_kernels(scenario.hardware);
  for (const auto& [gpu, families] : families_of_other_gpus(scenario.hardware)) {
    warnings.push_back(
        fmt::format("{} were measured on {} and are scaled to {} by the GPUs' data sheets{}",
                    has_own ? fmt::format("some kernels ({})", fmt::join(families, ", ")) : "kernels", gpu,
                    scenario.cluster.gpu.driver_name, has_own ? "; the others were measured on it" : ""));
  }
  if (!scenario.is_hardware_of_profile) {
    warnings.push_back(
        fmt::format("profile {} was fitted on hardware profile {}: its factors are assumed to hold on {} too",
                    profile.name, profile.hardware, scenario.hardware.name));
  }
  if (!scenario.is_model_of_profile) {
    warnings.push_back(
        fmt::format("profile {} was fitted to steps of {}: its factors are assumed to hold for {} too",
                    profile.name, profile.fitted_on.models.front(), scenario.model.name));
  }
  if (lacks_adapters_of_profile(scenario)) {
    warnings.push_back(
        fmt::format("profile {} has steps of QLoRA, but this job trains all weights: set "
                    "parallelism.lora_rank and frozen_weights if it trains adapters",
                    profile.name));
  }
  for (const ProfileDoubt& doubt : profile_doubts(profile, scenario.model, scenario.cluster, scenario.plan)) {
    warnings.push_back(fmt::format("{}: its factors are assumed to hold, +-{:.0f} %", doubt.reason,
                                   100 * doubt.relative_error));
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
