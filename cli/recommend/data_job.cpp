#include "cli/recommend/data_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "cli/shared/child_process.hpp"
#include "cli/shared/pythons.hpp"
#include "files/shell_quoted.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

// Kinds of files that only the Python package reads.
constexpr std::array<std::string_view, 7> kMeasured = {".parquet", ".arrow", ".ndjson", ".gz",
                                                       ".zst",     ".tar",   ".npz"};

std::string extension_of(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_of_samples(const std::string& path) {
  return is_folder(path) || std::ranges::find(kMeasured, extension_of(path)) != kMeasured.end();
}

bool is_measured(const std::string& path, const DataOptions& options) {
  return is_of_samples(path) || !options.tokenizer.empty() || !options.column.empty();
}

// The model's own tokenizer, beside its config.json.
std::string tokenizer_of(const DataOptions& options) {
  if (!options.tokenizer.empty() || !options.column.empty()) return options.tokenizer;
  const fs::path beside = fs::path(options.model).parent_path() / "tokenizer.json";
  std::error_code ignored;
  return options.model.find('/') != std::string::npos && fs::exists(beside, ignored) ? beside.string() : "";
}

// A Python that has the package.
std::string python_with_package() {
  const std::vector<std::string> pythons = python_interpreters("");
  for (const std::string& python : pythons) {
    if (run_with_input(python, {"-c", "import packsim.lengths"}, "").exit_code == 0) return python;
  }
  throw std::runtime_error(
      "data that are no file of lengths are measured by packsim's Python package, which no Python here has: "
      "`make python` in the source tree installs it, or name one that has it in PACKSIM_PYTHON");
}

constexpr const char* kJob = "job.json";
constexpr const char* kLengths = "lengths.npy";

std::string measured_lengths(const std::string& path, const DataOptions& options, const std::string& folder,
                             Outputs& outputs) {
  std::string out = folder + kLengths;
  std::string command =
      fmt::format("{} -m packsim.lengths {} --out {} --cache {}", shell_quoted(python_with_package()),
                  shell_quoted(path), shell_quoted(out), shell_quoted(folder + "lengths-cache"));
  if (const std::string tokenizer = tokenizer_of(options); !tokenizer.empty())
    command += " --tokenizer " + shell_quoted(tokenizer);
  if (!options.column.empty()) command += " --column " + shell_quoted(options.column);
  fs::create_directories(folder);
  if (const int code = run_and_wait(command + " >/dev/null"); code != 0) throw ExitCode{code};
  outputs.add_written(folder, kLengths);
  return out;
}

// The smallest cluster that is asked for.
void set_cluster(const std::vector<ClusterOffer>& offers, const DataPaths& data, JobOptions& job) {
  int fewest = 0;
  for (const ClusterOffer& offer : offers) {
    const int nodes = offer.node_counts.empty() ? 1 : offer.node_counts.front();
    const int of_type = load_cluster_type(offer.type, data).gpus_per_node;
    const int of_node = offer.gpus_per_node.value_or(of_type);
    if (fewest > 0 && nodes * of_node >= fewest) continue;
    fewest = nodes * of_node;
    job.cluster = offer.type;
    job.nodes = nodes;
    job.gpus_per_node = of_node < of_type ? std::optional(of_node) : std::nullopt;
    job.price = offer.gpu_hour_price.value_or(0);
  }
}

}  // namespace

bool is_data(const std::string& path, const DataOptions& options) {
  if (is_standard_input(path)) return false;
  if (extension_of(path) == ".json") return !options.model.empty();
  return is_lengths_file(path) || is_of_samples(path);
}

void require_model_and_gpus(const DataOptions& options, const std::vector<ClusterOffer>& offers) {
  if (options.model.empty())
    throw std::invalid_argument(
        "--model: expected the model that is trained on the data: a name of `packsim list models`, or the "
        "path of a Hugging Face config.json");
  if (offers.empty())
    throw std::invalid_argument("--gpus: expected what may be booked, such as 8xH100,16xH100=2.5");
}

std::vector<std::string> job_names(const std::string& path, const DataOptions& options) {
  return is_measured(path, options) ? std::vector<std::string>{kJob, kLengths}
                                    : std::vector<std::string>{kJob};
}

std::string write_job_of_data(const std::string& path, DataOptions options,
                              const std::vector<ClusterOffer>& offers, const std::string& folder,
                              const CommandContext& context) {
  const DataPaths data{.root = context.data_root};
  JobOptions& job = options.job;
  job.model = options.model;
  job.lengths = {is_measured(path, options) ? measured_lengths(path, options, folder, context.outputs)
                                            : path};
  set_cluster(offers, data, job);
  const JobFiles files = read_job_files(job, data);
  const std::string scenario = folder + kJob;
  NewJob made = new_job(job, files, scenario);
  made.name = fs::path(path).filename().stem().string();
  made.is_short = true;
  context.outputs.write(folder, {{kJob, new_scenario(made)}});
  return scenario;
}

}  // namespace packsim
