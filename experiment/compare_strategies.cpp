#include "experiment/compare_strategies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "experiment/bounds/set_bounds.hpp"
#include "experiment/costs/warnings.hpp"
#include "experiment/data_set.hpp"
#include "experiment/estimate_work.hpp"
#include "experiment/for_each_index.hpp"
#include "experiment/mixing/mixture_summary.hpp"
#include "experiment/mixing/window_plans.hpp"
#include "experiment/plans/check_strategies.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/plan_of_file.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "experiment/plans/require_packs.hpp"
#include "experiment/plans/strategy_mistakes.hpp"
#include "experiment/results/job_differences.hpp"
#include "experiment/results/length_summary.hpp"
#include "experiment/results/time_ratio.hpp"
#include "experiment/search/base_plans.hpp"
#include "experiment/search/find_plan.hpp"
#include "experiment/shared_work.hpp"
#include "experiment/simulate_plan.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"

namespace packsim {
namespace {

RunManifest make_manifest(const Scenario& scenario) {
  RunManifest manifest;
  manifest.scenario = scenario.path;
  manifest.scenario_name = scenario.name;
  manifest.scenario_description = scenario.description;
  manifest.scenario_hash = scenario.scenario_hash;
  manifest.scenario_text = scenario.scenario_text;
  manifest.profile = scenario.profile.name;
  manifest.profile_hash = scenario.profile_hash;
  manifest.profile_source = scenario.profile.source;
  manifest.hardware = scenario.hardware.name;
  manifest.hardware_hash = scenario.hardware_hash;
  manifest.seed = scenario.seed;
  manifest.model = scenario.model.name;
  manifest.cluster = scenario.cluster.name;
  if (scenario.trainer) manifest.trainer = scenario.trainer->name;
  manifest.n_gpus = scenario.cluster.n_gpus();
  manifest.gpu_hour_price = scenario.cluster.gpu_hour_price;
  manifest.gpu_power_w = scenario.cluster.gpu.power_w;
  manifest.epochs = scenario.training.epochs;
  manifest.tokens_per_iteration = scenario.training.tokens_per_iteration;
  manifest.plan = scenario.plan;
  manifest.variability = scenario.variability;
  manifest.beside_steps = scenario.beside_steps;
  manifest.failures = scenario.failures;
  if (const std::optional<std::string> what_if = what_if_warning(scenario))
    manifest.warnings.push_back(*what_if);
  std::ranges::move(extrapolation_warnings(scenario), std::back_inserter(manifest.warnings));
  return manifest;
}

// How much faster each run is than the baseline for the tokens that it trains. Repeating tokens to fill last
// iterations makes no run faster.
void set_speedups(Report& report) {
  const auto baseline = std::ranges::find(report.runs, report.baseline, &StrategyResult::name);
  if (baseline == report.runs.end() || !baseline->times) return;
  const auto tokens = [](const StrategyResult& run) {
    return static_cast<double>(run.counts.unrepeated_tokens());
  };
  for (StrategyResult& run : report.runs) {
    if (!run.times) continue;
    const double token_ratio = tokens(run) / tokens(*baseline);
    const TimeRatio ratio = gpu_day_ratio(*baseline, run);
    run.speedup = {token_ratio * ratio.value, token_ratio * ratio.low, token_ratio * ratio.high};
  }
}

// One strategy's failure is that strategy's result. If there is no other, it is the caller's.
void throw_if_all_failed(const Scenario& scenario, const Report& report) {
  std::vector<StrategyMistake> failures;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const StrategyResult& run = report.runs[i];
    if (!run.failure) return;
    failures.push_back({.strategy = i, .text = *run.failure});
  }
  if (failures.empty()) return;
  throw std::invalid_argument(fmt::format("{}", fmt::join(messages_of(scenario, failures), "\n")));
}

// The strategy on a mixture that stands still, with as many draws; none if the mixture does so anyway.
std::optional<StillMixture> still_mixture(const Scenario& scenario, const StrategySpec& spec,
                                          const DataSet& data, SharedPrices& prices) {
  const MixedDraws& still = *data.still_mixture;
  const bool moves = std::ranges::any_of(data.mixture->windows, [&](const MixtureWindow& window) {
    return window.probabilities != still.windows.front().probabilities;
  });
  if (!moves) return std::nullopt;
  const FoundPlan found = find_mixture_plan(scenario, spec, still, still, prices);
  require_packs(found.plan.packing);
  const StrategyResult run = simulate_plan(scenario, found.spec, found.plan, prices, {.only_times = true},
                                           [](const std::string&) {});
  if (!run.times) return std::nullopt;
  return StillMixture{.gpu_days = run.times->gpu_days,
                      .trained_tokens = run.counts.trained_tokens,
                      .abr = run.balance->abr,
                      .cr = run.balance->cr,
                      .fill_fraction = pack_statistics(found.plan.packing).fill_fraction};
}

// Thrown out of a strategy that is to be left out.
struct IsOver {};

// Simulates the plan that make_plan returns for each strategy of a scenario, and compares the results.
Report run_plans(const Scenario& scenario, const DataSet& data, const RunOptions& options,
                 const std::function<FoundPlan(const StrategySpec&, SharedPrices&)>& make_plan) {
  if (options.level == Level::op && !scenario.ranks_wait) {
    throw std::invalid_argument(
        scenario.path + ": /what_if/free: expected no \"waiting\" at op level, where ranks share links");
  }
  Report report;
  report.manifest = make_manifest(scenario);
  report.manifest.level = options.level == Level::op ? "op" : "step";
  report.baseline = scenario.baseline;
  report.lengths = data.summary;
  report.runs.resize(scenario.strategies.size());
  std::vector<TrainedData> trained(report.runs.size());
  std::shared_ptr<const JobPrices> shared_prices;
  if (options.shared != nullptr) shared_prices = options.shared->prices(scenario);
  SharedPrices own_prices(scenario);
  SharedPrices& prices = shared_prices ? *shared_prices->prices : own_prices;
  for_each_index(scenario.strategies.size(), options.n_threads, [&](std::size_t i) {
    const StrategySpec& spec = scenario.strategies[i];
    const auto say = [&](const std::string& what) {
      if (options.is_over()) throw IsOver();
      if (options.progress) options.progress(spec.name + ": " + what);
    };
    const auto run_of = [&] {
      say(fmt::format("packing {} samples", data.summary.n_samples));
      const FoundPlan found = make_plan(spec, prices);
      if (!options.only_times) trained[i] = trained_data(found.plan);
      StrategyResult run = simulate_plan(scenario, found.spec, found.plan, prices,
                                         {.level = options.level,
                                          .most_step_bytes = options.most_step_bytes,
                                          .only_times = options.only_times,
                                          .draws = data.mixture.get()},
                                         say);
      if (run.mixture) {
        if (has_open_groups(spec)) run.mixture->plan = policy_name(kMixturePlanNames, spec.mixture_plan);
        if (!options.only_times) run.mixture->still = still_mixture(scenario, spec, data, prices);
      }
      run.strategy = spec.strategy;
      run.search = found.search;
      run.choice_of_zero_stages = choice_of_zero_stages(scenario, spec);
      return run;
    };
    try {
      // Lower bounds need what each strategy has trained, which results do not have.
      const bool may_share = options.shared != nullptr && options.only_times;
      report.runs[i] = may_share ? options.shared->result(scenario, spec, run_of) : run_of();
    } catch (const IsOver&) {  // the run stays without a name, and is left out below
    } catch (const std::logic_error& error) {
      const bool is_ours = dynamic_cast<const std::invalid_argument*>(&error) == nullptr;
      report.runs[i] = {.name = spec.name,
                        .strategy = spec.strategy,
                        .policies = spec,
                        .failure = (is_ours ? "a bug in packsim: " : "") + std::string(error.what()),
                        .feasible = false};
      trained[i] = {};
    }
  });
  std::erase_if(report.runs, [](const StrategyResult& run) { return run.name.empty(); });
  if (!options.keeps_failures) throw_if_all_failed(scenario, report);
  // Bounds are of steps in which all ranks wait for the slowest.
  if (!options.only_times && scenario.ranks_wait) {
    if (options.progress) options.progress("computing lower bounds");
    set_bounds(scenario, trained, prices, report);
  }

  for (const StrategyResult& run : report.runs) {
    std::ranges::move(run_warnings(run), std::back_inserter(report.manifest.warnings));
  }

  set_differences(report);
  set_speedups(report);
  return report;
}

// [n_samples] tokens of each sample in the plan. A sample that was cut counts up to the end of its last
// piece.
std::vector<std::int32_t> kept_lengths(const PlanTables& plan) {
  if (plan.piece_samples.empty()) return {plan.lengths_tokens.begin(), plan.lengths_tokens.end()};
  std::vector<std::int32_t> lengths_tokens(static_cast<std::size_t>(plan.facts.counts.n_samples));
  for (std::size_t item = 0; item < plan.piece_samples.size(); ++item) {
    std::int32_t& length = lengths_tokens[plan.piece_samples[item]];
    length = std::max(length, plan.piece_starts[item] + plan.lengths_tokens[item]);
  }
  return lengths_tokens;
}

// A strategy's plan, ready to be simulated.
FoundPlan found_plan(const Scenario& scenario, const StrategySpec& spec, const DataSet& data,
                     SharedPrices& prices, PackCache* known = nullptr) {
  FoundPlan found = data.mixture != nullptr
                        ? find_mixture_plan(scenario, spec, *data.mixture, *data.still_mixture, prices)
                        : find_plan(scenario, spec, data.drawn.lengths_tokens, prices, known);
  require_packs(found.plan.packing);
  return found;
}

Scenario with_one_strategy(Scenario scenario, const std::string& name) {
  keep_strategies(scenario, {name});
  return scenario;
}

// The strategy whose plan a trainer limits most: one that chooses its groups or else, of those whose plan is
// searched, the fastest.
const StrategySpec* most_limited(const Scenario& scenario, const Report& report) {
  const StrategySpec* limited = nullptr;
  double least_days = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < scenario.strategies.size(); ++i) {
    const StrategySpec& spec = scenario.strategies[i];
    const StrategyResult& run = report.runs[i];
    if (!has_open_groups(spec) || !run.times || !run.differences.empty()) continue;
    if (chooses_groups(spec)) return &spec;
    if (run.times->gpu_days >= least_days) continue;
    least_days = run.times->gpu_days;
    limited = &spec;
  }
  return limited;
}

std::optional<StrategyResult> run_without_trainer(const Scenario& scenario, const Report& report,
                                                  const RunOptions& options) {
  const StrategySpec* const spec = most_limited(scenario, report);
  if (spec == nullptr) return std::nullopt;
  Scenario any = with_one_strategy(scenario, spec->name);
  any.trainer.reset();
  if (options.progress) options.progress("searching plans of any trainer");
  StrategyResult run = simulate_strategy(any, spec->name, {.only_times = true, .progress = options.progress});
  return run.times ? std::optional(std::move(run)) : std::nullopt;
}

}  // namespace

Report compare_strategies(const Scenario& scenario, const RunOptions& options) {
  if (options.progress) options.progress("reading lengths");
  const std::shared_ptr<const DataSet> data = options.shared != nullptr
                                                  ? options.shared->data(scenario)
                                                  : std::make_shared<DataSet>(draw_data(scenario));
  const std::span<const std::int32_t> lengths_tokens = data->drawn.lengths_tokens;
  check_strategies(scenario, lengths_tokens);
  if (options.estimated)
    options.estimated(estimated_work_s(scenario, lengths_tokens, options.level == Level::op));
  PackCache* const known = options.shared != nullptr ? data->packs.get() : nullptr;
  const auto plan_of = [&](const StrategySpec& spec, SharedPrices& prices) {
    FoundPlan found = found_plan(scenario, spec, *data, prices, known);
    if (options.planned) options.planned(found.spec, found.plan, lengths_tokens);
    return found;
  };
  Report report = run_plans(scenario, *data, options, plan_of);
  if (data->mixture != nullptr) report.mixture = summarize_mixture(scenario, *data->mixture);
  if (scenario.trainer != nullptr && !options.only_times)
    report.without_trainer = run_without_trainer(scenario, report, options);
  return report;
}

Report replay_schedule_file(const Scenario& scenario, const std::string& path, const RunOptions& options) {
  if (options.progress) options.progress("reading " + path);
  const PlanView plan = PlanView::open(path);
  plan.check();
  const Scenario planned = scenario_of_plan(scenario, plan, path);
  LengthSummary lengths = summarize_lengths(kept_lengths(*plan));
  lengths.sources.push_back({.name = path,
                             .hash = plan->facts.lengths_hash,
                             .n_samples = plan->facts.counts.n_samples,
                             .n_tokens = plan->facts.counts.n_tokens});
  DataSet data;
  data.summary = std::move(lengths);
  return run_plans(planned, data, options, [&](const StrategySpec& spec, SharedPrices&) {
    FoundPlan found{.spec = spec, .plan = plan_of_file(planned, plan)};
    require_packs(found.plan.packing);
    return found;
  });
}

StrategyResult simulate_strategy(const Scenario& scenario, const std::string& name,
                                 const RunOptions& options) {
  StrategyResult result =
      std::move(compare_strategies(with_one_strategy(scenario, name), options).runs.front());
  result.speedup.reset();
  return result;
}

std::vector<std::byte> schedule_file_of(const Scenario& scenario, const std::string& name,
                                        const std::string& version, const std::string& normaliser,
                                        const RunOptions& options) {
  const Scenario of_one = with_one_strategy(scenario, name);
  if (options.progress) options.progress("reading lengths");
  const DataSet data = draw_data(of_one);
  const DrawnLengths& drawn = data.drawn;
  check_strategies(of_one, drawn.lengths_tokens);
  try {
    if (options.progress)
      options.progress(fmt::format("{}: packing {} samples", name, drawn.lengths_tokens.size()));
    SharedPrices prices(of_one);
    const FoundPlan found = found_plan(of_one, of_one.strategies.front(), data, prices);
    if (options.progress) options.progress(name + ": making the schedule file");
    return plan_file_of(of_one, found.spec, found.plan, drawn.lengths_tokens, version, normaliser);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(messages_of(of_one, {{.text = error.what()}}).front());
  }
}

}  // namespace packsim
