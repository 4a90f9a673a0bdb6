#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "cli/tune/tune_outcome.hpp"
#include "cli/tune/tuned_scenario.hpp"
#include "experiment/estimate_work.hpp"
#include "experiment/plans/check_strategies.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "experiment/tune/case_checks.hpp"
#include "experiment/tune/search_groups.hpp"
#include "experiment/tune/simulated_profiler.hpp"
#include "experiment/tune/stopwatch_file.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

struct TuneArguments {
  ScenarioArgument scenario;
  std::vector<std::int64_t> lengths_tokens;  // empty: the default
  std::vector<int> sp_degrees;
  int n_iterations = 10;
  std::string order = "balanced";
  double near_tie_fraction = 0.015;
  std::string stopwatch;
  std::string write_scenario;
  bool write_template = false;
  bool json = false;
  bool quiet = false;
};

// The shortest pack length that holds everything that the scenario's strategies train: the longest sample, or
// the longest pack if that is shorter, because the policy over_long then applies to longer samples. A
// strategy that chooses its groups takes samples of any length unless the scenario limits it.
std::int64_t needed_tokens(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens) {
  const std::int64_t longest_sample = *std::ranges::max_element(lengths_tokens);
  std::int64_t longest_pack = 0;
  for (const StrategySpec& spec : scenario.strategies) {
    longest_pack = std::max(longest_pack, spec.groups.empty() ? spec.longest_tokens.value_or(longest_sample)
                                                              : spec.groups.back().capacity_tokens);
  }
  return std::min(longest_sample, longest_pack);
}

// HBP's degrees that are possible for the scenario.
std::vector<int> default_degrees(const Scenario& scenario) {
  std::vector<int> degrees;
  for (const int degree : kCandidateDegrees) {
    if (degree_mistake(scenario, degree).empty()) degrees.push_back(degree);
  }
  return degrees;
}

template <typename T>
std::vector<T> sorted_once(const std::vector<T>& values) {
  const std::set<T> unique(values.begin(), values.end());
  return {unique.begin(), unique.end()};
}

void check_long_enough(std::int64_t longest, std::int64_t needed, const std::string& where) {
  if (longest >= needed) return;
  throw std::invalid_argument(fmt::format(
      "{}: expected a pack length of at least {} tokens among them, which the data need, got at most {}",
      where, needed, longest));
}

void check_degrees(const std::vector<int>& degrees, const Scenario& scenario) {
  for (const int degree : degrees) {
    const std::string mistake = degree_mistake(scenario, degree);
    if (!mistake.empty()) throw std::invalid_argument("--sp: " + mistake);
  }
}

// The lengths or degrees to tune over: those asked for, which must be in the stopwatch file, or else all in
// it.
template <typename T, typename ValueOf>
std::vector<T> timed_values(const std::vector<ProfiledCase>& cases, const ValueOf& value_of,
                            const std::vector<T>& asked, const std::string& option,
                            const std::string& stopwatch) {
  std::set<T> timed;
  for (const ProfiledCase& one : cases) timed.insert(std::invoke(value_of, one));
  for (const T value : asked) {
    if (!timed.contains(value))
      throw std::invalid_argument(fmt::format("{}: expected one of {} (those of {}), got {}", option,
                                              fmt::join(timed, ", "), stopwatch, value));
  }
  return asked.empty() ? std::vector<T>(timed.begin(), timed.end()) : sorted_once(asked);
}

Profiler stopwatch_profiler(const std::vector<ProfiledCase>& cases) {
  return [&cases](std::int64_t pack_tokens, int sp_degree) {
    std::vector<ProfiledCase> found;
    std::ranges::copy_if(cases, std::back_inserter(found), [&](const ProfiledCase& one) {
      return one.pack_tokens == pack_tokens && one.sequence.ulysses == sp_degree;
    });
    return found;
  };
}

TuneOutcome tune_by_stopwatch(const TuneArguments& arguments, const Scenario& scenario, std::int64_t needed) {
  const std::string& file = arguments.stopwatch;
  const std::vector<ProfiledCase> cases = read_stopwatch(file, scenario);
  const auto ulysses = [](const ProfiledCase& one) { return one.sequence.ulysses; };
  TuneOutcome outcome;
  outcome.stopwatch = file;
  outcome.request = {.lengths_tokens = timed_values(cases, &ProfiledCase::pack_tokens,
                                                    arguments.lengths_tokens, "--lengths", file),
                     .sp_degrees = timed_values(cases, ulysses, arguments.sp_degrees, "--sp", file),
                     .near_tie_fraction = arguments.near_tie_fraction};
  check_long_enough(outcome.request.lengths_tokens.back(), needed,
                    arguments.lengths_tokens.empty() ? file : "--lengths");
  outcome.tuning = tune(outcome.request, stopwatch_profiler(cases));
  outcome.fewer_layers = fewer_layers_that_fit(
      outcome.tuning.cases, static_cast<double>(scenario.cluster.gpu.memory_bytes), scenario.model.n_layers);
  return outcome;
}

TuneRequest simulated_request(const TuneArguments& arguments, const Scenario& scenario, std::int64_t needed) {
  check_degrees(arguments.sp_degrees, scenario);
  TuneRequest request{.lengths_tokens = sorted_once(arguments.lengths_tokens),
                      .sp_degrees = sorted_once(arguments.sp_degrees),
                      .near_tie_fraction = arguments.near_tie_fraction};
  if (request.lengths_tokens.empty()) request.lengths_tokens = candidate_lengths(needed);
  if (request.sp_degrees.empty()) request.sp_degrees = default_degrees(scenario);
  check_long_enough(request.lengths_tokens.back(), needed, "--lengths");
  return request;
}

TuneOutcome tune_by_simulation(const TuneArguments& arguments, const Scenario& scenario,
                               std::span<const std::int32_t> lengths_tokens, const TuneRequest& request,
                               Progress& progress) {
  const Profiler profiler =
      simulated_profiler(scenario, lengths_tokens,
                         {.n_iterations = arguments.n_iterations,
                          .order = arguments.order == "balanced" ? PackOrder::balanced : PackOrder::shuffled,
                          .progress = [&](const std::string& what) { progress.say(what); }});
  TuneOutcome outcome{.request = request,
                      .stopwatch = "",
                      .n_iterations = arguments.n_iterations,
                      .order = arguments.order,
                      .tuning = tune(request, profiler),
                      .fewer_layers = {}};
  progress.say("searching groups for the whole run");
  if (!outcome.tuning.groups.empty())
    outcome.search = search_groups(scenario, outcome.tuning.groups, lengths_tokens);
  return outcome;
}

void write_tuned(const TuneArguments& arguments, const Scenario& scenario, const TuneOutcome& outcome,
                 const DataPaths& data, Outputs& outputs) {
  if (outcome.tuning.groups.empty())
    throw std::invalid_argument(fmt::format("--write-scenario: expected groups to write to {}, found none",
                                            arguments.write_scenario));
  outputs.write(arguments.write_scenario,
                tuned_scenario(scenario, outcome.tuning.groups, arguments.write_scenario, data));
}

void run_tune(const TuneArguments& arguments, const CommandContext& context) {
  const Stopwatch watch;
  const DataPaths data{.root = context.data_root};
  const Scenario scenario = load_scenario(arguments.scenario, context);
  if (scenario.mixing) {
    throw ScenarioError(
        {scenario.path +
         ": /mixing: expected none for tune, which packs every sample once; compare packs the draws "
         "of a mixture"});
  }
  context.outputs.expect({arguments.write_scenario});
  TuneOutcome outcome;
  {
    Progress progress(arguments.quiet);
    progress.say("reading lengths");
    const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
    check_strategies(scenario, drawn.lengths_tokens);
    const std::int64_t needed = needed_tokens(scenario, drawn.lengths_tokens);
    if (arguments.stopwatch.empty()) {
      const TuneRequest request = simulated_request(arguments, scenario, needed);
      if (arguments.write_template) {
        print_exact(stopwatch_template(scenario, request.lengths_tokens, request.sp_degrees));
        return;
      }
      if (!arguments.quiet) {
        const std::size_t n_cases = request.lengths_tokens.size() * request.sp_degrees.size();
        announce_long_work(estimated_tune_s(scenario, drawn.lengths_tokens, n_cases, arguments.n_iterations));
      }
      outcome = tune_by_simulation(arguments, scenario, drawn.lengths_tokens, request, progress);
    } else {
      outcome = tune_by_stopwatch(arguments, scenario, needed);
    }
  }
  if (arguments.json) {
    print_exact(tune_json(scenario, outcome, context.version) + "\n");
  } else if (!arguments.quiet) {
    print_out("{}\nTook {:.1f} s.\n", tune_text(scenario, outcome), watch.seconds());
  }
  if (arguments.write_scenario.empty()) return;
  write_tuned(arguments, scenario, outcome, data, context.outputs);
  if (!arguments.quiet && !arguments.json)
    print_out("Scenario: {0}, with strategy {1}. Compare it: packsim compare {0}\n", arguments.write_scenario,
              kTunedStrategy);
}

}  // namespace

void add_tune_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand(
      "tune", "Choose HBP's packing groups, SP degrees and checkpointed layers by profiling pack lengths");
  add_scenario_argument(*command, arguments->scenario);
  command
      ->add_option("--lengths", arguments->lengths_tokens,
                   "Candidate pack lengths in tokens (default: 8192, 16384, ... until the data fit)")
      ->delimiter(',')
      ->transform(token_check(1, kMostTokens));
  command
      ->add_option("--sp", arguments->sp_degrees,
                   "Candidate SP degrees (default: those of 1, 2, 4, 8, 16 that the scenario can have)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostGpus));
  CLI::Option* iterations = command
                                ->add_option("--iterations", arguments->n_iterations,
                                             "Number of iterations to simulate for each case")
                                ->check(CLI::Range(1, 100'000))
                                ->capture_default_str();
  CLI::Option* order =
      command
          ->add_option(
              "--order", arguments->order,
              "How simulated packs become iterations: balanced, as HBP trains its groups, or shuffled")
          ->check(member_check({"balanced", "shuffled"}))
          ->capture_default_str();
  command
      ->add_option(
          "--near-tie", arguments->near_tie_fraction,
          "Also show choices that are slower than the best by at most this fraction of their own time")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* stopwatch =
      command->add_option("--stopwatch", arguments->stopwatch,
                          "CSV of steps timed on a cluster, which are used instead of a simulation");
  CLI::Option* write_template =
      command->add_flag("--write-template", arguments->write_template,
                        "Only print the CSV for --stopwatch with the cases to time");
  command
      ->add_option("--write-scenario", arguments->write_scenario,
                   "Write the scenario, with a strategy hbp-tuned that has the chosen groups, to this file")
      ->excludes(write_template);
  context.outputs.add_force_option(*command);
  CLI::Option* json =
      command->add_flag("--json", arguments->json, "Print JSON on stdout instead of the table");
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors, and the JSON with --json");
  stopwatch->excludes(iterations)->excludes(order)->excludes(write_template);
  write_template->excludes(json);
  command->callback([arguments, context] { run_tune(*arguments, context); });
}

}  // namespace packsim
