#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_profile.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "validation/cluster_hardware.hpp"

namespace packsim {

/// The profile for stacks that have none of their own: one factor on all computation, the geometric mean of
/// those that make the steps of each stack right on average. Steps are left out that have errors of their
/// own, larger than those of stacks, or that test what a fit without them says (kLeftOutTraits).
class AnyStackFit {
 public:
  /// How far steps are off whose stack was left out of the fit, as standard deviations of logarithms.
  struct Spread {
    double stack_error = 0;      ///< of all steps; FrameworkProfile::left_out_error
    double attention_error = 0;  ///< of the time of attention, beside that
  };

  /// hardware: of the profile.
  AnyStackFit(const std::vector<PublishedStep>& steps, ClusterHardware& hardware);

  /// Each stack has a factor of its own.
  const std::map<std::string_view, double>& factors() const { return factors_; }
  /// The geometric mean of the factors of all stacks but one; of all, if there is no such stack.
  double factor_without(std::string_view stack) const;
  /// The spread that gives all steps but one stack's the best intervals (interval_score()), each step priced
  /// without its own stack, and those that no factor was fitted to with the doubts that they raise; of all,
  /// if there is no such stack.
  Spread spread_without(std::string_view stack) const;
  const FitScope& scope() const { return scope_; }

 private:
  // A step by the factor of the other stacks.
  struct LeftOutStep {
    std::string_view stack;
    double distance = 0;              // of the logarithms of predicted and published time
    double attention_share = 0;       // by which an error of attention counts
    double known_relative_error = 0;  // of kernels and by the profile's doubts
  };

  std::map<std::string_view, double> factors_;
  std::vector<LeftOutStep> steps_;
  FitScope scope_;
};

/// How uncertain the profile says that it is.
void set_spread(const AnyStackFit::Spread& spread, FrameworkProfile& profile);

inline constexpr std::string_view kAnyStackProfile = "any-framework-h100";

/// The file of that profile, fitted to all published steps.
std::string any_stack_profile_json(const std::vector<PublishedStep>& all, const DataPaths& data);

/// How the profile executes a step.
ExecutionStyle any_stack_execution(const ExecutionStyle& of_step);

}  // namespace packsim
