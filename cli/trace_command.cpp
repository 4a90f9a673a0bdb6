#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <set>

#include "cli/commands.hpp"
#include "cli/shared/free_memory.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "experiment/costs/warnings.hpp"
#include "experiment/trace_strategy.hpp"
#include "models/plan/plan_text.hpp"
#include "reports/formats/chrome_trace.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using formats_detail::grouped;

struct TraceArguments {
  ScenarioArgument scenario;
  std::string strategy;
  std::string iteration = "median";
  std::string out = "packsim-trace.json";
  int ranks = 0;
  std::size_t steps = 1;
  bool quiet = false;
};

TracedIteration traced_iteration(const std::string& text) {
  if (text == "median") return TracedBy::median;
  if (text == "slowest") return TracedBy::slowest;
  std::size_t iteration = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), iteration);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format(
        "--iteration: expected median, slowest or the number of an iteration from 0, got \"{}\"", text));
  }
  return iteration;
}

std::size_t n_shown(const TracedStep& step, int n_ranks) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.ops, [&](const TracedOp& op) { return step.lanes[op.rank].rank < n_ranks; }));
}

// "16384 tokens, SP 1 and 131072 tokens, SP 8"
std::string packs_text(const PlannedStrategy& plan, const Iteration& iteration) {
  std::set<std::size_t> groups;
  for (const PlacedPack& placed : plan.schedule.packs(iteration)) groups.insert(placed.group);
  std::string text;
  for (const std::size_t g : groups) {
    text += text.empty() ? "" : " and ";
    text += group_text(plan.groups[g].capacity_tokens, plan.plans[g]);
  }
  return text;
}

int ranks_of(const TracedStep& step) {
  return step.lanes.back().rank + 1;
}

void print_step(const TraceArguments& arguments, const PlannedStrategy& plan, const StrategyStep& traced) {
  const auto& [iteration, step, memory] = traced;
  const int all_ranks = ranks_of(step);
  const int n_ranks = arguments.ranks == 0 ? all_ranks : std::min(arguments.ranks, all_ranks);
  print_out("{}: iteration {} of {}, packs of {}: {:.3g} s\n", arguments.strategy,
            grouped(static_cast<std::int64_t>(iteration)),
            grouped(static_cast<std::int64_t>(plan.schedule.iterations.size())),
            packs_text(plan, plan.schedule.iterations[iteration]), to_seconds(step.end - step.start));
  const auto [fewest, most] = std::ranges::minmax(step.lanes, {}, &TracedLane::n_gpus);
  const std::string gpus = fewest.n_gpus == most.n_gpus ? fmt::format("{}", most.n_gpus)
                                                        : fmt::format("{} to {}", fewest.n_gpus, most.n_gpus);
  print_out("{} operations of {} of its {} data-parallel ranks{}\n",
            grouped(static_cast<std::int64_t>(n_shown(step, n_ranks))), n_ranks, all_ranks,
            most.n_gpus == 1 ? "" : fmt::format("; a timeline stands for {} GPUs, which do the same", gpus));
}

void print_trace(const TraceArguments& arguments, const StrategyTrace& trace, std::size_t size_bytes) {
  for (const StrategyStep& step : trace.steps) print_step(arguments, trace.plan, step);
  print_out("Trace: {} ({:.1f} MB); open it at https://ui.perfetto.dev or chrome://tracing\n", arguments.out,
            static_cast<double>(size_bytes) / 1e6);
}

void trace(const TraceArguments& arguments, const CommandContext& context) {
  const TracedIteration which = traced_iteration(arguments.iteration);
  const Scenario scenario = load_scenario(arguments.scenario, context);
  context.outputs.expect({arguments.out});
  Progress progress(arguments.quiet);
  const StrategyTrace traced =
      trace_strategy(scenario, arguments.strategy, which,
                     {.n_steps = arguments.steps,
                      .most_step_bytes = free_memory_bytes(),
                      .n_text_ranks = arguments.ranks,
                      .progress = [&](const std::string& what) { progress.say(what); },
                      .estimated =
                          [&](double work_s) {
                            if (!arguments.quiet) announce_long_work(work_s);
                          }});
  const std::optional<std::string> what_if = what_if_warning(scenario);
  const std::size_t first = traced.steps.front().iteration;
  const std::string iterations =
      arguments.steps == 1 ? fmt::format("iteration {}", first)
                           : fmt::format("iterations {} to {}", first, traced.steps.back().iteration);
  const std::string text =
      to_chrome_trace(traced.steps,
                      fmt::format("{}, {}, {}{}{}", scenario.name, arguments.strategy, iterations,
                                  what_if ? ", " : "", what_if.value_or("")),
                      arguments.ranks == 0 ? std::numeric_limits<int>::max() : arguments.ranks);
  context.outputs.write(arguments.out, text);
  if (arguments.quiet) return;
  if (what_if) print_out("WARNING {}\n", *what_if);
  print_trace(arguments, traced, text.size());
}

}  // namespace

void add_trace_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* command = app.add_subcommand(
      "trace", "Simulate steps at op level and write their timeline, for Perfetto or chrome://tracing");
  add_scenario_argument(*command, arguments->scenario);
  command->add_option("--strategy", arguments->strategy, "Name of the strategy in the scenario")->required();
  command
      ->add_option("--iteration", arguments->iteration,
                   "median or slowest, by step time; or a number from 0, the first one")
      ->capture_default_str();
  command
      ->add_option("--steps", arguments->steps,
                   "Iterations to trace, that one and those behind it; time goes on from one to the next")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--ranks", arguments->ranks,
                   "Write only the first N data-parallel ranks; 0: all. All ranks are simulated anyway")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command->add_option("--out", arguments->out, "File to write")->capture_default_str();
  context.outputs.add_force_option(*command);
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  command->callback([arguments, context] { trace(*arguments, context); });
}

}  // namespace packsim
