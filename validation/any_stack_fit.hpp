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
  /// hardware: of the profile.
  AnyStackFit(const std::vector<PublishedStep>& steps, ClusterHardware& hardware);

  /// Each stack has a factor of its own.
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
std::string any_stack_profile_json(const std::vector<PublishedStep>& all, const DataPaths& data);

/// How the profile executes a step.
ExecutionStyle any_stack_execution(const ExecutionStyle& of_step);

}  // namespace packsim
