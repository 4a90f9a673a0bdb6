#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// Sources of published steps that ran on one stack, and the profile that their steps are fitted to.
struct FrameworkStack {
  std::string_view profile;   ///< of calibration/profiles
  std::string_view sources;   ///< what the ids of its sources start with
  std::string_view hardware;  ///< with the attention kernels of the stack
  bool has_own_attention;     ///< a factor on attention beside the one on everything else
  std::string_view gpu;
  std::string_view description;
};

inline constexpr std::array<FrameworkStack, 2> kStacks = {{
    {"llm-foundry-fsdp-h100", "llm_foundry", "h100-sxm-public-fa2", true, "NVIDIA H100 80GB HBM3",
     "MosaicML LLM Foundry, Composer FSDP, MPT models on 8 to 512 H100"},
    {"nemo-megatron-h100", "dgxc_", "h100-sxm-public", false, "NVIDIA H100 80GB HBM3",
     "NVIDIA NeMo and Megatron-LM on 8 to 2048 H100 (DGX Cloud benchmarking)"},
}};

/// Steps of a stack that the simulator models, going about their states as asked.
std::vector<PublishedStep> steps_of(const PublishedSteps& steps, const FrameworkStack& stack,
                                    bool overlaps_states);

/// Factors that make the mean square of log(simulated / published) least.
struct StackFactors {
  double linear_factor = 1;
  double attention_factor = 1;
  std::array<double, 4> log_covariance = {};  ///< 2 x 2
  double rms = 0;                             ///< of the logarithms

  FrameworkFactors factors() const;
};
StackFactors fit_stack(const std::vector<PublishedStep>& steps, const HardwareProfile& hardware,
                       bool has_own_attention);

/// Fits a stack with and without exchange of states beside computation, keeps the better of the two, fits it
/// once more without each model, and returns the profile as its file.
std::string stack_profile_json(const FrameworkStack& stack, const PublishedSteps& steps,
                               const DataPaths& data);

}  // namespace packsim
