#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"

namespace packsim {

/// A reason why the factors of a framework profile may not hold: something that a step of the job has and
/// that no step of the profile's fit had.
struct ProfileDoubt {
  std::string reason;         ///< "no step of profile deepspeed-ulysses-h100 had experts"
  double relative_error = 0;  ///< one standard deviation of the logarithm of the time
};

/// The doubts about steps of a job whose groups have these plans. They are independent of each other, and
/// come on top of the errors of kernels. parts: [n_plans] of the job's tokens that each group trains; what
/// only some of the plans have is in doubt by their part.
std::vector<ProfileDoubt> profile_doubts(const FrameworkProfile& profile, const Transformer& model,
                                         const Cluster& cluster, std::span<const ParallelPlan> plans,
                                         std::span<const double> parts);
/// The same for one plan.
std::vector<ProfileDoubt> profile_doubts(const FrameworkProfile& profile, const Transformer& model,
                                         const Cluster& cluster, const ParallelPlan& plan);

}  // namespace packsim
