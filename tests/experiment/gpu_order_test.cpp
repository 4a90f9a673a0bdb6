#include <catch2/catch.hpp>
#include <map>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using packsim_test::kData;

namespace {

// A small part of the hybrid job on 32 GPUs, with each strategy at its best plan.
Scenario job_on(const TempFolder& folder, const std::string& cluster) {
  return load_scenario(folder.write(cluster + ".json", R"({"format": 1, "name": "job", "model": "llama3.1-8b",
    "cluster": {"type": ")" + cluster + R"(", "nodes": 4}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 524288, "epochs": 1, "zero_stage": 1},
    "lengths": {"mix": [{"source": "tulu3_like_939344.npy", "count": 10000},
                        {"source": "longcite_like_2k.csv", "count": 50}]},
    "packing": {"over_long": "error", "last_iteration": "shorten", "virtual_stage_counts": [1], "checkpointing_kinds": ["full"], "offloads": ["none"]},
    "strategies": [{"strategy": "isf", "plan": "auto", "zero_stages": [1, 3], "capacity_tokens": 131072},
                   {"strategy": "hbp", "plan": "auto", "zero_stages": [1, 3], "capacity_tokens": 131072}]})"),
                       kData);
}

}  // namespace

TEST_CASE("The hybrid job takes as many GPU-days on other GPUs as their generation suggests", "[plain]") {
  const TempFolder folder;
  std::map<std::string, Report> reports;
  for (const char* cluster : {"h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb", "b200-sxm-180gb"})
    reports.emplace(cluster, compare_strategies(job_on(folder, cluster)));
  for (std::size_t run = 0; run < 2; ++run) {
    const auto gpu_days = [&](const char* cluster) { return reports.at(cluster).runs[run].times->gpu_days; };
    const double h100 = gpu_days("h100-sxm-80gb");
    CAPTURE(reports.at("h100-sxm-80gb").runs[run].name);
    CHECK(gpu_days("h200-sxm-141gb") <= h100);
    CHECK(gpu_days("a100-sxm-80gb") / h100 > 1.8);
    CHECK(gpu_days("a100-sxm-80gb") / h100 < 3.5);
    CHECK(gpu_days("b200-sxm-180gb") / h100 > 0.35);
    CHECK(gpu_days("b200-sxm-180gb") / h100 < 0.65);
    // What nobody measured has a wider interval.
    const auto width = [&](const char* cluster) {
      const RunTimes& times = *reports.at(cluster).runs[run].times;
      return times.gpu_days_high / times.gpu_days_low;
    };
    for (const char* cluster : {"h200-sxm-141gb", "a100-sxm-80gb", "b200-sxm-180gb"})
      CHECK(width(cluster) > 1.1 * width("h100-sxm-80gb"));
  }
}

TEST_CASE("A profile of a GPU without a data sheet is refused on other GPUs") {
  const TempFolder folder;
  std::string profile = folder.write("h.json", R"({"format": 1, "name": "h", "gpu": "Maker X1",
    "point": ["size", "time_s", "relative_error", "n_rows"], "number": ["value", "standard_error"],
    "sources": [{"id": "", "gpu": "Maker X1"}], "models": [], "curves": [], "unused": []})");
  const std::string path = folder.write("job.json", R"({"format": 1, "name": "job", "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100", "hardware": ")" +
                                                        profile + R"(",
    "training": {"tokens_per_iteration": 524288},
    "lengths": {"mix": [{"source": "longcite_like_2k.csv", "count": 50}]},
    "strategies": [{"strategy": "isf", "capacity_tokens": 131072, "sp_degree": 8}]})");
  CHECK_THROWS_WITH(
      load_scenario(path, kData),
      Catch::Matchers::Contains("/hardware: expected kernels of NVIDIA H100 80GB HBM3, or of a GPU "
                                "with a file in models/gpus, got h, measured on Maker X1"));
}
