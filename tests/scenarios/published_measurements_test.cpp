#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

std::vector<std::string> files_of(const std::string& folder, const std::string& extension) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(packsim_test::source_dir() + "/" + folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

const std::vector<std::string> kMeasurementFiles = files_of("calibration/data", ".jsonl");

std::map<std::string, Gpu> gpus_by_driver_name() {
  std::map<std::string, Gpu> gpus;
  for (const std::string& name : names_of(kGpuFiles, packsim_test::kData)) {
    const Gpu gpu = load_gpu(name, packsim_test::kData);
    gpus.emplace(gpu.driver_name, gpu);
  }
  return gpus;
}

// Bytes that one GPU must receive over its link in a collective within a node. A switch that adds can halve
// an all-reduce: each GPU then sends and receives the buffer once.
double least_link_bytes(const KernelCase& kernel) {
  const double n_gpus = kernel.number("gpus");
  const std::string& op = kernel.value("op");
  const bool is_whole = op == "all_reduce" || op == "send_recv";
  return kernel_bytes(kernel) * (is_whole ? 1.0 : (n_gpus - 1) / n_gpus);
}

// Fraction of the memory's rate at which a kernel's bytes pass. Those of hot kernels may stay in the L2
// cache.
double fraction_of_memory_rate(const Measurement& row, const Gpu& gpu) {
  return kernel_bytes(row.kernel) / row.median_s() / gpu.memory_bytes_per_s.value();
}

// How much of what the data sheet states a kernel reaches, as a fraction: of the peak, and of the rate of the
// memory or link that its bytes have to cross. Those of hot kernels need not.
double fraction_of_data_sheet(const Measurement& row, const MeasurementSource& source, const Gpu& gpu) {
  const bool is_fp8 = row.kernel.kernel() == "gemm" && row.kernel.value("dtype") != "bf16";
  const double peak_flop_per_s = gpu.peak(is_fp8 ? "fp8" : "bf16").value();
  const double peak_fraction = kernel_flop(row.kernel) / row.median_s() / peak_flop_per_s;

  const std::string_view kernel = row.kernel.kernel();
  if (kernel == "collective") {
    const double nvlink = gpu.nvlink_bytes_per_s.value();
    const double bytes_per_s = nvlink > 0 ? nvlink : gpu.pcie_bytes_per_s.value();
    if (row.kernel.integer("nodes") == 1) return least_link_bytes(row.kernel) / row.median_s() / bytes_per_s;
    // The cards of a node carry at least what the other nodes have. Not every source states their rate.
    const std::optional<double> nic = source.nic_bytes_per_s_of_gpu();
    const double nodes = row.kernel.number("nodes");
    const double of_node = row.kernel.number("gpus") / nodes;
    const double passing = row.kernel.value("op") == "send_recv" ? 1 : (nodes - 1) / nodes;
    return nic ? kernel_bytes(row.kernel) * passing / row.median_s() / (of_node * *nic) : 0;
  }
  const bool is_local = kernel == "gemm" || kernel == "elementwise";
  if (!is_local || row.kernel.value("cache") == "hot") return peak_fraction;
  return std::max(peak_fraction, fraction_of_memory_rate(row, gpu));
}

}  // namespace

TEST_CASE("Published measurements name repository, commit, file and a permissive licence") {
  const std::set<std::string> permissive = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "MIT-0"};
  const std::regex repository_commit_file("[A-Za-z0-9._-]+/[A-Za-z0-9._-]+@[0-9a-f]{10}:.+");
  REQUIRE(kMeasurementFiles.size() >= 26);
  for (const std::string& path : kMeasurementFiles) {
    CAPTURE(path);
    const MeasurementFile file = read_measurements(path);
    CHECK(file.warnings.empty());
    CHECK(file.measurements.complete);
    std::set<std::string> gpus;
    for (const MeasurementSource& source : file.measurements.sources) {
      CAPTURE(source.id);
      gpus.insert(source.gpu);
      CHECK(permissive.contains(source.licence));
      CHECK(std::regex_match(source.provenance, repository_commit_file));
    }
    CHECK(gpus.size() == 1);
    for (const Measurement& row : file.measurements.rows) {
      if (row.samples_s.size() == 1 && row.flags.front() == "published") continue;
      FAIL_CHECK(row.place << ": expected one sample, flagged published first");
    }
  }
}

TEST_CASE("The table of measurement files names every file with its number of rows") {
  std::ifstream readme(packsim_test::source_dir() + "/calibration/data/README.md");
  const std::regex table_row(R"(\| ([a-z0-9-]+\.jsonl) \| [^|]+ \| (\d+) \| .*)");
  std::map<std::string, std::size_t> n_rows_by_file;
  std::smatch match;
  for (std::string line; std::getline(readme, line);) {
    if (std::regex_match(line, match, table_row)) n_rows_by_file[match[1]] = std::stoul(match[2]);
  }
  CHECK(n_rows_by_file.size() == kMeasurementFiles.size());
  for (const std::string& path : kMeasurementFiles) {
    const std::string name = std::filesystem::path(path).filename().string();
    CAPTURE(name);
    CHECK(n_rows_by_file[name] == read_measurements(path).measurements.rows.size());
  }
}

TEST_CASE("Counterparts of other GPUs' rows stay out of the files that the H100's profiles take") {
  for (const std::string& path : kMeasurementFiles) {
    const std::string name = std::filesystem::path(path).filename().string();
    CAPTURE(name);
    const bool is_counterpart = name.find("-counterpart-") != std::string::npos;
    CHECK(is_counterpart != (name.find("-public-") != std::string::npos));
  }
}

TEST_CASE("Matrix products in fp8 are in files of their own") {
  for (const std::string& path : kMeasurementFiles) {
    const bool is_fp8_file = path.find("-fp8-") != std::string::npos;
    const Measurements measurements = read_measurements(path).measurements;
    for (const MeasurementSource& source : measurements.sources) {
      CAPTURE(path, source.id);
      const auto dtype = source.details.find("dtype");
      CHECK((dtype != source.details.end() && dtype->second.starts_with("fp8")) == is_fp8_file);
    }
    for (const Measurement& row : measurements.rows) {
      if (row.kernel.kernel() == "gemm") CHECK((row.kernel.value("dtype") != "bf16") == is_fp8_file);
    }
  }
}

TEST_CASE("No published kernel is faster than its GPU's data sheet allows") {
  const std::map<std::string, Gpu> gpus = gpus_by_driver_name();
  for (const std::string& path : kMeasurementFiles) {
    const Measurements measurements = read_measurements(path).measurements;
    std::map<std::string, MeasurementSource> sources;
    for (const MeasurementSource& source : measurements.sources) sources[source.id] = source;
    double fastest_fraction = 0;
    for (const Measurement& row : measurements.rows) {
      const MeasurementSource& source = sources.at(row.source);
      CAPTURE(row.place, source.gpu);
      REQUIRE(gpus.contains(source.gpu));
      const Gpu& gpu = gpus.at(source.gpu);
      const double fraction = fraction_of_data_sheet(row, source, gpu);
      if (fraction > 1) FAIL_CHECK("reaches " << fraction << " of the data sheet");
      fastest_fraction = std::max(fastest_fraction, fraction);
      if (row.kernel.kernel() == "elementwise")
        fastest_fraction = std::max(fastest_fraction, fraction_of_memory_rate(row, gpu));
    }
    CAPTURE(path);
    CHECK(fastest_fraction > 0.3);  // a slip of a power of ten would leave it under 0.1
  }
}

TEST_CASE("Data sheets of GPUs agree with themselves and name their sources") {
  const std::vector<std::string> names = names_of(kGpuFiles, packsim_test::kData);
  REQUIRE(names.size() >= 16);
  CHECK(gpus_by_driver_name().size() == names.size());  // no GPU twice
  for (const std::string& name : names) {
    CAPTURE(name);
    const Gpu gpu = load_gpu(name, packsim_test::kData);
    CHECK(gpu.name == name);
    CHECK(gpu.source.size() > 40);
    CHECK(gpu.power_w);
    CHECK((gpu.nvlink_bytes_per_s.value() > 0 || gpu.pcie_bytes_per_s.value() > 0));
    const double bf16 = gpu.peak("bf16").value();
    CHECK(gpu.peak("fp16") == bf16);
    // Half the width, twice the rate; makers round the decimals.
    if (gpu.peak("tf32")) CHECK(*gpu.peak("tf32") == Approx(bf16 / 2).epsilon(0.02));
    if (gpu.peak("fp8")) CHECK(*gpu.peak("fp8") == Approx(bf16 * 2).epsilon(0.02));
    CHECK(gpu.peak("mxfp8").value_or(bf16 * 2) == Approx(bf16 * 2).epsilon(0.02));
    CHECK(gpu.peak("nvfp4").value_or(bf16 * 4) >= bf16 * 3.99);
  }
}

TEST_CASE("Three tables of an all-gather over the same network agree") {
  std::vector<double> gib_s;
  const std::string path = packsim_test::source_dir() + "/calibration/data/h200-public-network.jsonl";
  for (const Measurement& row : read_measurements(path).measurements.rows) {
    if (row.kernel.value("op") == "all_gather" && row.kernel.integer("bytes") == 1 << 30)
      gib_s.push_back(row.median_s());
  }
  REQUIRE(gib_s.size() == 3);
  const auto [least, most] = std::minmax_element(gib_s.begin(), gib_s.end());
  CHECK(*most / *least < 1.01);
}
