#pragma once

#include <string_view>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/plan_traits.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// The fit of a stack's own profile to published steps on one kind of GPU.
struct StackProfile {
  std::string_view name;                  ///< of the file in calibration/profiles
  std::vector<std::string_view> sources;  ///< ids of the sources whose steps it is fitted to
  std::string_view gpu;                   ///< of models/gpus; steps of the sources on others are in no fit
  std::string_view hardware;              ///< hardware profile with the attention kernels of the stack
  bool has_own_attention = false;         ///< whether attention has a factor of its own
  std::string_view description;
};

/// A training stack with published steps.
struct StepStack {
  std::string_view name;
  std::vector<std::string_view> source_starts;  ///< the starts of the ids of its sources
  // How it computes layers and the loss, by its code or documentation.
  const KernelStyle* kernels = &kFusedKernels;
  const LossStyle* loss = &kPlainLoss;
  const OptimizerKind* optimizer = &kAdamW;
  const ExpertStyle* experts = &kSeparateExperts;
  bool splits_experts = false;  ///< what it does unless it is told otherwise
  /// The profile that packsim new --stack names where none is fitted to its steps; empty: what other stacks
  /// have in common.
  std::string_view priced_by = {};
  /// Empty where the steps that may be fitted are too few.
  std::vector<StackProfile> profiles;
};

/// All stacks.
const std::vector<StepStack>& step_stacks();

/// The stack of a source. Throws std::invalid_argument if there is none.
const StepStack& stack_of(std::string_view source);

/// Whether a profile is fitted to the step. Steps with experts, offloading or fp8 are in no fit, as their own
/// errors are larger than those of stacks (kPlanTraits); nor are those that the simulator cannot run.
bool is_fitted_to(const StackProfile& profile, const PublishedStep& step);

/// The training steps of held_out_steps.json. Throws as load_published_steps() does.
std::vector<PublishedStep> load_held_out_steps(const DataPaths& data);
/// Those of transformers_steps.json, which are in no fit of stacks.
std::vector<PublishedStep> load_transformers_steps(const DataPaths& data);
/// Those of published_steps.json, then those of held_out_steps.json.
std::vector<PublishedStep> load_all_steps(const DataPaths& data);

}  // namespace packsim
