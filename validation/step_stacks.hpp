#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_profile.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "validation/cluster_hardware.hpp"

namespace packsim {

/// A training stack with published steps.
struct StepStack {
  std::string_view sources;  ///< the start of the ids of its sources
  std::string_view name;
  std::string_view profile;  ///< of calibration/profiles, fitted to steps of this stack; empty: there is none
};

inline constexpr std::array<StepStack, 10> kStepStacks = {{
    {"llm_foundry", "LLM Foundry", "llm-foundry-fsdp-h100"},
    {"dgxc_", "NeMo", "nemo-megatron-h100"},
    {"gcp_", "NeMo", "nemo-megatron-h100"},
    {"nemo_", "NeMo", "nemo-megatron-h100"},
    {"mbridge_", "Megatron-Bridge", ""},
    {"automodel", "NeMo AutoModel", ""},
    {"torchtitan", "torchtitan", ""},
    {"fms_fsdp", "fms-fsdp", ""},
    {"internevo", "InternEvo", ""},
    {"bigscience", "Megatron-DeepSpeed", ""},
}};

/// The stack of a source. Throws std::invalid_argument if there is none.
const StepStack& stack_of(std::string_view source);

/// The profile for stacks that have none of their own: one factor on all computation, the geometric mean of
/// those that make the steps of each stack right on average. Steps with experts, LoRA, offloading or fp8 are
/// left out, as their own errors are larger than those of stacks (kPlanTraits), and so are those with hybrid
/// sharding, known from two steps only, and those that are checkpointed by operation or module, which show
/// how well the fit does without them.
class AnyStackFit {
 public:
  /// steps: kept by reference. hardware: of the profile.
  AnyStackFit(const std::vector<const PublishedStep*>& steps, ClusterHardware& hardware);

  /// By stack, its own factor.
  const std::map<std::string_view, double>& factors() const { return factors_; }
  /// The geometric mean of the factors of all stacks but one; of all, if there is no such stack.
  double factor_without(std::string_view stack) const;
  /// How far the steps of stacks are off that were left out: the root mean square over stacks, each with the
  /// mean square over its steps.
  double left_out_error() const { return left_out_error_; }
  const FitScope& scope() const { return scope_; }

 private:
  std::map<std::string_view, double> factors_;
  double left_out_error_ = 0;
  FitScope scope_;
};

inline constexpr std::string_view kAnyStackProfile = "any-framework-h100";

/// The file of that profile, fitted to all published steps.
std::string any_stack_profile_json(const DataPaths& data);

/// How the profile executes a step.
ExecutionStyle any_stack_execution(const ExecutionStyle& of_step);

}  // namespace packsim
