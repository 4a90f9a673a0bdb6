#include "models/kernels/transfer_profile.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "models/kernels/kernel_times.hpp"
#include "models/kernels/link_rates.hpp"

using namespace packsim;

namespace {

Gpu gpu_of(const std::string& name, double peak_flop_per_s, double memory_bytes_per_s,
           double nvlink_bytes_per_s = 450e9) {
  return {.driver_name = name,
          .peak_flop_per_s = {{"bf16", peak_flop_per_s}},
          .memory_bytes = 1,
          .memory_bytes_per_s = memory_bytes_per_s,
          .nvlink_bytes_per_s = nvlink_bytes_per_s,
          .pcie_bytes_per_s = 64e9};
}

const Gpu kMeasured = gpu_of("Maker measured", 1000e12, 2e12);

Cluster cluster_of(const Gpu& gpu, double nic_bytes_per_s = 50e9) {
  Cluster cluster{.name = "", .source = "", .gpu = gpu, .nodes = 2, .gpus_per_node = 8};
  cluster.network.nvlink_bytes_per_s = *gpu.nvlink_bytes_per_s;
  cluster.network.nics_per_node = 8;
  cluster.network.nic_bytes_per_s = nic_bytes_per_s;
  cluster.host_link_bytes_per_s = gpu.pcie_bytes_per_s;
  return cluster;
}

KernelCurve curve(const std::string& key, const std::string& size_name,
                  const std::vector<std::pair<double, double>>& points) {
  KernelCurve made{.key = key, .library = "a library", .size_name = size_name, .sources = {"s"}};
  for (const auto& [size, time_s] : points) made.points.push_back({size, time_s, 0.01, 1});
  made.fixed_s.value = 3e-6;
  made.size_per_s.value = 1e12;
  return made;
}

HardwareProfile profile_of(std::vector<KernelCurve> curves, std::vector<KernelModel> models = {},
                           const std::string& nic_bytes_per_s = "") {
  HardwareProfile profile{.name = "p", .gpu = kMeasured.driver_name, .data_sheet = kMeasured};
  MeasurementSource source{.id = "s", .gpu = "measured", .provenance = "", .licence = "", .details = {}};
  if (!nic_bytes_per_s.empty()) source.details["nic_bytes_per_s_of_gpu"] = nic_bytes_per_s;
  profile.sources = {source};
  profile.curves = std::move(curves);
  std::ranges::sort(profile.curves, {}, &KernelCurve::key);
  profile.models = std::move(models);
  return profile;
}

KernelTime time_of(const HardwareProfile& profile, const std::string& kernel) {
  return kernel_time(profile, KernelCase::parse(kernel));
}

const std::string kNorm = "elementwise op=rms_norm pass=fwd cache=cold";

HardwareProfile norm_profile() {
  // 4 bytes a value: 2^20 of them are 4 MiB.
  return profile_of({curve(kNorm, "bytes", {{4194304, 13e-6}, {41943040, 103e-6}})});
}

}  // namespace

TEST_CASE("A profile on the GPU and links that were measured is as it was") {
  const HardwareProfile profile = norm_profile();
  const HardwareProfile same = profile_on(profile, cluster_of(kMeasured));
  CHECK(same.curves == profile.curves);
  CHECK(same.models == profile.models);
}

TEST_CASE("Elementwise work goes with the memory rate, the launch does not") {
  const HardwareProfile moved = profile_on(norm_profile(), cluster_of(gpu_of("Maker other", 1000e12, 4e12)));
  // 3 us + 10 us / 2, 3 us + 100 us / 2.
  CHECK(moved.curves[0].points[0].time_s == Approx(8e-6));
  CHECK(moved.curves[0].points[1].time_s == Approx(53e-6));
  CHECK(moved.gpu == "Maker other");
  const KernelTime time = time_of(moved, kNorm + " rows=1024 cols=1024");
  CHECK(time.time_s == Approx(8e-6));
  CHECK(time.evidence == Evidence::transferred);
  // The launch errs by .5, the work by .2: (3 x .5)^2 + (5 x .2)^2 = 3.25 of 8^2, with the point's .01.
  CHECK(time.relative_error == Approx(std::hypot(std::sqrt(3.25) / 8, 0.01)));
}

TEST_CASE("What an elementwise kernel does not wait for memory goes with the multiprocessors") {
  // 4 MiB at 0.9 of 2 TB/s take 2.330 us of 10; sqrt(10^2 - 2.330^2) = 9.725 are the multiprocessors'.
  Gpu measured = kMeasured;
  measured.n_sms = 100;
  measured.sm_clock_hz = 2e9;
  Gpu other = gpu_of("Maker other", 1000e12, 0.5e12);
  other.n_sms = 160;
  other.sm_clock_hz = 1e9;
  const auto first_us = [&](const Gpu& to) {
    return 1e6 * transfer_profile(norm_profile(), measured, cluster_of(to)).curves[0].points[0].time_s;
  };
  // A quarter of the memory rate and 0.8 of the cycles.
  CHECK(first_us(other) == Approx(3 + std::hypot(4 * 2.330169, 9.724750 / 0.8)).epsilon(1e-5));
  other.memory_bytes_per_s = 2e12;
  CHECK(first_us(other) == Approx(3 + std::hypot(2.330169, 9.724750 / 0.8)).epsilon(1e-5));
  // Where a GPU's clock is not known, all goes with the memory rate.
  other.memory_bytes_per_s = 1e12;
  other.sm_clock_hz.reset();
  CHECK(first_us(other) == Approx(23));
}

TEST_CASE("A kernel at the memory rate goes with the memory rate") {
  Gpu measured = kMeasured;
  measured.n_sms = 100;
  measured.sm_clock_hz = 2e9;
  Gpu other = gpu_of("Maker other", 1000e12, 1e12);
  other.n_sms = 1000;
  other.sm_clock_hz = 2e9;
  // 10 us for 20 MB: 2 TB/s.
  const HardwareProfile profile = profile_of({curve(kNorm, "bytes", {{20e6, 13e-6}})});
  CHECK(transfer_profile(profile, measured, cluster_of(other)).curves[0].points[0].time_s == Approx(23e-6));
}

TEST_CASE("Products go with the peak to a power, and with the memory rate where that limits them") {
  KernelModel model{.key = "gemm layout=tn cache=cold", .library = "a library", .sources = {"s"}};
  model.numbers = {{"launch_s", 3e-6, 0},      {"flop_per_s", 800e12, 0}, {"s_per_output", 0, 0},
                   {"bytes_per_s", 1.6e12, 0}, {"n_neighbours", 4, 0},    {"neighbour_distance", 0.1, 0}};
  model.box = {{"m", 256, 8192}, {"n", 256, 8192}, {"k", 256, 8192}};
  const GemmNumbers numbers = gemm_numbers(model);
  const double large_s = gemm_model_s(numbers, 8192, 8192, 8192);
  const HardwareProfile profile =
      profile_of({curve("gemm n=8192 k=8192 layout=tn cache=cold", "m",
                        {{256, gemm_model_s(numbers, 256, 8192, 8192)}, {8192, large_s}})},
                 {model});
  const auto factor_of = [&](double peak, double memory, double m) {
    const HardwareProfile moved = profile_on(profile, cluster_of(gpu_of("Maker other", peak, memory)));
    const std::string kernel =
        "gemm m=" + std::to_string(static_cast<int>(m)) + " n=8192 k=8192 layout=tn cache=cold";
    return (time_of(moved, kernel).time_s - 3e-6) / (time_of(profile, kernel).time_s - 3e-6);
  };
  const double exponent = TransferNumbers().compute_exponent;
  // 8192 rows: 1.4 ms of flop beside .25 ms of bytes. Half the peak: 2^.93 times as long, nearly.
  CHECK(factor_of(500e12, 2e12, 8192) == Approx(std::pow(2, exponent)).epsilon(0.01));
  CHECK(factor_of(1000e12, 1e12, 8192) == Approx(1).epsilon(0.02));
  // 256 rows: 43 us of flop beside 89 us of bytes.
  CHECK(factor_of(1000e12, 1e12, 256) == Approx(2).epsilon(0.05));
  CHECK(factor_of(1000e12, 2e12, 256) == 1);
  CHECK(factor_of(2000e12, 4e12, 8192) == Approx(std::pow(2, -exponent)).epsilon(0.01));
}

TEST_CASE("Attention goes with the peak, and that of older libraries with their share of it") {
  KernelCurve attention = curve("attention pass=fwd heads=32 kv_heads=8 head_dim=128", "length_tokens",
                                {{1024, 1e-3}, {8192, 60e-3}});
  attention.library = "fa2-readme";
  Gpu newer = kMeasured;
  newer.warp_product_share = 0.5;
  HardwareProfile profile = profile_of({attention});
  const auto factor = [&](const Gpu& from, const Gpu& to) {
    return transfer_profile(profile, from, cluster_of(to)).curves[0].points[1].time_s / 60e-3;
  };
  const double exponent = TransferNumbers().compute_exponent;
  const Gpu half = gpu_of("Maker half", 500e12, 2e12);
  CHECK(factor(kMeasured, half) == Approx(std::pow(2, exponent)));
  // At half its peak the newer GPU is no faster than the one of half the peak.
  CHECK(factor(newer, half) == Approx(1));
  profile.curves[0].library = "fa3";
  CHECK(factor(newer, half) == Approx(std::pow(2, exponent)));
}

TEST_CASE("Collectives go with the links that limit them") {
  const std::string in_node = "collective op=all_gather gpus=8 nodes=1 imbalance=1";
  const std::string between = "collective op=all_gather gpus=16 nodes=2 imbalance=1";
  const HardwareProfile profile = profile_of({curve(in_node, "bytes", {{1024, 3e-6}, {1 << 30, 2003e-6}}),
                                              curve(between, "bytes", {{1024, 3e-6}, {1 << 30, 3003e-6}})},
                                             {}, "50e9");
  const auto largest_us = [&](const Cluster& cluster, std::size_t which) {
    const KernelCase kernel = KernelCase::parse((which == 0 ? in_node : between) + " bytes=1073741824");
    return 1e6 * kernel_time(profile_on(profile, cluster), kernel).time_s;
  };
  Cluster cluster = cluster_of(kMeasured);
  CHECK(largest_us(cluster, 0) == Approx(2003));
  cluster.network.nvlink_bytes_per_s /= 2;
  CHECK(largest_us(cluster, 0) == Approx(4003));
  // Between nodes rings pass 3/4 of NVLink's 450 GB/s, which is less than 8 cards of 50 GB/s.
  CHECK(largest_us(cluster, 1) == Approx(6003));
  cluster = cluster_of(kMeasured, 25e9);
  CHECK(largest_us(cluster, 0) == Approx(2003));
  CHECK(largest_us(cluster, 1) == Approx(3 + 3000 * 337.5 / 200));
  cluster = cluster_of(kMeasured, 200e9);  // NVLink limits as before
  CHECK(largest_us(cluster, 1) == Approx(3003));

  SECTION("whose rates are not known stay as they are") {
    Cluster unknown = cluster_of(kMeasured);
    unknown.network = {};
    CHECK(largest_us(unknown, 0) == Approx(2003));
    CHECK(largest_us(unknown, 1) == Approx(3003));
    const HardwareProfile no_nic = profile_of({curve(between, "bytes", {{1024, 3e-6}, {1 << 30, 3003e-6}})});
    const KernelCase kernel = KernelCase::parse(between + " bytes=1073741824");
    CHECK(kernel_time(profile_on(no_nic, cluster_of(kMeasured, 5e9)), kernel).time_s == Approx(3003e-6));
  }
}

TEST_CASE("Links carry what the usual algorithm of a collective sends") {
  const LinkRates rates{.gpu_bytes_per_s = 400e9, .nic_bytes_per_s = 50e9};
  const auto time_s = [&](const std::string& kernel) {
    return link_time_s(rates, KernelCase::parse("collective " + kernel + " bytes=16000000 imbalance=1"));
  };
  // A ring in a node: 7/8 of 16 MB over 3/4 of 400 GB/s.
  CHECK(time_s("op=all_gather gpus=8 nodes=1") == Approx(140e-6 / 3));
  CHECK(time_s("op=all_reduce gpus=8 nodes=1") == Approx(280e-6 / 3));
  // Each of 2 nodes sends its sum once over 8 cards, which is less than 2 x 15/16 of 16 MB over 300 GB/s.
  CHECK(time_s("op=all_reduce gpus=16 nodes=2") == Approx(100e-6));
  CHECK(time_s("op=all_reduce gpus=2 nodes=2") == Approx(320e-6));
  // 15/16 of 16 MB leave a node over its 8 cards together, in 37.5 us, or over the card of its only GPU.
  CHECK(time_s("op=reduce_scatter gpus=16 nodes=2") == Approx(50e-6));
  CHECK(time_s("op=all_gather gpus=16 nodes=16") == Approx(300e-6));
  // Of an all-to-all among 16 GPUs, 8 of the 16 parts leave the node: 8 MB over a card of 50 GB/s.
  CHECK(time_s("op=all_to_all gpus=16 nodes=2") == Approx(160e-6));
  CHECK(time_s("op=all_to_all gpus=8 nodes=1") == Approx(140e-6 / 3));
  CHECK(time_s("op=send_recv gpus=2 nodes=2") == Approx(320e-6));
  CHECK(time_s("op=send_recv gpus=2 nodes=1") == Approx(160e-6 / 3));
  const KernelCase known = KernelCase::parse("collective op=all_gather gpus=16 nodes=2 bytes=8 imbalance=1");
  CHECK(link_time_s({.gpu_bytes_per_s = 400e9}, known) == 0);
}

TEST_CASE("Where switches add up, an all-reduce sends its values once and one part of the sums") {
  const auto ratio = [](std::string_view group) {
    const KernelCase kernel =
        KernelCase::parse("collective op=all_reduce " + std::string(group) + " bytes=16000000 imbalance=1");
    LinkRates rates{.gpu_bytes_per_s = 450e9, .nic_bytes_per_s = 400e9};
    const double ring_s = link_time_s(rates, kernel);
    rates.switch_adds = true;
    return link_time_s(rates, kernel) / ring_s;
  };
  // 9/8 of the payload at 0.85 of the rate of a ring, which sends 14/8.
  CHECK(ratio("gpus=8 nodes=1") == Approx(9 / 0.85 / 14));
  // 3/2 at 0.85 of the rate is more than the ring's payload: the ring stays.
  CHECK(ratio("gpus=2 nodes=1") == 1);
  CHECK(ratio("gpus=4 nodes=1") == Approx(1.25 / 0.85 / 1.5));
  // Of two nodes a ring sends 30/16.
  CHECK(ratio("gpus=16 nodes=2") == Approx(18 / 0.85 / 30));
  // Nothing is added up inside nodes of one GPU.
  CHECK(ratio("gpus=2 nodes=2") == 1);
}

TEST_CASE("All-reduce of a GPU whose switches cannot add up takes longer than the links say") {
  const std::string key = "collective op=all_reduce gpus=8 nodes=1 imbalance=1";
  Gpu adding = kMeasured;
  adding.nvlink_switch_adds = true;
  const HardwareProfile profile = profile_of({curve(key, "bytes", {{1024, 3e-6}, {1 << 30, 2003e-6}})});
  const Gpu other = gpu_of("Maker other", 1000e12, 2e12, 225e9);
  const HardwareProfile moved = transfer_profile(profile, adding, cluster_of(other));
  CHECK(time_of(moved, key + " bytes=1073741824").time_s == Approx(3e-6 + 2 * 14 * 0.85 / 9 * 2000e-6));
}

TEST_CASE("Times never fall with size after a transfer") {
  // The last point is compute-bound and moves less than the one before it.
  const HardwareProfile profile =
      profile_of({curve("gemm n=4096 k=4096 layout=tn cache=cold", "m",
                        {{16, 30e-6}, {64, 31e-6}, {1024, 80e-6}, {8192, 500e-6}})});
  for (const double peak : {100e12, 1000e12, 5000e12}) {
    for (const double memory : {0.2e12, 2e12, 20e12}) {
      const HardwareProfile moved = profile_on(profile, cluster_of(gpu_of("Maker other", peak, memory)));
      const std::vector<CurvePoint>& points = moved.curves[0].points;
      for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i].time_s >= points[i - 1].time_s);
    }
  }
}

TEST_CASE("A GPU without a data sheet cannot be transferred from, unless it is the cluster's") {
  HardwareProfile profile = norm_profile();
  profile.data_sheet.reset();
  CHECK(profile_on(profile, cluster_of(kMeasured)).curves == profile.curves);
  CHECK_THROWS_WITH(profile_on(profile, cluster_of(gpu_of("Maker other", 1e12, 1e12))),
                    "hardware profile p was measured on Maker measured, of which models/gpus has no file");
}

TEST_CASE("A profile is put on a cluster once") {
  const HardwareProfile on_cluster = profile_on(norm_profile(), cluster_of(kMeasured));
  CHECK_THROWS_AS(profile_on(on_cluster, cluster_of(kMeasured)), std::logic_error);
}

TEST_CASE("Kernel families that a profile lacks come from another") {
  const std::string copy = "copy kind=device";
  const HardwareProfile own = norm_profile();
  HardwareProfile other =
      profile_of({curve(copy, "bytes", {{1024, 4e-6}}), curve(kNorm, "bytes", {{64, 9e-6}})});
  other.sources.front().id = "t";
  for (KernelCurve& of_other : other.curves) of_other.sources = {"t"};
  const HardwareProfile both = with_missing_families(own, other);
  REQUIRE(both.curves.size() == 2);
  CHECK(both.curve(copy) != nullptr);
  CHECK(*both.curve(kNorm) == own.curves[0]);
  REQUIRE(both.sources.size() == 2);
  CHECK(both.sources[1].id == "t");
}

TEST_CASE("A profile's stand-in has the kernels that it has none of, scaled from its own GPU and links") {
  const std::string in_node = "collective op=all_gather gpus=8 nodes=1 imbalance=1";
  const std::string between = "collective op=all_gather gpus=16 nodes=2 imbalance=1";
  HardwareProfile profile = profile_of({curve(in_node, "bytes", {{1024, 3e-6}, {1 << 30, 2003e-6}})});
  HardwareProfile other = profile_of({curve(in_node, "bytes", {{1024, 9e-6}, {1 << 30, 9003e-6}}),
                                      curve(between, "bytes", {{1024, 3e-6}, {1 << 30, 3003e-6}})},
                                     {}, "50e9");
  other.data_sheet = gpu_of("Maker other", 1000e12, 2e12, 900e9);
  other.gpu = other.data_sheet->driver_name;
  profile.stand_in = std::make_shared<const HardwareProfile>(other);
  const auto largest = [&](const Cluster& cluster, const std::string& key) {
    return time_of(profile_on(profile, cluster), key + " bytes=1073741824");
  };
  const Cluster cluster = cluster_of(kMeasured);
  CHECK(largest(cluster, in_node).time_s == Approx(2003e-6));
  CHECK(largest(cluster, in_node).evidence == Evidence::measured);
  // Eight cards of 50 GB/s limit the other; 3/4 of 450 GB/s of NVLink this one.
  CHECK(largest(cluster, between).time_s == Approx(3e-6 + 400 / 337.5 * 3000e-6));
  CHECK(largest(cluster, between).evidence == Evidence::transferred);
  // Cards of 25 GB/s: all but the launch takes twice as long. In a node nothing changes.
  CHECK(largest(cluster_of(kMeasured, 25e9), between).time_s == Approx(6003e-6));
  CHECK(largest(cluster_of(kMeasured, 25e9), in_node).time_s == Approx(2003e-6));
  // On the stand-in's GPU its own kernels are measured ones, and NVLink of the other is twice as fast.
  const Cluster others = cluster_of(*other.data_sheet);
  CHECK(largest(others, between).evidence == Evidence::measured);
  CHECK(largest(others, in_node).time_s == Approx(1003e-6));
}

TEST_CASE("An all-gather stands for a reduce-scatter that was not measured, and back") {
  const std::string gather = "collective op=all_gather gpus=16 nodes=2 imbalance=1";
  const HardwareProfile profile = profile_of({curve(gather, "bytes", {{1024, 3e-6}, {1 << 30, 3003e-6}})});
  const KernelTime measured = time_of(profile, gather + " bytes=1073741824");
  const KernelTime mirror =
      time_of(profile, "collective op=reduce_scatter gpus=16 nodes=2 imbalance=1 bytes=1073741824");
  CHECK(mirror.time_s == measured.time_s);
  CHECK(mirror.evidence == Evidence::extrapolated);
  CHECK(mirror.relative_error == Approx(std::hypot(measured.relative_error, 0.04)));
  // Of an all-reduce or all-to-all it says nothing.
  for (const char* op : {"all_reduce", "all_to_all", "send_recv"}) {
    CAPTURE(op);
    const std::string kernel = "collective op=" + std::string(op) + " gpus=16 nodes=2 bytes=1024 imbalance=1";
    CHECK(time_of(profile, kernel).evidence == Evidence::missing);
  }
}

TEST_CASE("No kernel is faster than the peak and the memory rate") {
  Gpu gpu = gpu_of("gpu", 1000e12, 2e12);
  gpu.l2_bytes = 50e6;
  const auto least_us = [&](const std::string& kernel) {
    return 1e6 * least_kernel_s(gpu, KernelCase::parse(kernel));
  };
  // 2 x 8192^3 = 1.0995 PFLOP; its 403 MB take 176 us.
  CHECK(least_us("gemm m=8192 n=8192 k=8192 layout=tn cache=cold") == Approx(1099.5).epsilon(1e-4));
  // 2 x 16 x 8192^2 = 2.1 TFLOP take 2 us; 2 x (2 x 16 x 8192 + 8192^2) = 134.7 MB less 50 MB.
  CHECK(least_us("gemm m=16 n=8192 k=8192 layout=tn cache=cold") ==
        Approx((134.742e6 - 50e6) / 2e6).epsilon(1e-3));
  CHECK(least_us("copy kind=device cache=cold bytes=1000000000") == Approx(975));
  CHECK(least_us("copy kind=host_to_device cache=cold bytes=1000000000") == 0);
  CHECK(least_us("collective op=all_gather gpus=8 nodes=1 bytes=1000000000 imbalance=1") == 0);
}

TEST_CASE("A factor that makes attention that of FlashAttention-2 is another one on another GPU") {
  Gpu hopper = kMeasured;
  hopper.warp_product_share = 0.6;
  Gpu ampere = kMeasured;
  ampere.warp_product_share = 1;
  KernelCurve attention = curve("attention pass=fwd heads=32 kv_heads=8 head_dim=128", "length_tokens",
                                {{1024, 1e-3}, {8192, 60e-3}});
  attention.library = "cudnn";
  HardwareProfile profile = profile_of({attention});
  profile.data_sheet = hopper;
  CHECK(flash_attention_2_change(profile, ampere) == Approx(0.6));
  CHECK(flash_attention_2_change(profile, hopper) == 1);
  profile.data_sheet = ampere;
  CHECK(flash_attention_2_change(profile, hopper) == Approx(1 / 0.6));
  // Curves of that kernel are scaled themselves.
  profile.curves.front().library = "fa2-readme";
  CHECK(flash_attention_2_change(profile, hopper) == 1);
  profile.data_sheet.reset();
  CHECK(flash_attention_2_change(profile, hopper) == 1);
}
