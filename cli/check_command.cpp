#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "experiment/costs/price_basis.hpp"
#include "experiment/costs/warnings.hpp"
#include "experiment/data_set.hpp"
#include "experiment/estimate_work.hpp"
#include "experiment/mixing/mixture_summary.hpp"
#include "experiment/plans/check_strategies.hpp"
#include "experiment/plans/plan_group.hpp"
#include "experiment/plans/strategy_mistakes.hpp"
#include "experiment/results/length_summary.hpp"
#include "experiment/search/base_plans.hpp"
#include "files/text/printable.hpp"
#include "models/network/cluster_network.hpp"
#include "models/network/network_rates.hpp"
#include "models/plan/plan_text.hpp"
#include "packing/planner/options.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/mixture_rows.hpp"
#include "reports/text/gpu_text.hpp"
#include "reports/text/reliability_text.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

std::string sent_text(double bytes_per_s) {
  if (!std::isfinite(bytes_per_s)) return "as much as it can";
  return bytes_per_s < 1e12 ? fmt::format("{:.3g} GB/s", bytes_per_s / 1e9)
                            : fmt::format("{:.3g} TB/s", bytes_per_s / 1e12);
}

std::string network_text(const Cluster& cluster) {
  const NetworkDesign design = network_of(cluster);
  if (design.links.empty()) return "";
  const NetworkRates rates = network_rates(cluster);
  std::string text = fmt::format("network {}:", design.name);
  if (cluster.gpus_per_node > 1)
    text += fmt::format(" a GPU sends {} to the others of its node", sent_text(rates.gpu_bytes_per_s));
  if (cluster.nodes > 1) {
    text += fmt::format("{} {} out of it", cluster.gpus_per_node > 1 ? " and" : " a GPU sends",
                        sent_text(rates.nic_bytes_per_s()));
  }
  text += "\n";
  for (const PartRate& part : rates.parts) {
    if (part.nodes == 1 || part.nodes >= cluster.nodes) continue;
    text += fmt::format("  a GPU sends {} out of the {} nodes that share switches with it\n",
                        sent_text(part.gpu_bytes_per_s), part.nodes);
  }
  if (cluster.nodes > 1) {
    text += fmt::format("  half of the nodes send {} to the other half\n",
                        sent_text(bisection_bytes_per_s(design, cluster.nodes)));
    if (rates.latency_s > 0)
      text += fmt::format("  latency from node to node: {:.3g} us\n", 1e6 * rates.latency_s);
  }
  return text;
}

using formats_detail::beside_steps_text;
using formats_detail::failures_text;
using formats_detail::sequence_text;
using formats_detail::variability_text;

// Nothing is printed before all is known to be right.
template <typename... Arguments>
void say(std::string& text, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
}

void add_data(std::string& text, const Scenario& scenario, const DrawnLengths& drawn) {
  const LengthSummary summary = summarize_lengths(drawn.lengths_tokens);
  say(text, "data: {} samples, {} tokens; median {}, mean {:.0f}, p99 {}, longest {} tokens\n",
      summary.n_samples, summary.n_tokens, summary.median_tokens, summary.mean_tokens, summary.p99_tokens,
      summary.longest_tokens);
  for (std::size_t i = 0; i < drawn.sources.size(); ++i) {
    say(text, "  {}: {} samples, {} tokens{}\n", printable(scenario.lengths.mix[i].source),
        drawn.sources[i].n_samples, drawn.sources[i].n_tokens,
        drawn.sources[i].repeated_samples > 0
            ? fmt::format(", {} of the samples drawn again", drawn.sources[i].repeated_samples)
            : "");
  }
}

// What a mixture draws, and from what.
void add_mixture(std::string& text, const Scenario& scenario, const MixedDraws& draws) {
  const MixtureSummary summary = summarize_mixture(scenario, draws);
  for (const std::string& sentence : formats_detail::mixture_sentences(summary))
    say(text, "{}\n", printable(sentence));
  const MixtureProbabilities& first = draws.windows.front().probabilities;
  const MixtureProbabilities& last = draws.windows.back().probabilities;
  for (std::size_t i = 0; i < summary.subsets.size(); ++i) {
    const MixtureSummary::Subset& subset = summary.subsets[i];
    say(text, "  subset {}: {} group{}, probability {:.3f} at the start, {:.3f} at the end\n",
        printable_name(subset.name), subset.groups.size(), subset.groups.size() == 1 ? "" : "s",
        first.subsets[i], last.subsets[i]);
  }
}

// What the prices of the strategy's largest packs rest on; where its plan is searched, what is in doubt.
void add_prices(std::string& text, const Scenario& scenario, const StrategySpec& spec) {
  if (spec.groups.empty()) {
    for (const std::string& warning : extrapolation_warnings(scenario)) say(text, "in doubt: {}\n", warning);
    return;
  }
  const GroupSpec& group = spec.groups.back();
  const PlannedGroup planned = plan_full_group(scenario, spec, group);
  const PriceBasis basis = price_basis_of_full_packs(
      scenario, group_plan(base_plan(scenario, spec), group, planned.gc_layers), group.capacity_tokens, 1);
  const EvidenceShares& share = basis.evidence;
  say(text,
      "prices of full packs of {}: {:.0f} % measured or interpolated, {:.0f} % extrapolated, {:.0f} % scaled "
      "from other GPUs or links, {:.0f} % by rules\n",
      printable_name(spec.name), 100 * share.measured, 100 * share.extrapolated, 100 * share.transferred,
      100 * share.missing);
  const double factor = nine_of_ten_factor(time_error(basis.uncertainty.errors));
  say(text, "  90 % interval of times: {:+.0f} to {:+.0f} %\n", 100 * (1 / factor - 1), 100 * (factor - 1));
  constexpr std::size_t kShown = 3;
  constexpr double kLeastShown = 0.005;
  const std::vector<UncertaintySource>& sources = basis.uncertainty.sources;
  for (std::size_t i = 0; i < std::min(kShown, sources.size()); ++i) {
    if (sources[i].relative_error < kLeastShown) break;
    say(text, "  in doubt by {:.0f} % (one standard deviation): {}\n", 100 * sources[i].relative_error,
        sources[i].reason);
  }
}

void add_group(std::string& text, const Scenario& scenario, const StrategySpec& spec,
               const GroupSpec& group) {
  const PlannedGroup plan = plan_full_group(scenario, spec, group);
  const int micro_batches = *plan.micro_batches_per_rank;
  say(text,
      "    up to {} tokens, SP {} x {} DP ranks, {} micro-batch{} a rank, {} of {} layers checkpointed, "
      "{} when full: {}\n",
      group.capacity_tokens, sequence_text(group.sequence), plan.n_dp_ranks, micro_batches,
      micro_batches == 1 ? "" : "es", plan.gc_layers, scenario.model.n_layers,
      formats_detail::memory_need(plan), plan.feasible ? verdict_name(plan.verdict) : "DOES NOT FIT");
}

// Prints what a strategy that chooses its own groups may choose from.
void add_choice(std::string& text, const Scenario& scenario, const StrategySpec& spec) {
  const std::vector<ParallelPlan> plans = some_base_plans(scenario, spec);
  std::string dimensions;
  for (const SearchDimension* dimension : kSearchDimensions) {
    const std::vector<std::string> values = values_of(*dimension, plans);
    const bool is_default = values.size() == 1 && dimension->value(plans.front()) == dimension->value({});
    if (!dimension->shown.empty() && (dimension == &kZeroStages || !is_default))
      dimensions += fmt::format("; {} {}", dimension->shown, fmt::join(values, ", "));
  }
  const bool is_planner = chooses_groups(spec);
  const std::int64_t window = spec.options[kWindowIterations].value_or(0);
  const std::string window_text =
      window == 0 ? "the whole data set" : fmt::format("{} iteration{}", window, window == 1 ? "" : "s");
  say(text, "    {} pack lengths, SP degrees and checkpointed layers{}; samples of up to {}{}\n",
      is_planner ? "chooses" : "searches", dimensions,
      spec.longest_tokens ? fmt::format("{} tokens", *spec.longest_tokens)
                          : "as many tokens as fit in memory",
      is_planner ? "; window: " + window_text : "");
}

// Runs what asks for prices or memory of a strategy, and keeps its mistake if it has a new one.
void of_strategy(const Scenario& scenario, const StrategySpec& spec, std::vector<StrategyMistake>& mistakes,
                 const std::function<void()>& run) {
  try {
    run();
  } catch (const std::invalid_argument& error) {
    mistakes.push_back(
        {.strategy = static_cast<std::size_t>(&spec - scenario.strategies.data()), .text = error.what()});
  }
}

// Strategies with the same policies, and what each of them would run.
struct AlikeStrategies {
  std::vector<std::string> names;
  std::string policies;
  std::string plans;  // lines
};

std::string policies_text(const StrategySpec& spec) {
  return fmt::format("packs {}, over-long samples: {}, last iteration: {}, padding: {}",
                     policy_name(kPackOrderNames, spec.order), policy_name(kOverLongNames, spec.over_long),
                     policy_name(kLastIterationNames, spec.last_iteration),
                     policy_name(kPaddingNames, spec.padding));
}

AlikeStrategies shown_strategy(const Scenario& scenario, const StrategySpec& spec,
                               std::vector<StrategyMistake>& mistakes) {
  AlikeStrategies shown{.names = {printable_name(spec.name)}, .policies = policies_text(spec), .plans = {}};
  if (spec.name != spec.strategy) shown.names.front() += fmt::format(" ({})", spec.strategy);
  of_strategy(scenario, spec, mistakes, [&] {
    for (const GroupSpec& group : spec.groups) add_group(shown.plans, scenario, spec, group);
    if (has_open_groups(spec)) add_choice(shown.plans, scenario, spec);
  });
  return shown;
}

// Strategies that are alike share a line, and those with the same plans stand together above them.
std::vector<AlikeStrategies> folded(const std::vector<AlikeStrategies>& strategies) {
  std::vector<AlikeStrategies> all;
  for (const AlikeStrategies& one : strategies) {
    const auto same = std::ranges::find_if(all, [&](const AlikeStrategies& other) {
      return other.policies == one.policies && other.plans == one.plans;
    });
    if (same != all.end()) {
      same->names.push_back(one.names.front());
      continue;
    }
    const auto beside = std::ranges::find(all.rbegin(), all.rend(), one.plans, &AlikeStrategies::plans);
    all.insert(beside.base() == all.begin() ? all.end() : beside.base(), one);
  }
  return all;
}

// has_all: also the plans that the next one has too.
void add_strategies(std::string& text, const std::vector<AlikeStrategies>& strategies, bool has_all) {
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const AlikeStrategies& alike = strategies[i];
    say(text, "  {}: {}\n", fmt::join(alike.names, ", "), alike.policies);
    const bool is_last = i + 1 == strategies.size() || strategies[i + 1].plans != alike.plans;
    if (has_all || is_last) text += alike.plans;
  }
}

struct CheckArguments {
  ScenarioArgument scenario;
  bool wide = false;
};

// "20 s", "3 minutes"
std::string work_text(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens) {
  constexpr bool kAtOpLevel = false;
  const double work_s = std::max(1.0, estimated_work_s(scenario, lengths_tokens, kAtOpLevel));
  return work_s < 60 ? fmt::format("{:.0f} s", work_s)
                     : fmt::format("{:.0f} minutes", std::ceil(work_s / 60));
}

void check(const CheckArguments& arguments, const CommandContext& context) {
  const Scenario scenario = load_scenario(arguments.scenario, context);
  const DataSet data = draw_data(scenario);
  const DrawnLengths& drawn = data.drawn;
  check_strategies(scenario, drawn.lengths_tokens);
  std::string text;
  std::vector<StrategyMistake> mistakes;
  say(text, "{}: valid\n{}: {}\n", scenario.path, printable_name(scenario.name),
      printable(scenario.description));
  const Cluster& cluster = scenario.cluster;
  say(text, "train {} ({:.2f} G parameters) on {} GPU{}: {} node{} x {} of {}\n",
      printable_name(scenario.model.name), scenario.model.parameters() / 1e9, cluster.n_gpus(),
      cluster.n_gpus() == 1 ? "" : "s", cluster.nodes, cluster.nodes == 1 ? "" : "s", cluster.gpus_per_node,
      printable_name(cluster.name));
  say(text, "{}", network_text(cluster));
  say(text, "{} tokens an iteration, {} epoch{}, profile {} on {}, seed {}\n",
      scenario.training.tokens_per_iteration, scenario.training.epochs,
      scenario.training.epochs == 1 ? "" : "s", printable_name(scenario.profile.name),
      printable_name(scenario.hardware.name), scenario.seed);
  if (scenario.trainer)
    say(text, "trainer: {}; plans have to run in it\n", printable_name(scenario.trainer->name));
  say(text, "plan: {}\n", plan_text(scenario.plan));
  if (const std::optional<std::string> what_if = what_if_warning(scenario)) say(text, "{}\n", *what_if);
  if (scenario.variability.any()) say(text, "variability: {}\n", variability_text(scenario.variability));
  if (scenario.beside_steps) say(text, "beside steps: {}\n", beside_steps_text(*scenario.beside_steps));
  if (scenario.failures) say(text, "failures: {}\n", failures_text(*scenario.failures));
  const auto baseline = std::ranges::find(scenario.strategies, scenario.baseline, &StrategySpec::name);
  if (baseline != scenario.strategies.end()) {
    of_strategy(scenario, *baseline, mistakes, [&] { add_prices(text, scenario, *baseline); });
  }
  add_data(text, scenario, drawn);
  if (data.mixture != nullptr) add_mixture(text, scenario, *data.mixture);
  say(text, "would compare {} strateg{}, speed-ups over {}:\n", scenario.strategies.size(),
      scenario.strategies.size() == 1 ? "y" : "ies", printable_name(scenario.baseline));
  std::vector<AlikeStrategies> strategies;
  for (const StrategySpec& spec : scenario.strategies)
    strategies.push_back(shown_strategy(scenario, spec, mistakes));
  add_strategies(text, arguments.wide ? strategies : folded(strategies), arguments.wide);
  if (!mistakes.empty()) throw ScenarioError(messages_of(scenario, mistakes));
  say(text, "comparing them takes about {} on one thread\n", work_text(scenario, drawn.lengths_tokens));
  print_out("{}", text);
}

}  // namespace

void add_check_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand("check", "Validate a scenario and say what it would do");
  auto arguments = std::make_shared<CheckArguments>();
  add_scenario_argument(*command, arguments->scenario);
  command->add_flag("--wide", arguments->wide,
                    "Give each strategy lines of its own, also where they are alike");
  command->callback([arguments, context] { check(*arguments, context); });
}

}  // namespace packsim
