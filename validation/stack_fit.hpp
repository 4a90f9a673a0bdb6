#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_factors.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "validation/cluster_hardware.hpp"
#include "validation/step_stacks.hpp"

namespace packsim {

/// The steps to which a profile is fitted, with ExecutionStyle::overlaps_states as given.
std::vector<PublishedStep> steps_of(const std::vector<PublishedStep>& all, const StackProfile& profile,
                                    bool overlaps_states);

/// Steps of the same name are left out of a fit together: those of one model, or, where all steps are of one
/// model, those of one parallel plan on any number of GPUs.
std::string fold_of(const PublishedStep& step, const std::vector<PublishedStep>& fitted);

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

/// Fits a profile with overlaps_states, as all of these frameworks mean to do, and without it, which is kept
/// only where the steps are clearly better described. Then repeats this fit without each fold. Returns the
/// text of the profile's file.
std::string stack_profile_json(const StackProfile& stack, const std::vector<PublishedStep>& all,
                               const DataPaths& data);

}  // namespace packsim
