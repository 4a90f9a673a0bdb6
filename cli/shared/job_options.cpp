#include "cli/shared/job_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "cli/shared/member_check.hpp"
#include "packing/options/limits.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/training_keys.hpp"
#include "scenarios/training_stacks.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

// A file found from the current folder, as the scenario's folder sees it; a name stays a name.
std::string seen_by_scenario(const std::string& file, const std::string& out) {
  const fs::path folder = fs::absolute(out).parent_path();
  if (fs::path(file).is_absolute() || !fs::exists(file)) return file;
  return fs::proximate(fs::absolute(file), folder).string();
}

std::int64_t default_tokens(const JobOptions& job, const Cluster& cluster, std::int64_t longest_tokens) {
  constexpr std::int64_t kTokensPerGpu = 16'384;  // of HBP's job: 512K on 32 GPUs
  const std::int64_t n_gpus = std::int64_t{job.gpus_per_node.value_or(cluster.gpus_per_node)} * job.nodes;
  return std::max(kTokensPerGpu * n_gpus, longest_tokens);
}

const TrainingStack& stack_named(const std::string& name) {
  return *std::ranges::find(kTrainingStacks, name, &TrainingStack::name);
}

std::int64_t longest_sample(const std::vector<std::string>& lengths, const DataPaths& data) {
  std::int64_t longest_tokens = 1;
  for (const std::string& source : lengths) {
    const FoundFile file = find_lengths_file(source, "", data);
    if (is_standard_input(source))
      throw std::invalid_argument(
          "--lengths: expected a file, which the scenario can name, got standard input");
    const std::vector<std::int32_t> lengths_tokens = read_lengths(file.found() ? file.path : source);
    longest_tokens = std::max<std::int64_t>(longest_tokens, std::ranges::max(lengths_tokens));
  }
  return longest_tokens;
}

}  // namespace

std::string stack_list() {
  std::string text;
  for (const TrainingStack& stack : kTrainingStacks)
    text += fmt::format("\n  {}: {}", stack.name, stack.text);
  return text;
}

void add_job_options(CLI::App& command, JobOptions& job) {
  command
      .add_option("--trainer", job.trainer,
                  "Trainer in which plans have to run (packsim list trainers), or its file; any: every plan "
                  "that packsim knows")
      ->capture_default_str();
  CLI::Option* stack =
      command
          .add_option("--stack", job.stack,
                      "What trains the model, if --trainer does not say so (default: other):" + stack_list())
          ->check(member_check(names_in(kTrainingStacks)));
  command
      .add_option("--profile", job.profile,
                  "Framework profile (packsim list profiles), or its file (default: the stack's)")
      ->excludes(stack);
  command
      .add_option("--tokens-per-iteration", job.tokens_per_iteration,
                  "Tokens of an optimizer step (default: 16K for each GPU, and at least the longest sample)")
      ->transform(token_check(1, kMostTokensPerIteration));
  command.add_option("--epochs", job.epochs, "How often each sample is trained")
      ->check(CLI::Range(1, static_cast<int>(kEpochsKey.most)))
      ->capture_default_str();
}

JobFiles read_job_files(JobOptions& job, const DataPaths& data) {
  const bool has_experts = load_model(job.model, data).has_experts();
  JobFiles files{.trainer = load_trainer(job.trainer, data), .execution = {}, .parallelism = {}};
  if (job.stack.empty()) job.stack = job.trainer == kAnyTrainer ? "other" : files.trainer.stack;
  const TrainingStack& stack = stack_named(job.stack);
  files.parallelism = stack.keys(has_experts);
  if (job.profile.empty()) job.profile = stack.profile;
  files.execution = load_profile(job.profile, data).execution;
  const Cluster cluster = load_cluster_type(job.cluster, data);
  files.longest_tokens = longest_tokens_for(longest_sample(job.lengths, data));
  if (job.tokens_per_iteration == 0)
    job.tokens_per_iteration = default_tokens(job, cluster, files.longest_tokens);
  return files;
}

NewJob new_job(const JobOptions& job, const JobFiles& files, const std::string& out) {
  const bool has_trainer = job.trainer != kAnyTrainer;
  NewJob made{.name = fs::path(out).stem().string(),
              .model = seen_by_scenario(job.model, out),
              .cluster = seen_by_scenario(job.cluster, out),
              .nodes = job.nodes,
              .gpus_per_node = job.gpus_per_node,
              .gpu_hour_price = job.price > 0 ? std::optional(job.price) : std::nullopt,
              .trainer = has_trainer ? seen_by_scenario(job.trainer, out) : "",
              .limits = has_trainer ? &files.trainer : nullptr,
              .profile = seen_by_scenario(job.profile, out),
              .parallelism = files.parallelism,
              .is_of_slow_host = files.execution.launch_s > kTorchLaunch_s,
              .tokens_per_iteration = job.tokens_per_iteration,
              .epochs = job.epochs,
              .lengths = {},
              .longest_tokens = files.longest_tokens};
  for (const std::string& source : job.lengths) made.lengths.push_back(seen_by_scenario(source, out));
  return made;
}

}  // namespace packsim
