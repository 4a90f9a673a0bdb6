#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/narrow_gemm_time.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using packsim_test::kData;

namespace {

struct Fp8Prediction {
  double log_error = 0;  // of predicted over published
  double relative_error = 0;
};

// Products of as many rows as training has. By library.
std::map<std::string, std::vector<Fp8Prediction>> predict_fp8(const std::string& gpu,
                                                              const std::string& file) {
  Cluster cluster{.name = "", .source = "", .gpu = load_gpu(gpu, kData), .nodes = 1, .gpus_per_node = 8};
  const HardwareProfile profile = profile_on(load_hardware_profile("h100-sxm-public", kData), cluster);
  GemmShapes shapes(profile);
  std::map<std::string, std::vector<Fp8Prediction>> predictions;
  const std::string path = packsim_test::source_dir() + "/calibration/data/" + file + ".jsonl";
  for (const Measurement& row : read_measurements(path).measurements.rows) {
    if (row.kernel.integer("m") < 1024) continue;
    const KernelTime time = narrow_gemm_time(profile, cluster.gpu, row.kernel, shapes);
    CHECK(time.evidence >= Evidence::extrapolated);
    predictions[row.library].push_back({std::log(time.time_s / row.median_s()), time.relative_error});
  }
  return predictions;
}

// How much faster a product in fp8 is than the same in bf16, predicted over measured by one program in one
// run.
std::map<std::string, std::vector<Fp8Prediction>> predict_fp8_gains(const std::string& gpu,
                                                                    const std::string& name) {
  const HardwareProfile profile = load_hardware_profile(name + "-measured", kData);
  GemmShapes shapes(profile);
  const std::string path = packsim_test::source_dir() + "/calibration/measured/" + name + "-pytorch.jsonl";
  std::map<std::string, double> bf16_s;
  std::map<std::string, std::vector<Fp8Prediction>> predictions;
  for (const Measurement& row : read_measurements(path).measurements.rows) {
    if (row.kernel.kernel() != "gemm") continue;
    if (row.kernel.value("dtype") == "bf16") {
      bf16_s[row.kernel.text()] = row.median_s();
      continue;
    }
    const KernelCase in_bf16 = row.kernel.with("dtype", "bf16");
    const KernelTime fp8 = narrow_gemm_time(profile, load_gpu(gpu, kData), row.kernel, shapes);
    const double predicted = fp8.time_s / kernel_time(profile, in_bf16, shapes).time_s;
    const double gain = row.median_s() / bf16_s.at(in_bf16.text());
    predictions[row.kernel.value("dtype")].push_back({std::log(predicted / gain), fp8.relative_error});
  }
  return predictions;
}

double median_log(std::vector<Fp8Prediction> predictions) {
  REQUIRE_FALSE(predictions.empty());
  std::ranges::sort(predictions, {}, &Fp8Prediction::log_error);
  return predictions[predictions.size() / 2].log_error;
}

}  // namespace

// The rule is fitted to the rows of H200 and H800; those of the GB200 are predicted.
TEST_CASE("The rule for products in fp8 comes near the published ones of each library") {
  const auto h200 = predict_fp8("h200-sxm-141gb", "h200-fp8-public-gemm");
  const auto h800 = predict_fp8("h800-sxm-80gb", "h800-fp8-public-gemm");
  const auto gb200 = predict_fp8("gb200-186gb", "gb200-fp8-public-gemm");
  for (const auto& [library, most] : std::map<std::string, double>{
           {"cublaslt-azure-fp8", 0.1}, {"tilelang-fp8", 0.1}, {"deepgemm", 0.12}}) {
    CAPTURE(library);
    const auto& of = h200.contains(library) ? h200 : h800;
    CHECK(std::abs(median_log(of.at(library))) < most);
  }
  CHECK(std::abs(median_log(gb200.at("cublaslt-azure-fp8"))) < 0.15);
}

// No number was fitted to these rows.
TEST_CASE("The rule for products in fp8 gives the gain over bf16 that an H100 and an H200 showed") {
  for (const auto& [gpu, name] :
       std::map<std::string, std::string>{{"h100-sxm-80gb", "h100"}, {"h200-sxm-141gb", "h200"}}) {
    const auto predictions = predict_fp8_gains(gpu, name);
    REQUIRE(predictions.size() == 2);
    CHECK(predictions.at("fp8").size() == 16);
    CHECK(predictions.at("fp8_block").size() == 10);
    for (const auto& [dtype, rows] : predictions) {
      CAPTURE(name, dtype, median_log(rows));
      CHECK(std::abs(median_log(rows)) < 0.12);
      const auto inside = std::ranges::count_if(rows, [](const Fp8Prediction& row) {
        return std::abs(row.log_error) < 1.645 * row.relative_error;
      });
      CHECK(10 * inside >= 9 * static_cast<std::ptrdiff_t>(rows.size()));
    }
  }
}

// A large product is nearly all flop: 2^-.82 and 4^-.82 of its time in bf16.
TEST_CASE("A Blackwell GPU multiplies faster in mxfp8 and in nvfp4, by the peaks of its file") {
  Cluster cluster{
      .name = "", .source = "", .gpu = load_gpu("gb200-186gb", kData), .nodes = 1, .gpus_per_node = 4};
  const HardwareProfile profile = profile_on(load_hardware_profile("h100-sxm-public", kData), cluster);
  GemmShapes shapes(profile);
  const auto product = [&](const std::string& dtype) {
    const KernelCase kernel = KernelCase::of("gemm", {"16384", "16384", "16384", "tn", "hot", dtype});
    return known_kernel_time(profile, cluster.gpu, kernel, shapes);
  };
  const double bf16_s = product("bf16").time_s;
  CHECK(product("mxfp8").time_s / bf16_s == Approx(std::pow(2, -0.82)).epsilon(0.02));
  CHECK(product("nvfp4").time_s / bf16_s == Approx(std::pow(4, -0.82)).epsilon(0.02));
  CHECK(product("fp8").relative_error < product("mxfp8").relative_error);
  CHECK(product("mxfp8").relative_error < product("nvfp4").relative_error);
}
