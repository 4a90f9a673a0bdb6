#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "calibration/fit/curves/hardware_fit.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using packsim_test::kData;

namespace {

// Published kernels of two GPUs, of the same software or of comparable: each kernel of `to` is predicted from
// what is fitted to `from`, without a row of `to`.
struct Transfer {
  std::string from;       // file of models/gpus
  std::string from_file;  // of calibration/data
  std::string from_library;
  std::string to;
  std::string to_file;
  std::string to_library;
  std::string family;
  bool is_same_software;
};

// Each row compares kernels of one kind of library on two GPUs. MI300X alone is of another maker.
const std::vector<Transfer> kTransfers = {
    {"h100-sxm-80gb", "h100-public-gemm", "vidur", "a100-sxm-80gb", "a100-public-gemm", "vidur", "gemm",
     true},
    {"h100-sxm-80gb", "h100-public-gemm", "vidur", "a40-48gb", "a40-public-gemm", "vidur", "gemm", true},
    {"h100-sxm-80gb", "h100-xla-counterpart-gemm", "xla", "b200-sxm-180gb", "b200-public-gemm", "xla", "gemm",
     true},
    {"h100-sxm-80gb", "h100-public-gemm", "trtllm-1.3.0rc20", "a100-sxm-80gb", "a100-public-gemm",
     "torch-llmcompass", "gemm", false},
    {"h100-sxm-80gb", "h100-public-gemm", "trtllm-1.3.0rc20", "h800-sxm-80gb", "h800-public-gemm", "tilelang",
     "gemm", false},
    {"h100-sxm-80gb", "h100-public-gemm", "trtllm-1.3.0rc20", "mi300x-192gb", "mi300x-public-gemm",
     "primus-turbo", "gemm", false},
    {"h100-sxm-80gb", "h100-public-attention", "fa2-magi", "a100-pcie-80gb", "a100-pcie-public-attention",
     "flash-attention-cudnn-fe", "attention", true},
    {"h100-sxm-80gb", "h100-public-attention", "fa3-magi", "h200-sxm-141gb", "h200-public-attention-2026-09",
     "flash-attention-4-cudnn-fe", "attention", false},
    {"h100-sxm-80gb", "h100-public-attention", "cudnn-magi", "h200-sxm-141gb", "h200-public-attention",
     "cudnn-9.19", "attention", false},
    {"h100-sxm-80gb", "h100-public-attention", "fa3-magi", "gb200-186gb", "gb200-public-attention",
     "flash-attention-4-cudnn-fe", "attention", false},
    {"h100-sxm-80gb", "h100-public-attention", "cudnn-magi", "gb200-186gb", "gb200-public-attention",
     "cudnn-9.19", "attention", false},
    {"h100-sxm-80gb", "h100-public-attention", "fa3-magi", "rtx-pro-6000-server-96gb",
     "rtx-pro-6000-public-attention", "cudnn-9.27", "attention", false},
    {"h100-sxm-80gb", "h100-public-attention", "fa3-magi", "mi300x-192gb", "mi300x-public-attention",
     "primus-turbo", "attention", false},
    {"h100-sxm-80gb", "h100-public-elementwise", "vidur", "a100-sxm-80gb", "a100-public-elementwise", "vidur",
     "elementwise", true},
    {"h100-sxm-80gb", "h100-public-elementwise", "vidur", "a40-48gb", "a40-public-elementwise", "vidur",
     "elementwise", true},
    {"h200-sxm-141gb", "h200-public-elementwise", "cudnn", "gb200-186gb", "gb200-public-elementwise", "cudnn",
     "elementwise", true},
    {"h200-sxm-141gb", "h200-public-elementwise", "torch-compile", "gb200-186gb", "gb200-public-elementwise",
     "torch-compile", "elementwise", true},
    {"h100-sxm-80gb", "h100-public-collectives", "nccl-azure", "a100-sxm-80gb", "a100-public-collectives",
     "nccl-azure", "collective", true},
    {"h100-sxm-80gb", "h100-public-collectives", "nccl-azure", "h200-sxm-141gb", "h200-public-collectives",
     "nccl-azure", "collective", true},
    {"h100-sxm-80gb", "h100-public-collectives", "nccl-2.27.3", "gb200-186gb", "gb200-public-collectives",
     "nccl-azure", "collective", false},
    {"h100-sxm-80gb", "h100-public-collectives", "nccl-aws", "a100-sxm-80gb", "a100-public-collectives",
     "nccl-aws", "collective", true},
    {"h100-sxm-80gb", "h100-public-collectives", "torch-vidur", "a100-sxm-80gb", "a100-public-collectives",
     "torch-vidur", "collective", true},
};

struct Prediction {
  double log_error;  // of predicted over measured
  double relative_error;
  bool is_inside() const { return std::abs(log_error) <= 1.6448536 * relative_error; }
};

Measurements rows_of(const std::string& file, const std::string& library) {
  Measurements rows =
      read_measurements(packsim_test::source_dir() + "/calibration/data/" + file + ".jsonl").measurements;
  std::erase_if(rows.rows, [&](const Measurement& row) { return row.library != library; });
  return rows;
}

std::vector<Prediction> predict(const Transfer& transfer) {
  const Gpu from = load_gpu(transfer.from, kData);
  const Measurements measured = rows_of(transfer.from_file, transfer.from_library);
  const HardwareProfile profile = fit_hardware_profile(measured).profile;
  const Measurements rows = rows_of(transfer.to_file, transfer.to_library);
  std::vector<Prediction> predictions;
  for (const Measurement& row : rows.rows) {
    const Gpu to = load_gpu(transfer.to, kData);
    Cluster cluster{.name = "", .source = "", .gpu = to, .nodes = 2, .gpus_per_node = 8};
    cluster.network.nvlink_bytes_per_s = to.nvlink_bytes_per_s.value();
    cluster.network.nics_per_node = 8;
    cluster.network.nic_bytes_per_s = rows.source_of(row).nic_bytes_per_s_of_gpu().value_or(0);
    const KernelTime time = kernel_time(transfer_profile(profile, from, cluster), row.kernel);
    if (time.evidence == Evidence::missing) continue;
    predictions.push_back({std::log(time.time_s / row.median_s()), time.relative_error});
  }
  return predictions;
}

double median_of(std::vector<double> values) {
  REQUIRE_FALSE(values.empty());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Summary {
  std::size_t n = 0;
  double median_log = 0;    // of predicted over measured
  double median_error = 0;  // of its absolute value
  double inside = 0;        // the share in the 90 % interval
};

Summary summary_of(const std::vector<Prediction>& all) {
  std::vector<double> logs;
  std::vector<double> errors;
  for (const Prediction& one : all) {
    logs.push_back(one.log_error);
    errors.push_back(std::abs(one.log_error));
  }
  const auto n_inside = static_cast<double>(std::ranges::count_if(all, &Prediction::is_inside));
  return {all.size(), median_of(logs), median_of(errors), n_inside / static_cast<double>(all.size())};
}

bool is_of_other_maker(const Transfer& transfer) {
  return transfer.to == "mi300x-192gb";
}

// Of all transfers of a family between GPUs of one maker.
Summary of_family(const std::string& family) {
  std::vector<Prediction> all;
  for (const Transfer& transfer : kTransfers) {
    if (transfer.family != family || is_of_other_maker(transfer)) continue;
    std::ranges::copy(predict(transfer), std::back_inserter(all));
  }
  return summary_of(all);
}

}  // namespace

TEST_CASE("Kernels transferred to GPUs that were left out are near what was measured there") {
  CHECK(of_family("gemm").median_error < 0.12);
  CHECK(of_family("attention").median_error < 0.15);
  for (const char* family : {"gemm", "attention", "elementwise", "collective"}) {
    CAPTURE(family);
    CHECK(of_family(family).inside >= 0.85);
  }
}

TEST_CASE("A transfer to another maker's GPU says how little is known") {
  for (const Transfer& transfer : kTransfers) {
    if (!is_of_other_maker(transfer)) continue;
    const Summary summary = summary_of(predict(transfer));
    CHECK(summary.median_error > 0.4);  // what docs/accuracy/transfer.md reports as missed
    CHECK(summary.inside >= 0.85);
  }
}

// The table of docs/accuracy/transfer.md.
TEST_CASE("Print the transfers between GPUs", "[.transfers]") {
  for (const Transfer& transfer : kTransfers) {
    const Summary summary = summary_of(predict(transfer));
    std::printf("| %s | %s | %s, %s | %zu | %+.0f %% | %.0f %% | %.0f %% |\n", transfer.to.c_str(),
                transfer.family.c_str(), transfer.from.c_str(),
                transfer.is_same_software ? "same software" : "comparable software", summary.n,
                100 * std::expm1(summary.median_log), 100 * std::expm1(summary.median_error),
                100 * summary.inside);
  }
  for (const char* family : {"gemm", "attention", "elementwise", "collective"}) {
    const Summary summary = of_family(family);
    std::printf("| all of one maker | %s | | %zu | %+.0f %% | %.0f %% | %.0f %% |\n", family, summary.n,
                100 * std::expm1(summary.median_log), 100 * std::expm1(summary.median_error),
                100 * summary.inside);
  }
}
