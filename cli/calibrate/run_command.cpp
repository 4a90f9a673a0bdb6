#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "cli/calibrate/commands.hpp"
#include "cli/calibrate/make_plan.hpp"
#include "cli/shared/child_process.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "files/shell_quoted.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  MeasurementListRequest request;
  std::vector<std::string> plans;
  std::string out = "measurements.jsonl";
  std::string with = "microbench";
  std::string program;
  std::string launcher;
  std::vector<std::string> passed_on;
  bool dry_run = false;
};

// Where the microbenchmark is built or installed to, the first place first.
std::string find_microbench(const std::string& given, const std::string& data_root) {
  constexpr const char* kName = "packsim_microbench";
  if (!given.empty()) {
    if (!first_program({given}).empty()) return given;
    throw std::invalid_argument(fmt::format("--program: expected a program, got \"{}\"", given));
  }
  std::vector<std::string> places;
  if (const char* set = std::getenv("PACKSIM_MICROBENCH"); set != nullptr && *set != '\0') {
    if (!first_program({set}).empty()) return set;
    throw std::invalid_argument(fmt::format("PACKSIM_MICROBENCH: expected a program, got \"{}\"", set));
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  places.push_back((self.parent_path() / kName).string());
  places.push_back((fs::path(data_root) / "build-cuda" / kName).string());
  places.push_back((fs::path(data_root) / "build" / kName).string());
  for (const std::string& place : places_on_path(kName)) places.push_back(place);
  const std::string found = first_program(places);
  if (!found.empty()) return found;
  throw std::runtime_error(fmt::format(
      "{} is not there: build it with `make microbench` in {} where nvcc is, name it with --program or "
      "PACKSIM_MICROBENCH, or measure with PyTorch: --with torch",
      kName, data_root));
}

std::string measuring_program(const RunArguments& arguments, const std::string& data_root) {
  if (arguments.with == "microbench") {
    return shell_quoted(find_microbench(arguments.program, data_root));
  }
  const fs::path script = fs::path(data_root) / "calibration" / "steps" / "measure_steps.py";
  // torchrun starts Python itself.
  if (arguments.launcher.find("torchrun") != std::string::npos) return shell_quoted(script.string());
  const std::string python = arguments.program.empty() ? "python3" : arguments.program;
  if (python.find('/') != std::string::npos && first_program({python}).empty()) {
    throw std::invalid_argument(fmt::format("--program: expected a program, got \"{}\"", python));
  }
  return fmt::format("{} {}", shell_quoted(python), shell_quoted(script.string()));
}

// The plans as they are, or one made for the models, beside the measurements.
std::vector<std::string> plan_files(const RunArguments& arguments, const DataPaths& data, Outputs& outputs) {
  if (!arguments.plans.empty()) return arguments.plans;
  const fs::path out(arguments.out);
  const fs::path plan = fs::path(out).replace_extension(".plan.txt");
  std::string description;
  const std::string text = make_plan_text(arguments.request, data, &description);
  if (!arguments.dry_run) outputs.write(plan.string(), text);
  print_out("Plan {}: {}\n", plan.string(), description);
  std::fflush(stdout);
  return {plan.string()};
}

void measure_machine(const RunArguments& arguments, const CommandContext& context) {
  if (arguments.out.empty()) throw std::invalid_argument("--out: expected a file, got \"\"");
  // The shell makes way for the program if there is no launcher, so that signals reach it.
  std::string command = arguments.launcher.empty() ? "exec" : arguments.launcher;
  command += " ";
  command += measuring_program(arguments, context.data_root);
  for (const std::string& plan : plan_files(arguments, {.root = context.data_root}, context.outputs)) {
    command += " --plan " + shell_quoted(plan);
  }
  command += " --out " + shell_quoted(arguments.out);
  for (const std::string& word : arguments.passed_on) command += " " + shell_quoted(word);
  if (arguments.dry_run) {
    print_out("{}\n", command.starts_with("exec ") ? command.substr(5) : command);
    return;
  }
  const int code = run_and_wait(command);
  if (code != 0) throw ExitCode{code};
  print_out("Next: packsim calibrate fit {} --name MY-MACHINE --hardware MY-MACHINE.json\n",
            shell_quoted(arguments.out));
}

}  // namespace

void add_calibrate_run_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand(
      "run", "Measure this machine: starts the microbenchmark (or PyTorch) on a plan; run again, it goes on");
  auto arguments = std::make_shared<RunArguments>();
  add_plan_options(*command, arguments->request);
  command->add_option("--plan", arguments->plans,
                      "Plan file, instead of one made for the models; again for more");
  command->add_option("--out", arguments->out, "Measurement file; what it has already is not measured again")
      ->capture_default_str();
  command->add_option("--with", arguments->with, "microbench (CUDA) or torch (any device that PyTorch has)")
      ->check(member_check({"microbench", "torch"}))
      ->capture_default_str();
  command->add_option("--program", arguments->program, "The microbenchmark, or the Python that has PyTorch");
  command->add_option("--launcher", arguments->launcher,
                      "Put in front: \"mpirun -n 16\", \"srun --ntasks-per-node=8\", for several nodes");
  context.outputs.add_force_option(*command);
  command->add_flag("--dry-run", arguments->dry_run, "Print the command; write and run nothing");
  command->add_option("arguments", arguments->passed_on, "After --: passed on to the measuring program");
  command->callback([arguments, context] { measure_machine(*arguments, context); });
}

}  // namespace packsim
