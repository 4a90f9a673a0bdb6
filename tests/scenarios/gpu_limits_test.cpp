#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "models/kernels/link_rates.hpp"
#include "models/kernels/make_case.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "models/step/step_pricer.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/shipped_data.hpp"

// What holds for the prices on every GPU and cluster that comes with packsim.

namespace packsim {
namespace {

using packsim_test::kData;

std::vector<Cluster> all_clusters(int nodes) {
  std::vector<Cluster> clusters;
  for (const std::string& name : names_of(kClusterFiles, kData)) {
    clusters.push_back(load_cluster_type(name, kData));
    clusters.back().nodes = nodes;
  }
  return clusters;
}

class RandomKernels {
 public:
  KernelCase draw() {
    const std::string cache = pick({"hot", "cold"});
    switch (generator_() % 5) {
      case 0:
        return KernelCase::of("gemm",
                              {size(4, 15), size(5, 16), size(5, 16), pick({"tn", "nn", "nt"}), cache});
      case 1:
        return KernelCase::of("attention", {pick({"fwd", "bwd"}), size(0, 4) + "x" + size(4, 17), size(0, 7),
                                            "1", pick({"64", "128", "256"})});
      case 2:
        return KernelCase::of("elementwise",
                              {pick({"rms_norm", "swiglu", "rope", "residual_add", "cross_entropy"}),
                               pick({"fwd", "bwd"}), size(0, 17), size(6, 17), cache});
      case 3:
        return KernelCase::of("adamw", {size(10, 33)});
      default:
        return KernelCase::of("copy", {"device", size(4, 34), cache});
    }
  }

  KernelCase draw_collective() {
    const int nodes = 1 << (generator_() % 4);
    const int of_node = 1 << (generator_() % 4);
    const int gpus = std::max(2, nodes * of_node);
    const std::string op = pick({"all_gather", "reduce_scatter", "all_reduce", "all_to_all"});
    return collective_case(op, gpus, std::min(nodes, gpus), std::stoll(size(6, 33)));
  }

 private:
  std::string size(int low, int high) {
    const double exponent = low + (high - low) * static_cast<double>(generator_() % 10001) / 10000;
    return std::to_string(std::max<std::int64_t>(1, std::llround(std::exp2(exponent))));
  }
  std::string pick(const std::vector<std::string>& words) { return words[generator_() % words.size()]; }

  std::mt19937 generator_{1};
};

void check_kernels(int n_kernels) {
  const HardwareProfile h100 = load_hardware_profile("h100-sxm-public", kData);
  for (const Cluster& cluster : all_clusters(2)) {
    CAPTURE(cluster.name);
    const HardwareProfile profile = profile_on(h100, cluster);
    KernelPricer kernels(profile, cluster);
    RandomKernels random;
    const double peak = cluster.gpu.peak("bf16").value();
    for (int i = 0; i < n_kernels; ++i) {
      const KernelCase kernel = random.draw();
      const double time_s = kernels.time(kernel).time_s;
      if (kernel_flop(kernel) / time_s <= peak * (1 + 1e-9) &&
          time_s >= least_kernel_s(cluster.gpu, kernel) * (1 - 1e-9))
        continue;
      FAIL_CHECK(kernel.text() << " in " << time_s << " s: beyond the peak or the memory rate");
    }
  }
}

// More of a rate never makes a collective slower.
void check_links(int n_kernels) {
  const HardwareProfile h100 = load_hardware_profile("h100-sxm-public", kData);
  for (const Cluster& cluster : all_clusters(8)) {
    CAPTURE(cluster.name);
    std::vector<Cluster> faster(2, cluster);
    faster[0].network.nvlink_bytes_per_s *= 2;
    faster[1].network.nic_bytes_per_s *= 2;
    const HardwareProfile own_profile = profile_on(h100, cluster);
    const HardwareProfile profiles[] = {profile_on(h100, faster[0]), profile_on(h100, faster[1])};
    KernelPricer own(own_profile, cluster);
    KernelPricer more_nvlink(profiles[0], faster[0]);
    KernelPricer more_nics(profiles[1], faster[1]);
    RandomKernels random;
    for (int i = 0; i < n_kernels; ++i) {
      const KernelCase kernel = random.draw_collective();
      const double time_s = own.time(kernel).time_s * (1 + 1e-9);
      if (more_nvlink.time(kernel).time_s <= time_s && more_nics.time(kernel).time_s <= time_s) continue;
      FAIL_CHECK(kernel.text() << ": " << time_s << " s, " << more_nvlink.time(kernel).time_s
                               << " s with twice the NVLink, " << more_nics.time(kernel).time_s
                               << " s with twice the network cards");
    }
  }
}

}  // namespace

TEST_CASE("No price of a kernel is beyond the peak and the memory rate of any GPU") {
  check_kernels(300);
}

TEST_CASE("No price of many kernels is beyond the peak and the memory rate of any GPU", "[slow]") {
  check_kernels(10'000);
}

TEST_CASE("More NVLink or network cards never make a collective slower") {
  check_links(300);
}

TEST_CASE("More NVLink or network cards never make any of many collectives slower", "[slow]") {
  check_links(5'000);
}

TEST_CASE("Links that limit a collective make it slower when they are slower") {
  const HardwareProfile h100 = load_hardware_profile("h100-sxm-public", kData);
  const Cluster cluster = [] {
    Cluster nodes = load_cluster_type("h100-sxm-80gb", kData);
    nodes.nodes = 2;
    return nodes;
  }();
  const auto time_s = [&](double nvlink, double nic, const KernelCase& kernel) {
    Cluster changed = cluster;
    changed.network.nvlink_bytes_per_s *= nvlink;
    changed.network.nic_bytes_per_s *= nic;
    const HardwareProfile profile = profile_on(h100, changed);
    return KernelPricer(profile, changed).time(kernel).time_s;
  };
  const KernelCase inside = collective_case("all_gather", 8, 1, 1 << 30);
  const KernelCase between = collective_case("all_reduce", 16, 2, 1 << 30);
  const double inside_s = time_s(1, 1, inside);
  CHECK(time_s(0.25, 1, inside) == Approx(4 * inside_s).epsilon(0.02));
  CHECK(time_s(4, 1, inside) == Approx(inside_s / 4).epsilon(0.05));
  CHECK(time_s(1, 0.25, inside) == inside_s);
  CHECK(time_s(1, 0.25, between) > 1.5 * time_s(1, 1, between));
}

TEST_CASE("A micro-batch takes no less than its flop at the peak, on any GPU and plan") {
  const HardwareProfile h100 = load_hardware_profile("h100-sxm-public", kData);
  const Transformer model = load_model("llama3.1-8b", kData);
  for (const Cluster& cluster : all_clusters(2)) {
    CAPTURE(cluster.name);
    const HardwareProfile profile = profile_on(h100, cluster);
    for (const int sp : {1, 4}) {
      for (const std::int32_t tokens : {4096, 32768}) {
        ParallelPlan plan{.n_gpus = cluster.n_gpus()};
        plan.sequence.ulysses = sp;
        StepPricer pricer(model, cluster, plan, profile, {});
        const MicroBatchPrice price = pricer.micro_batch(tokens, std::span(&tokens, 1));
        double time_s = 0;
        PriceAccount account;
        account.add(pricer.account(price.tokens->below_tokens).layers[0].passes, model.n_layers);
        for (int c = 0; c < kNCauses; ++c) time_s += account.total(static_cast<Cause>(c)).time_s;
        time_s += model.n_layers *
                  (price.attention_forward.computed.time_s + price.attention_backward.computed.time_s);
        const double linear_flop = 6.0 * model.n_layers * model.layer_matmul_parameters() * tokens / sp;
        CHECK(time_s > linear_flop / cluster.gpu.peak("bf16").value());
      }
    }
  }
}

}  // namespace packsim
