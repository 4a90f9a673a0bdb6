#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_profile.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "validation/cluster_hardware.hpp"

namespace packsim {

/// A training framework on one kind of GPU: the sources of its published steps, and the profile that is
/// fitted to these steps.
struct FrameworkStack {
  std::string_view profile;   ///< name of the profile in calibration/profiles
  std::string_view sources;   ///< the start of the ids of its sources
  std::string_view hardware;  ///< hardware profile with the attention kernels that the framework uses
  bool has_own_attention;     ///< whether attention has a factor of its own
  std::string_view gpu;
  std::string_view description;
};

inline constexpr std::array<FrameworkStack, 2> kStacks = {{
    {"llm-foundry-fsdp-h100", "llm_foundry", "h100-sxm-public-fa2", true, "NVIDIA H100 80GB HBM3",
     "MosaicML LLM Foundry, Composer FSDP, MPT models on 8 to 512 H100"},
    {"nemo-megatron-h100", "dgxc_", "h100-sxm-public", false, "NVIDIA H100 80GB HBM3",
     "NVIDIA NeMo and Megatron-LM on 8 to 2048 H100 (DGX Cloud benchmarking)"},
}};

/// The steps of a stack that the simulator can model, with ExecutionStyle::overlaps_states as given.
std::vector<PublishedStep> steps_of(const PublishedSteps& steps, const FrameworkStack& stack,
                                    bool overlaps_states);

/// The factors that minimise the mean square of log(simulated / published).
struct StackFactors {
  double linear_factor = 1;
  double attention_factor = 1;
  std::array<double, 4> log_covariance = {};  ///< 2 x 2
  double rms = 0;                             ///< root mean square of these logarithms

  FrameworkFactors factors() const;
};
StackFactors fit_stack(const std::vector<PublishedStep>& steps, ClusterHardware& hardware,
                       bool has_own_attention);

/// Fits a stack with and without overlaps_states and keeps the better fit. Then repeats this fit once for
/// each model, without the steps of that model. Returns the text of the profile's file.
std::string stack_profile_json(const FrameworkStack& stack, const PublishedSteps& steps,
                               const DataPaths& data);

}  // namespace packsim
