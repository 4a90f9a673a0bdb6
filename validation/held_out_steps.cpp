#include <algorithm>
#include <array>
#include <map>

#include "models/kernels/transfer_profile.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/step_simulation.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// The profile whose framework is most like that of a source.
struct SourceProfile {
  std::string_view sources;  ///< the start of their ids
  std::string_view profile;
};

constexpr std::array<SourceProfile, 9> kSourceProfiles = {{
    {"llm_foundry", "llm-foundry-fsdp-h100"},
    {"fms_fsdp", "llm-foundry-fsdp-h100"},
    {"torchtitan", "llm-foundry-fsdp-h100"},
    {"automodel", "llm-foundry-fsdp-h100"},
    {"dgxc_", "nemo-megatron-h100"},
    {"mbridge_", "nemo-megatron-h100"},
    {"gcp_", "nemo-megatron-h100"},
    {"internevo", "nemo-megatron-h100"},
    {"bigscience", "nemo-megatron-h100"},
}};

}  // namespace

ValidationSet validate_held_out_steps(const PublishedSteps& steps, const DataPaths& data) {
  ValidationSet set{.name = "steps-held-out", .title = "Steps of other stacks and GPUs", .about = "Nothing here was fitted"};
  std::map<std::string_view, std::pair<FrameworkProfile, HardwareProfile>> profiles;
  for (const PublishedStep& step : steps.steps) {
    const auto of = std::ranges::find_if(kSourceProfiles, [&](const SourceProfile& known) {
      return step.source.starts_with(known.sources);
    });
    auto [at, is_new] = profiles.try_emplace(of->profile);
    if (is_new) {
      at->second.first = load_profile(std::string(of->profile), data);
      at->second.second = load_hardware_profile(at->second.first.hardware, data);
    }
    const auto& [profile, hardware] = at->second;
    ValidationRow row{.name = step.id, .published = step.step_time_s, .unit = "s", .note = step.note};
    if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) {
      row.predicted = row.error;
      row.outcome = Outcome::refused;
    } else {
      PublishedStep as_run = step;
      as_run.plan.execution.overlaps_states = profile.execution.overlaps_states;
      row.predicted = simulate_step(as_run, profile_on(hardware, step.cluster), profile.factors).step_s;
      row.error = relative_error(row.predicted, row.published);
    }
    set.rows.push_back(std::move(row));
  }
  set.bounds = {{"median error", error_quantile(set.rows, 0.5), 0.15}};
  return set;
}

}  // namespace packsim
