#pragma once

#include <cmath>
#include <cstdint>

#include "attention_profile.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim_test {

/// Sixteen nodes of eight GPUs that were never built.
inline packsim::Cluster example_cluster() {
  packsim::Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = 16;
  cluster.network = {.nvlink_bytes_per_s = 450e9, .nics_per_node = 8, .nic_bytes_per_s = 50e9};
  cluster.host_link_bytes_per_s = 64e9;
  return cluster;
}

/// A StepPricer and all that it refers to: attention as in attention_profile(), the rest has prices by rules.
struct Pricing {
  packsim::Transformer model;
  packsim::Cluster cluster = example_cluster();
  packsim::HardwareProfile profile = attention_profile({"bwd", "fwd"});
  packsim::StepPricer pricer;
  packsim::KernelPricer kernels;

  Pricing(const packsim::Transformer& of_model, const packsim::ParallelPlan& plan,
          const packsim::FrameworkFactors& factors = {})
      : model(of_model), pricer(model, cluster, plan, profile, factors), kernels(profile, cluster) {}
  Pricing(const Pricing&) = delete;

  /// Of one kernel, without the framework's factors.
  std::int64_t ns(const packsim::KernelCase& kernel) {
    return std::llround(1e9 * kernels.time(kernel).time_s);
  }
};

}  // namespace packsim_test
