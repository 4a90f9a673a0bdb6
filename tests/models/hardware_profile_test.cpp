#include "models/kernels/hardware_profile.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/coverage/predict_step.hpp"
#include "models/kernels/curve_time.hpp"
#include "models/kernels/kernel_times.hpp"

using namespace packsim;

namespace {

// 1 us + bytes / 1 GB/s at 1, 2 and 4 kB: 2, 3 and 5 us.
KernelCurve copy_curve(const std::string& cache) {
  return {.key = "copy kind=device cache=" + cache,
          .library = "lib",
          .size_name = "bytes",
          .points = {{1000, 2e-6, 0.01, 1}, {2000, 3e-6, 0.01, 1}, {4000, 5e-6, 0.01, 1}},
          .fixed_s = {"fixed_s", 1e-6, 0},
          .size_per_s = {"size_per_s", 1e9, 0},
          .end_error = 0.1,
          .quality = {.left_out_rms = 0.04}};
}

KernelCurve collective_curve(int gpus, double time_s, const std::string& imbalance = "1") {
  return {.key = "collective op=all_gather gpus=" + std::to_string(gpus) + " nodes=1 imbalance=" + imbalance,
          .library = "nccl",
          .size_name = "bytes",
          .points = {{1000, time_s, 0.01, 1}, {2000, 2 * time_s, 0.01, 1}},
          .size_per_s = {"size_per_s", 1000 / time_s, 0},
          .end_error = 0.1};
}

KernelTime time_of(const HardwareProfile& profile, const std::string& kernel) {
  return kernel_time(profile, KernelCase::parse(kernel));
}

}  // namespace

TEST_CASE("A curve is read at its points, between them and beyond its ends") {
  HardwareProfile profile;
  profile.curves = {copy_curve("cold")};
  // Copies on the device read and write: 500 bytes are 1 000 moved.
  const auto copy = [&](int bytes) {
    return time_of(profile, "copy kind=device bytes=" + std::to_string(bytes) + " cache=cold");
  };
  CHECK(copy(1000).time_s == 3e-6);
  CHECK(copy(1000).evidence == Evidence::measured);
  CHECK(copy(1000).relative_error == Approx(0.01));
  // Between points the curve follows its growth, 1 us + 3 000 B / 1 GB/s.
  CHECK(copy(1500).time_s == Approx(4e-6));
  CHECK(copy(1500).evidence == Evidence::interpolated);
  CHECK(copy(1500).relative_error > 0.03);
  CHECK(copy(8000).time_s == Approx(17e-6));
  CHECK(copy(8000).evidence == Evidence::extrapolated);
  // Two octaves beyond the end: ln 4 e-folds of 10 %.
  CHECK(copy(8000).relative_error == Approx(std::hypot(0.01, 0.1 * std::log(4.0))));
  CHECK(copy(50).time_s == Approx(1.1e-6));
  CHECK(copy(50).evidence == Evidence::extrapolated);
  CHECK(copy(50).basis == "curve copy kind=device cache=cold, beyond its end");
}

TEST_CASE("Straight curves are lines in logarithms between points") {
  HardwareProfile profile;
  profile.curves = {copy_curve("cold")};
  profile.curves[0].straight = true;
  // From 3 us at 2 000 to 5 us at 4 000: half way in logarithms is sqrt(15) us at 2 828 bytes.
  CHECK(time_of(profile, "copy kind=device bytes=1414 cache=cold").time_s ==
        Approx(std::sqrt(15.0) * 1e-6).epsilon(1e-3));
}

TEST_CASE("A curve of another cache stands in, and says so") {
  HardwareProfile profile;
  profile.curves = {copy_curve("cold")};
  const KernelTime time = time_of(profile, "copy kind=device bytes=1000 cache=hot");
  CHECK(time.time_s == 3e-6);
  CHECK(time.evidence == Evidence::interpolated);
  CHECK(time.relative_error > 0.1);  // a small copy fits into the cache
  CHECK(time.basis == "curve copy kind=device cache=cold, of a cold cache");
}

TEST_CASE("Collectives between measured group sizes are interpolated in the logarithm of GPUs") {
  HardwareProfile profile;
  profile.curves = {collective_curve(2, 1e-5), collective_curve(8, 4e-5)};
  const auto gather = [&](const std::string& rest) {
    return time_of(profile, "collective op=all_gather " + rest);
  };
  // 4 is half way between 2 and 8: sqrt(10 x 40) = 20 us.
  const KernelTime between = gather("gpus=4 nodes=1 bytes=1000 imbalance=1");
  CHECK(between.time_s == Approx(2e-5));
  CHECK(between.evidence == Evidence::interpolated);
  CHECK(gather("gpus=8 nodes=1 bytes=2000 imbalance=1").evidence == Evidence::measured);
  CHECK(gather("gpus=16 nodes=1 bytes=1000 imbalance=1").evidence == Evidence::missing);
  CHECK(gather("gpus=8 nodes=2 bytes=1000 imbalance=1").evidence == Evidence::missing);
  CHECK(gather("gpus=1 nodes=1 bytes=1000 imbalance=1").time_s == 0);
}

TEST_CASE("Beyond the largest group, time grows as the model of the operation") {
  HardwareProfile profile;
  profile.curves = {collective_curve(2, 1e-5), collective_curve(8, 4e-5)};
  profile.models = {{.key = "collective op=all_gather nodes=1",
                     .library = "nccl",
                     .numbers = {{"fixed_s", 0, 0}, {"gpu_s", 1e-6, 0}, {"bytes_per_s", 1e30, 0}},
                     .box = {{"gpus", 2, 8}, {"bytes", 1000, 2000}},
                     .end_error = 0.2}};
  // The model says 16 us for 16 GPUs and 8 for 8: 8 us more than the curve of 8.
  const KernelTime time = time_of(profile, "collective op=all_gather gpus=16 nodes=1 bytes=1000 imbalance=1");
  CHECK(time.time_s == Approx(4.8e-5));
  CHECK(time.evidence == Evidence::extrapolated);
}

TEST_CASE("Where groups of one size were measured, more nodes add the longer way round a ring") {
  // Rings of 16 GPUs have 15 hops, those of 24 have 23: one less between nodes than there are nodes. NCCL
  // has 1.9 and 4.0 us a hop.
  CHECK(ring_latency_s("all_gather", 16, 2) == Approx(14 * 1.9e-6 + 1 * 4.0e-6));
  CHECK(ring_latency_s("reduce_scatter", 24, 3) == Approx(21 * 1.9e-6 + 2 * 4.0e-6));
  CHECK(ring_latency_s("all_reduce", 24, 3) == 0);  // along a tree
  CHECK(ring_latency_s("all_to_all", 24, 3) == 0);
  HardwareProfile profile;
  KernelCurve curve = collective_curve(16, 4e-5);
  curve.key = "collective op=all_gather gpus=16 nodes=2 imbalance=1";
  profile.curves = {curve};
  profile.models = {{.key = "collective op=all_gather gpus_per_node=8",
                     .library = "nccl",
                     .numbers = {{"fixed_s", 0, 0}, {"gpu_s", 0, 0}, {"bytes_per_s", 1e30, 0}},
                     .box = {{"gpus", 16, 16}, {"bytes", 1000, 2000}},
                     .end_error = 0.2}};
  const KernelTime time = time_of(profile, "collective op=all_gather gpus=24 nodes=3 bytes=1000 imbalance=1");
  CHECK(time.time_s == Approx(4e-5 + 7 * 1.9e-6 + 1 * 4.0e-6));
  CHECK(time.evidence == Evidence::extrapolated);
}

TEST_CASE("Uneven splits lie between the measured imbalances, or take the largest share as payload") {
  HardwareProfile profile;
  profile.curves = {collective_curve(8, 4e-5, "1"), collective_curve(8, 6e-5, "2")};
  const auto gather = [&](const std::string& imbalance) {
    return time_of(profile, "collective op=all_gather gpus=8 nodes=1 bytes=1000 imbalance=" + imbalance);
  };
  CHECK(gather("1.5").time_s == Approx(5e-5));
  CHECK(gather("1.5").evidence == Evidence::interpolated);
  // Three times the mean is 1.5 times what imbalance 2 was measured with: 1 500 bytes there take 90 us.
  CHECK(gather("3").time_s == Approx(9e-5));
  CHECK(gather("3").evidence == Evidence::extrapolated);
}

TEST_CASE("An attention pack is one launch and the sum of its documents") {
  HardwareProfile profile;
  profile.models = {{.key = "attention pass=fwd head_dim=128",
                     .library = "fa3",
                     .numbers = {{"launch_s", 1e-5, 0},
                                 {"tail_s_per_token", 0, 0},
                                 {"s_per_pair", 1e-12, 0},
                                 {"s_per_token", 0, 0},
                                 {"s_per_document", 0, 0},
                                 {"s_per_kv_token", 0, 0},
                                 {"n_neighbours", 0, 0}},
                     .box = {{"length_tokens", 128, 8192}, {"heads", 8, 32}, {"heads_per_kv_head", 1, 8}},
                     .quality = {.rms = 0.05}}};
  const auto attention = [&](const std::string& documents, const std::string& rest) {
    return time_of(profile, "attention pass=fwd docs=" + documents + " " + rest);
  };
  // 10 us + 8 heads x 1e-12 s x (4 x 1000^2 + 2000^2) = 10 us + 64 us.
  const KernelTime time = attention("4x1000+1x2000", "heads=8 kv_heads=8 head_dim=128");
  CHECK(time.time_s == Approx(74e-6));
  CHECK(time.evidence == Evidence::interpolated);
  CHECK(attention("1x1000", "heads=64 kv_heads=8 head_dim=128").evidence == Evidence::extrapolated);
  // Half the head_dim, half the time.
  const KernelTime narrow = attention("4x1000+1x2000", "heads=8 kv_heads=8 head_dim=64");
  CHECK(narrow.time_s == Approx(37e-6));
  CHECK(narrow.evidence == Evidence::extrapolated);
  CHECK(time_of(profile, "attention pass=bwd docs=1x10 heads=8 kv_heads=8 head_dim=128").evidence ==
        Evidence::missing);
}

TEST_CASE("A gemm of another layout stands in, extrapolated") {
  HardwareProfile profile;
  profile.curves = {{.key = "gemm n=64 k=64 layout=tn cache=hot",
                     .library = "lib",
                     .size_name = "m",
                     .points = {{128, 2e-6, 0.01, 1}, {256, 3e-6, 0.01, 1}},
                     .size_per_s = {"size_per_s", 128e6, 0}}};
  CHECK(time_of(profile, "gemm m=128 n=64 k=64 layout=tn cache=hot").evidence == Evidence::measured);
  const KernelTime time = time_of(profile, "gemm m=128 n=64 k=64 layout=nn cache=cold");
  CHECK(time.time_s == 2e-6);
  CHECK(time.evidence == Evidence::extrapolated);
  CHECK(time.basis == "curve gemm n=64 k=64 layout=tn cache=hot, of a hot cache, of layout tn");
}

TEST_CASE("A step is the sum of its kernels by part, launches and missing kernels apart") {
  HardwareProfile profile;
  profile.curves = {copy_curve("cold"),
                    {.key = "launch_gap", .size_name = "launches", .points = {{1, 1e-6, 0, 1}}}};
  const KernelCase copy = KernelCase::parse("copy kind=device bytes=1000 cache=cold");
  const std::vector<KernelUse> kernels = {{copy, 2, "forward"},
                                          {copy, 4, "backward"},
                                          {KernelCase::parse("adamw parameters=5"), 1, "optimizer"},
                                          {KernelCase::parse("launch_gap"), 7, "launch"}};
  const StepPrediction step = predict_step(profile, kernels);
  CHECK(step.time_s == Approx(18e-6));
  REQUIRE(step.parts.size() == 3);
  CHECK(step.parts[1].time_s == Approx(12e-6));
  CHECK(step.parts[2].time_s == 0);
  CHECK(step.error_s == Approx(0.01 * 18e-6));  // one family: errors add up
  CHECK(step.launch_s == Approx(7e-6));
  CHECK(step.missing == std::vector<std::string>{"adamw parameters=5"});
  CHECK(step.time_by_evidence_s[static_cast<std::size_t>(Evidence::measured)] == Approx(18e-6));
}

TEST_CASE("Keys in texts are found by whole words") {
  CHECK(key_number("gemm m=3 n=4096 k=14336 layout=tn", "n") == 4096);
  CHECK(key_value("attention heads=8 kv_heads=2 head_dim=64", "heads") == "8");
  CHECK(key_value("attention kv_heads=2 heads=8", "heads") == "8");
  CHECK(key_value("launch_gap", "n").empty());
}
