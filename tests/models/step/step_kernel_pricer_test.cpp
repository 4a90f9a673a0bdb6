#include <catch2/catch.hpp>

#include "models/kernels/make_case.hpp"
#include "models/step/kernel_pricer.hpp"

using namespace packsim;

namespace {

Cluster cluster() {
  Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = 4;
  cluster.network = {.nvlink_bytes_per_s = 400e9, .nics_per_node = 8, .nic_bytes_per_s = 40e9};
  cluster.host_link_bytes_per_s = 64e9;
  return cluster;
}

// A line fixed_s + size / size_per_s from 1 KB to 1 GB.
KernelCurve line(const std::string& key, double fixed_s, double size_per_s) {
  KernelCurve curve{.key = key, .size_name = "bytes"};
  for (double size = 1024; size < 2e9; size *= 2)
    curve.points.push_back({size, fixed_s + size / size_per_s, 0.01, 1});
  curve.fixed_s.value = fixed_s;
  curve.size_per_s.value = size_per_s;
  return curve;
}

constexpr double kLaunchS = 5e-6;
constexpr std::int64_t kBytes = 1'000'000'000;

}  // namespace

TEST_CASE("What the profile has is what it says; all else has a price by a rule, and says so") {
  HardwareProfile profile;
  profile.curves = {line("collective op=all_gather gpus=8 nodes=1 imbalance=1", 1e-5, 2e11)};
  const Cluster gpus = cluster();
  KernelPricer pricer(profile, gpus);
  const KernelCase known = collective_case("all_gather", 8, 1, 1 << 20);
  CHECK(pricer.time(known).time_s == kernel_time(profile, known).time_s);
  CHECK(pricer.time(known).evidence == Evidence::measured);
  const KernelTime& by_rule = pricer.time(adamw_case(1'000'000));
  CHECK(by_rule.evidence == Evidence::missing);
  CHECK(by_rule.time_s > 0);
  CHECK(by_rule.relative_error >= 0.3);
  // Once asked, a kernel keeps its place.
  CHECK(&by_rule == &pricer.time(adamw_case(1'000'000)));
  CHECK(pricer.time(KernelCase::of("launch_gap", {})).time_s == 0);
}

TEST_CASE("Prices without measurements: kernels on the GPU") {
  HardwareProfile profile;
  profile.curves = {line("copy kind=device cache=cold", 1e-6, 2e12),
                    line("elementwise op=swiglu pass=fwd cache=cold", 1e-6, 1.5e12)};
  const Cluster gpus = cluster();
  KernelPricer pricer(profile, gpus);
  // 28 bytes a parameter, at the rate of copies.
  CHECK(pricer.time(adamw_case(1'000'000)).time_s == Approx(kLaunchS + 28e6 / 2e12));
  const KernelCase rope = elementwise_case("rope", "fwd", 4096, 4096);
  CHECK(pricer.time(rope).time_s == Approx(kLaunchS + kernel_bytes(rope) / 2e12));
  // Backward at the speed of forward.
  const KernelCase forward = elementwise_case("swiglu", "fwd", 4096, 4096);
  const KernelCase backward = elementwise_case("swiglu", "bwd", 4096, 4096);
  CHECK(pricer.time(backward).time_s ==
        Approx(pricer.time(forward).time_s * kernel_bytes(backward) / kernel_bytes(forward)));
  CHECK(pricer.time(backward).evidence == Evidence::missing);
  // Products: flop at 500 TFLOP/s, or bytes.
  CHECK(pricer.time(forward_gemm(8192, 8192, 8192)).time_s ==
        Approx(kLaunchS + 2 * 8192.0 * 8192 * 8192 / 500e12));
  const KernelCase thin = forward_gemm(8192, 1, 8192);
  CHECK(pricer.time(thin).time_s == Approx(kLaunchS + kernel_bytes(thin) / 2e12));
  // Three quarters of 64 GB/s.
  CHECK(pricer.time(copy_case("host_to_device", kBytes)).time_s == Approx(kLaunchS + 1e9 / 48e9));
}

TEST_CASE("Kernels that nobody measured reach the same share of every GPU's stated rates") {
  const HardwareProfile nothing;
  const Cluster unstated = cluster();
  Cluster gpus = cluster();
  gpus.gpu.peak_flop_per_s["bf16"] = 989.4e12;
  gpus.gpu.memory_bytes_per_s = 3.35e12;
  const KernelCase product = forward_gemm(8192, 8192, 8192);
  const KernelCase update = adamw_case(1'000'000);
  const auto work_s = [&](const Cluster& on, const KernelCase& kernel) {
    return KernelPricer(nothing, on).time(kernel).time_s - kLaunchS;
  };
  // The rates of an H100, which a cluster that states none counts as.
  for (const KernelCase& kernel : {product, update}) CHECK(work_s(gpus, kernel) == work_s(unstated, kernel));
  gpus.gpu.peak_flop_per_s["bf16"] = 2 * 989.4e12;
  CHECK(work_s(gpus, product) == Approx(work_s(unstated, product) / 2));
  CHECK(work_s(gpus, update) == work_s(unstated, update));
  gpus.gpu.memory_bytes_per_s = 3.35e12 / 4;
  CHECK(work_s(gpus, update) == Approx(4 * work_s(unstated, update)));
}

TEST_CASE("Prices without measurements: collectives inside a node and between nodes") {
  HardwareProfile profile;
  profile.curves = {line("collective op=all_reduce gpus=16 nodes=2 imbalance=1", 1e-5, 1e11),
                    line("collective op=send_recv gpus=2 nodes=2 imbalance=1", 1e-5, 3e10)};
  const Cluster gpus = cluster();
  KernelPricer pricer(profile, gpus);
  // Three quarters of 400 GB/s NVLink; 7/8 of the payload leaves a GPU, twice of an all-reduce's.
  CHECK(pricer.time(collective_case("all_gather", 8, 1, kBytes)).time_s ==
        Approx(8 * kLaunchS + 1e9 * 7 / 8 / 300e9));
  CHECK(pricer.time(collective_case("all_reduce", 8, 1, kBytes)).time_s ==
        Approx(8 * kLaunchS + 2e9 * 7 / 8 / 300e9));
  // An all-reduce is a reduce-scatter and an all-gather.
  const double both_s = kernel_time(profile, collective_case("all_reduce", 16, 2, kBytes)).time_s;
  CHECK(pricer.time(collective_case("reduce_scatter", 16, 2, kBytes)).time_s == Approx(both_s / 2));
  CHECK(pricer.time(collective_case("all_gather", 16, 2, kBytes)).time_s == Approx(both_s / 2));
  // All-to-all of 16 GPUs: half of it leaves the node, one send after another.
  CHECK(pricer.time(collective_case("all_to_all", 16, 2, kBytes)).time_s ==
        Approx(kernel_time(profile, collective_case("send_recv", 2, 2, kBytes / 2)).time_s));
  // More nodes than were measured: all network cards of a node, 8 x 40 GB/s, are more than the NVLink.
  CHECK(pricer.time(collective_case("all_reduce", 4, 4, kBytes)).time_s ==
        Approx(4 * kLaunchS + 2e9 * 3 / 4 / (0.75 * 40e9)));
}

TEST_CASE("What was measured on faster network cards does not pass through slower ones") {
  HardwareProfile profile;
  for (const char* key : {"collective op=all_gather gpus=16 nodes=1 imbalance=1",
                          "collective op=all_gather gpus=16 nodes=2 imbalance=1",
                          "collective op=all_reduce gpus=16 nodes=2 imbalance=1",
                          "collective op=all_to_all gpus=16 nodes=2 imbalance=1"}) {
    profile.curves.push_back(line(key, 1e-5, std::string(key).find("to_all") < 99 ? 5e10 : 1e11));
  }
  profile.curves.push_back(line("collective op=send_recv gpus=2 nodes=2 imbalance=1", 1e-5, 3e10));
  Cluster slow = cluster();
  slow.network.nics_per_node = 1;  // 5 GB/s a GPU
  const Cluster fast = cluster();
  KernelPricer on_fast(profile, fast);
  KernelPricer on_slow(profile, slow);
  const auto check = [&](const char* op, int gpus, double nic_bytes) {
    const KernelCase kernel = collective_case(op, gpus, 2, kBytes);
    INFO(kernel.text());
    CHECK(on_fast.time(kernel).time_s == kernel_time(profile, kernel).time_s);
    CHECK(on_fast.time(kernel).evidence != Evidence::missing);
    CHECK(on_slow.time(kernel).time_s == Approx(nic_bytes / 0.75 / 5e9));
    CHECK(on_slow.time(kernel).evidence == Evidence::missing);
  };
  check("all_gather", 16, 1e9 / 2 / 8);  // eight GPUs of a node share what leaves it
  check("all_reduce", 16, 1e9 / 8);
  check("all_to_all", 16, 1e9 / 2);  // half of a GPU's payload goes to the other node
  check("send_recv", 2, 1e9);
  const KernelCase inside = collective_case("all_gather", 16, 1, kBytes);
  CHECK(on_slow.time(inside).time_s == kernel_time(profile, inside).time_s);
  // A price from measured sends is held to the same.
  const KernelCase uneven = collective_case("all_to_all", 32, 4, kBytes);
  CHECK(on_slow.time(uneven).time_s == Approx(1e9 * 24 / 32 / 0.75 / 5e9));
}

TEST_CASE("No collective is faster than NVLink in a node and uplinks between leaf switches") {
  HardwareProfile profile;
  for (const char* key : {"collective op=all_gather gpus=32 nodes=4 imbalance=1",
                          "collective op=all_gather gpus=8 nodes=1 imbalance=1",
                          "collective op=all_to_all gpus=32 nodes=4 imbalance=1"})
    profile.curves.push_back(line(key, 1e-5, 3e11));
  Cluster gpus = cluster();
  const auto time_s = [&](const char* op, int n_gpus, int nodes) {
    KernelPricer pricer(profile, gpus);
    return pricer.time(collective_case(op, n_gpus, nodes, kBytes)).time_s;
  };
  CHECK(time_s("all_gather", 8, 1) == Approx(1e-5 + 1e9 / 3e11));
  gpus.network.nvlink_bytes_per_s = 100e9;
  CHECK(time_s("all_gather", 8, 1) == Approx(1e9 * 7 / 8 / 0.75 / 100e9));
  // Cards of 400 GB/s a node let the measured time stand; two leaves of two nodes, 8:1, have 50 GB/s a node.
  gpus.network.nic_bytes_per_s = 400e9;
  CHECK(time_s("all_gather", 32, 4) == Approx(1e-5 + 1e9 / 3e11));
  CHECK(time_s("all_to_all", 32, 4) == Approx(1e-5 + 1e9 / 3e11));
  gpus.network.nodes_per_leaf = 2;
  gpus.network.oversubscription = 64;  // 6.25 GB/s a GPU
  CHECK(time_s("all_gather", 32, 4) == Approx(1e9 / 2 / 16 / 0.75 / 6.25e9));
  CHECK(time_s("all_to_all", 32, 4) == Approx(1e9 / 2 / 0.75 / 6.25e9));
}

TEST_CASE("A framework's factor is on the kernel, not on a link that is too slow for it anyway") {
  HardwareProfile profile;
  profile.curves = {line("collective op=all_to_all gpus=8 nodes=1 imbalance=1", 0, 1e11)};
  Cluster gpus = cluster();
  const KernelCase kernel = collective_case("all_to_all", 8, 1, kBytes);
  const auto known_s = [&](double count, double factor) {
    KernelPricer pricer(profile, gpus);
    return pricer.time(kernel).estimate(count, factor).time_s;
  };
  CHECK(known_s(3, 2.5) == Approx(3 * 2.5 * 1e9 / 1e11));
  gpus.network.nvlink_bytes_per_s = 70e9;  // 7/8 GB at three quarters of 70 GB/s: 16.7 ms instead of 10
  CHECK(known_s(3, 1) == Approx(3 * 1e9 * 7 / 8 / 52.5e9));
  CHECK(known_s(3, 1.5) == Approx(3 * 1e9 * 7 / 8 / 52.5e9));
  CHECK(known_s(3, 2.5) == Approx(3 * 2.5 * 1e9 / 1e11));  // slower than the link
}

TEST_CASE("Neither profile nor cluster say anything: an H100's rates") {
  const HardwareProfile profile;
  const Cluster unknown{.name = "", .source = "", .gpu = {}};
  KernelPricer pricer(profile, unknown);
  CHECK(pricer.time(copy_case("device", kBytes)).time_s == Approx(kLaunchS + 2e9 / 2.5e12));
  CHECK(pricer.time(copy_case("device_to_host", kBytes)).time_s == Approx(kLaunchS + 1e9 / 48e9));
  CHECK(pricer.time(collective_case("all_to_all", 8, 1, kBytes)).time_s ==
        Approx(8 * kLaunchS + 1e9 * 7 / 8 / 337.5e9));
  // A network card of 50 GB/s.
  CHECK(pricer.time(collective_case("send_recv", 2, 2, kBytes)).time_s ==
        Approx(2 * kLaunchS + 1e9 / 37.5e9));
  CHECK(pricer.time(collective_case("all_to_all", 16, 2, kBytes)).time_s ==
        Approx(kLaunchS + 0.5e9 / 37.5e9));
}
