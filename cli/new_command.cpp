#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "files/shell_quoted.hpp"
#include "packing/options/limits.hpp"
#include "packing/options/token_count.hpp"
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

struct NewArguments {
  JobOptions job;
  std::string gpu;
  std::string out = "my.json";
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
    arguments.job.model = ask("Model (a name, or the path of a config.json)", arguments.job.model);
  if (is_open("--lengths")) arguments.job.lengths = {ask("File of token lengths", "")};
  if (is_open("--cluster") && is_open("--gpu"))
    arguments.job.cluster = ask("Cluster type (packsim list clusters)", arguments.job.cluster);
  if (is_open("--nodes"))
    arguments.job.nodes = answered_number("Nodes", fmt::format("{}", arguments.job.nodes), kMostNodes);
  if (is_open("--trainer"))
    arguments.job.trainer = ask("Trainer (packsim list trainers)", arguments.job.trainer);
  if (arguments.job.trainer == kAnyTrainer && is_open("--profile") && is_open("--stack"))
    arguments.job.stack = answered_stack("other");
}

// What can be asked once the files are read: the default number of tokens follows from them.
void ask_for_training(const CLI::App& command, NewArguments& arguments) {
  const auto is_open = [&](const char* option) { return command.count(option) == 0; };
  if (is_open("--tokens-per-iteration"))
    arguments.job.tokens_per_iteration =
        answered_number("Tokens of an optimizer step", token_count_text(arguments.job.tokens_per_iteration),
                        kMostTokensPerIteration);
  if (is_open("--epochs"))
    arguments.job.epochs =
        answered_number("Epochs", fmt::format("{}", arguments.job.epochs), static_cast<int>(kEpochsKey.most));
  if (is_open("--price")) arguments.job.price = answered_price();
  if (is_open("--out")) arguments.out = ask("Scenario file to write", arguments.out);
}

void write_new(const CLI::App& command, NewArguments arguments, const CommandContext& context) {
  const bool asks = arguments.job.lengths.empty() && can_ask();
  if (asks) ask_for_job(command, arguments);
  if (arguments.job.lengths.empty())
    throw std::invalid_argument(
        "--lengths: expected a file of token lengths, got none; packsim.lengths makes one of your data: "
        "python -m "
        "packsim.lengths DATA --column text --tokenizer tokenizer.json --out lengths.npy");
  const DataPaths data{.root = context.data_root};
  if (!arguments.gpu.empty()) arguments.job.cluster = cluster_with(arguments.gpu, data);
  const JobFiles files = read_job_files(arguments.job, data);
  if (asks) ask_for_training(command, arguments);
  context.outputs.write(arguments.out, new_scenario(new_job(arguments.job, files, arguments.out)));
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
  command->add_option("--model", a->job.model, "Shipped model, model file or Hugging Face config.json")
      ->capture_default_str();
  command->add_option("--lengths", a->job.lengths, "File of token lengths; again for more")
      ->allow_extra_args(false);
  CLI::Option* gpu =
      command->add_option("--gpu", a->gpu, "GPU (packsim list gpus), in the first cluster type that has it");
  command->add_option("--cluster", a->job.cluster, "Cluster type (packsim list clusters), or its file")
      ->capture_default_str()
      ->excludes(gpu);
  command->add_option("--nodes", a->job.nodes, "Nodes of the cluster")
      ->check(CLI::Range(1, kMostNodes))
      ->capture_default_str();
  add_job_options(*command, a->job);
  command->add_option("--price", a->job.price, "What an hour of one GPU costs")->check(positive_check());
  command->add_option("--out", a->out, "File to write")->capture_default_str();
  context.outputs.add_force_option(*command);
  command->callback([a, command, context] { write_new(*command, *a, context); });
}

}  // namespace packsim
