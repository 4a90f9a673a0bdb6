#include "models/coverage/predict_step.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace packsim {
namespace {

using FamilyErrors = std::map<std::string, double>;

double independent(const FamilyErrors& errors) {
  double squares = 0;
  for (const auto& [family, error_s] : errors) squares += error_s * error_s;
  return std::sqrt(squares);
}

}  // namespace

StepPrediction predict_step(const HardwareProfile& profile, std::span<const KernelUse> kernels) {
  StepPrediction step;
  FamilyErrors of_step;
  std::map<std::string, FamilyErrors> of_part;
  for (const KernelUse& use : kernels) {
    const KernelTime time = kernel_time(profile, use.kernel);
    if (use.part == "launch") {
      step.launch_s += use.count * time.time_s;
      continue;
    }
    auto part = std::ranges::find(step.parts, use.part, &PartTime::part);
    if (part == step.parts.end()) {
      step.parts.push_back({.part = use.part});
      part = step.parts.end() - 1;
    }
    if (time.evidence == Evidence::missing) {
      const std::string text = use.kernel.text();
      if (std::ranges::find(step.missing, text) == step.missing.end()) step.missing.push_back(text);
      continue;
    }
    const double time_s = use.count * time.time_s;
    const std::string family = kernel_family(use.kernel);
    const auto evidence = static_cast<std::size_t>(time.evidence);
    part->time_s += time_s;
    part->time_by_evidence_s[evidence] += time_s;
    step.time_s += time_s;
    step.time_by_evidence_s[evidence] += time_s;
    of_part[use.part][family] += time_s * time.relative_error;
    of_step[family] += time_s * time.relative_error;
  }
  for (PartTime& part : step.parts) part.error_s = independent(of_part[part.part]);
  step.error_s = independent(of_step);
  return step;
}

}  // namespace packsim
