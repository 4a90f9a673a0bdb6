#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/execution_style.hpp"
#include "models/framework_factors.hpp"
#include "models/plan_traits.hpp"

namespace packsim {

/// The steps to which a framework profile was fitted.
struct FitScope {
  std::vector<std::string> models = {};  ///< names
  std::vector<std::string> gpus = {};    ///< names by the driver
  int least_gpus = 0;
  int most_gpus = 0;
  std::vector<PlanTrait> traits = {};  ///< in the order of kPlanTraits; those that at least one step has

  bool has_gpu(std::string_view name) const { return std::ranges::find(gpus, name) != gpus.end(); }
};

/// Adds a step on GPUs of that name to the scope.
void add_step(FitScope& scope, const Transformer& model, const std::string& gpu, const ParallelPlan& plan);

/// What end-to-end steps of one training framework show beyond the kernels of a hardware profile, and how the
/// framework executes a step. Each is a JSON file in calibration/profiles, with its provenance.
struct FrameworkProfile {
  std::string name;
  std::string gpu;       ///< the GPU whose kernels its factors are relative to
  std::string source;    ///< what it was fitted to
  std::string hardware;  ///< name or path of the hardware profile to which its factors are relative
  FitScope fitted_on;

  FrameworkFactors factors;
  /// Whether attention_factor is what FlashAttention-2 takes over the hardware profile's kernels
  /// (flash_attention_2_change()).
  bool has_flash_attention_2 = false;

  ExecutionStyle execution;

  /// How well the time factors are known: the covariance of their logarithms, [kNTimeFactors x kNTimeFactors]
  /// in the order of kFrameworkNumbers; empty if the profile does not state it.
  std::vector<double> log_covariance;
  /// Standard deviation of the relative errors of steps that were left out of the fit, beside what
  /// log_covariance says; none if not stated.
  std::optional<double> left_out_error;
  /// Number of groups of steps that were left out one after another, such as the models; 0 if not stated. An
  /// error that few groups show is not well known itself.
  int left_out_groups = 0;
};

struct FrameworkNumber {
  std::string_view name;
  double FrameworkFactors::*value;
};

/// What a profile states, the numbers that price time first, in the order of log_covariance.
inline constexpr std::array<FrameworkNumber, 8> kFrameworkNumbers = {
    {{"linear_factor", &FrameworkFactors::linear_factor},
     {"attention_factor", &FrameworkFactors::attention_factor},
     {"exchange_in_node_factor", &FrameworkFactors::exchange_in_node_factor},
     {"exchange_between_factor", &FrameworkFactors::exchange_between_factor},
     {"micro_batch_s", &FrameworkFactors::micro_batch_s},
     {"step_s", &FrameworkFactors::step_s},
     {"reserved_bytes", &FrameworkFactors::reserved_bytes},
     {"logits_bytes_per_vocab_entry", &FrameworkFactors::logits_bytes_per_vocab_entry}}};
inline constexpr std::size_t kNTimeFactors = 6;

}  // namespace packsim
