#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "files/shell_quoted.hpp"
#include "packing/options/limits.hpp"
#include "packing/options/token_count.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/new_scenario.hpp"
#include "scenarios/training_keys.hpp"
#include "scenarios/training_stacks.hpp"

namespace packsim {
namespace {

// Whether there is somebody to ask: standard input and output are a terminal.
bool can_ask() {
  return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

// An empty answer, or the end of the input, is the default. A question without a default is asked again, and
// the end of the input is then a mistake.
std::string ask(const std::string& question, const std::string& fallback) {
  while (true) {
    print_out("{}{}: ", question, fallback.empty() ? "" : fmt::format(" [{}]", fallback));
    std::fflush(stdout);
    std::string answer;
    const bool has_line = static_cast<bool>(std::getline(std::cin, answer));
    if (!answer.empty()) return answer;
    if (!fallback.empty()) return fallback;
    if (!has_line) throw std::invalid_argument(fmt::format("{}: expected an answer, got none", question));
  }
}

constexpr int kMostEpochs = static_cast<int>(kEpochsKey.most);

namespace fs = std::filesystem;

constexpr std::string_view kAnyTrainer = "any";

struct NewArguments {
  std::string model = "llama3.1-8b";
  std::vector<std::string> lengths;
  std::string gpu;
  std::string cluster = "h100-sxm-80gb";
  int nodes = 1;
  std::string trainer = std::string(kAnyTrainer);
  std::string stack = "other";
  std::string profile;                    // empty: the stack's
  std::int64_t tokens_per_iteration = 0;  // 0: of the job
  int epochs = 1;
  double price = 0;  // 0: none
  std::string out = "my.json";
  bool force = false;
};

// The cluster type of the GPU's name, or else the first that has it.
std::string cluster_with(const std::string& gpu, const DataPaths& data) {
  const std::string driver_name = load_gpu(gpu, data).driver_name;
  std::vector<std::string> found;
  for (const std::string& name : names_of(kClusterFiles, data)) {
    if (load_cluster_type(name, data).gpu.driver_name == driver_name) found.push_back(name);
  }
  if (found.empty())
    throw std::invalid_argument(fmt::format(
        "--gpu: expected a GPU of a cluster type (packsim list clusters), got {}, which none has; write a "
        "cluster file and name it with --cluster",
        gpu));
  return std::ranges::find(found, gpu) != found.end() ? gpu : found.front();
}

// A file found from the current folder, as the scenario's folder sees it; a name stays a name.
std::string seen_by_scenario(const std::string& file, const std::string& out) {
  const fs::path folder = fs::absolute(out).parent_path();
  if (fs::path(file).is_absolute() || !fs::exists(file)) return file;
  return fs::proximate(fs::absolute(file), folder).string();
}

std::int64_t default_tokens(const NewArguments& arguments, const Cluster& cluster,
                            std::int64_t longest_tokens) {
  constexpr std::int64_t kTokensPerGpu = 16'384;  // of HBP's job: 512K on 32 GPUs
  const std::int64_t n_gpus = std::int64_t{cluster.gpus_per_node} * arguments.nodes;
  return std::max(kTokensPerGpu * n_gpus, longest_tokens);
}

template <typename T>
T answered_number(const std::string& question, const std::string& fallback, T high) {
  const std::string answer = ask(question, fallback);
  const std::optional<std::int64_t> number = token_count_of(answer);
  if (!number || *number < 1 || *number > high)
    throw std::invalid_argument(fmt::format("{}: expected integer in 1..{}, got {}", question, high, answer));
  return static_cast<T>(*number);
}

// 0: none.
double answered_price() {
  constexpr const char* kQuestion = "Price of a GPU-hour, in any currency (0: no costs)";
  const std::string answer = ask(kQuestion, "0");
  double price = -1;
  const char* const end = answer.data() + answer.size();
  const auto [read_to, error] = std::from_chars(answer.data(), end, price);
  if (error != std::errc() || read_to != end || !std::isfinite(price) || price < 0)
    throw std::invalid_argument(fmt::format("{}: expected number >= 0, got {}", kQuestion, answer));
  return price;
}

const TrainingStack& stack_named(const std::string& name) {
  return *std::ranges::find(kTrainingStacks, name, &TrainingStack::name);
}

std::string stack_list() {
  std::string text;
  for (const TrainingStack& stack : kTrainingStacks)
    text += fmt::format("\n  {}: {}", stack.name, stack.text);
  return text;
}

std::string answered_stack(const std::string& fallback) {
  print_out("What trains the model:{}\n", stack_list());
  std::string answer = ask("Training stack", fallback);
  const std::string mistake = member_check(names_in(kTrainingStacks))(answer);
  if (!mistake.empty()) throw std::invalid_argument("Training stack: " + mistake);
  return answer;
}

void ask_for_job(const CLI::App& command, NewArguments& arguments) {
  const auto is_open = [&](const char* option) { return command.count(option) == 0; };
  if (is_open("--model"))
    arguments.model = ask("Model (a name, or the path of a config.json)", arguments.model);
  if (is_open("--lengths")) arguments.lengths = {ask("File of token lengths", "")};
  if (is_open("--cluster") && is_open("--gpu"))
    arguments.cluster = ask("Cluster type (packsim list clusters)", arguments.cluster);
  if (is_open("--nodes"))
    arguments.nodes = answered_number("Nodes", fmt::format("{}", arguments.nodes), kMostNodes);
  if (is_open("--trainer")) arguments.trainer = ask("Trainer (packsim list trainers)", arguments.trainer);
  if (arguments.trainer == kAnyTrainer && is_open("--profile") && is_open("--stack"))
    arguments.stack = answered_stack(arguments.stack);
}

// What can be asked once the files are read: the default number of tokens follows from them.
void ask_for_training(const CLI::App& command, NewArguments& arguments) {
  const auto is_open = [&](const char* option) { return command.count(option) == 0; };
  if (is_open("--tokens-per-iteration"))
    arguments.tokens_per_iteration =
        answered_number("Tokens of an optimizer step", token_count_text(arguments.tokens_per_iteration),
                        kMostTokensPerIteration);
  if (is_open("--epochs"))
    arguments.epochs = answered_number("Epochs", fmt::format("{}", arguments.epochs), kMostEpochs);
  if (is_open("--price")) arguments.price = answered_price();
  if (is_open("--out")) arguments.out = ask("Scenario file to write", arguments.out);
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

void refuse_existing(const NewArguments& arguments) {
  std::error_code ignored;
  if (arguments.force || !fs::exists(arguments.out, ignored)) return;
  throw std::invalid_argument(
      fmt::format("--out: expected a new file (or --force), got {}, which exists", arguments.out));
}

void write_new(const CLI::App& command, NewArguments arguments, const CommandContext& context) {
  const bool asks = arguments.lengths.empty() && can_ask();
  if (asks) ask_for_job(command, arguments);
  if (arguments.lengths.empty())
    throw std::invalid_argument(
        "--lengths: expected a file of token lengths, got none; packsim.lengths makes one of your data: "
        "python -m "
        "packsim.lengths DATA --column text --tokenizer tokenizer.json --out lengths.npy");
  const DataPaths data{.root = context.data_root};
  load_model(arguments.model, data);
  const Trainer trainer = load_trainer(arguments.trainer, data);
  const bool has_trainer = arguments.trainer != kAnyTrainer;
  if (has_trainer && command.count("--stack") == 0) arguments.stack = trainer.stack;
  const TrainingStack& stack = stack_named(arguments.stack);
  if (arguments.profile.empty()) arguments.profile = stack.profile;
  const ExecutionStyle execution = load_profile(arguments.profile, data).execution;
  if (!arguments.gpu.empty()) arguments.cluster = cluster_with(arguments.gpu, data);
  const Cluster cluster = load_cluster_type(arguments.cluster, data);
  const std::int64_t longest_tokens = longest_tokens_for(longest_sample(arguments.lengths, data));
  if (arguments.tokens_per_iteration == 0)
    arguments.tokens_per_iteration = default_tokens(arguments, cluster, longest_tokens);
  if (asks) ask_for_training(command, arguments);
  refuse_existing(arguments);
  NewJob job{.name = fs::path(arguments.out).stem().string(),
             .model = seen_by_scenario(arguments.model, arguments.out),
             .cluster = seen_by_scenario(arguments.cluster, arguments.out),
             .nodes = arguments.nodes,
             .gpu_hour_price = arguments.price > 0 ? std::optional(arguments.price) : std::nullopt,
             .trainer = has_trainer ? seen_by_scenario(arguments.trainer, arguments.out) : "",
             .limits = has_trainer ? &trainer : nullptr,
             .profile = seen_by_scenario(arguments.profile, arguments.out),
             .parallelism = std::string(stack.parallelism),
             .is_of_slow_host = execution.launch_s > kTorchLaunch_s,
             .tokens_per_iteration = arguments.tokens_per_iteration,
             .epochs = arguments.epochs,
             .lengths = {},
             .longest_tokens = longest_tokens};
  for (const std::string& source : arguments.lengths)
    job.lengths.push_back(seen_by_scenario(source, arguments.out));
  write_output(arguments.out, new_scenario(job));
  print_out(
      "Wrote {}. Change what does not fit your job; its comments say what each key means.\nNext: {} compare "
      "{}\n",
      arguments.out, context.program, shell_quoted(arguments.out));
}

}  // namespace

void add_new_command(CLI::App& app, const CommandContext& context) {
  auto a = std::make_shared<NewArguments>();
  CLI::App* command = app.add_subcommand(
      "new",
      "Write a scenario of your own job, with comments; on a terminal it asks if --lengths is not given");
  command->add_option("--model", a->model, "Shipped model, model file or Hugging Face config.json")
      ->capture_default_str();
  command->add_option("--lengths", a->lengths, "File of token lengths; again for more")
      ->allow_extra_args(false);
  CLI::Option* gpu =
      command->add_option("--gpu", a->gpu, "GPU (packsim list gpus), in the first cluster type that has it");
  command->add_option("--cluster", a->cluster, "Cluster type (packsim list clusters), or its file")
      ->capture_default_str()
      ->excludes(gpu);
  command->add_option("--nodes", a->nodes, "Nodes of the cluster")
      ->check(CLI::Range(1, kMostNodes))
      ->capture_default_str();
  command
      ->add_option("--trainer", a->trainer,
                   "Trainer in which plans have to run (packsim list trainers), or its file; any: every plan "
                   "that packsim knows")
      ->capture_default_str();
  CLI::Option* stack = command
                           ->add_option("--stack", a->stack,
                                        "What trains the model, if --trainer does not say so:" + stack_list())
                           ->check(member_check(names_in(kTrainingStacks)))
                           ->capture_default_str();
  command
      ->add_option("--profile", a->profile,
                   "Framework profile (packsim list profiles), or its file (default: the stack's)")
      ->excludes(stack);
  command
      ->add_option("--tokens-per-iteration", a->tokens_per_iteration,
                   "Tokens of an optimizer step (default: 16K for each GPU, and at least the longest sample)")
      ->transform(token_check(1, kMostTokensPerIteration));
  command->add_option("--epochs", a->epochs, "How often each sample is trained")
      ->check(CLI::Range(1, kMostEpochs))
      ->capture_default_str();
  command->add_option("--price", a->price, "What an hour of one GPU costs")->check(CLI::PositiveNumber);
  command->add_option("--out", a->out, "File to write")->capture_default_str();
  command->add_flag("--force", a->force, "Replace a file that exists");
  command->callback([a, command, context] { write_new(*command, *a, context); });
}

}  // namespace packsim
