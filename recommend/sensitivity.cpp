#include "recommend/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "experiment/compare_strategies.hpp"
#include "experiment/for_each_index.hpp"
#include "recommend/candidate.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

using Load = std::function<Scenario(const std::vector<std::string>&)>;

constexpr double kHalf = 0.5;
constexpr double kTwice = 2;
constexpr double kLess = 0.8;
constexpr double kMore = 1.2;

ChangedCase of_factor(double factor, std::vector<std::string> settings) {
  return {.what = fmt::format("x {}", factor), .settings = std::move(settings), .times = {}, .reason = {}};
}

Sensitivity of_number(std::string what, const std::string& key, double value, double less, double more) {
  const auto setting = [&](double factor) {
    return std::vector<std::string>{fmt::format("{}={:.17g}", key, factor * value)};
  };
  return {std::move(what), of_factor(less, setting(less)), of_factor(more, setting(more))};
}

// More samples of a source than it has are drawn again.
Sensitivity of_longest_source(const Scenario& scenario, const LengthSummary& lengths) {
  std::size_t longest = 0;
  const auto mean_tokens = [&](std::size_t source) {
    const LengthSummary::Source& of = lengths.sources[source];
    return static_cast<double>(of.n_tokens) / static_cast<double>(std::max<std::int64_t>(of.n_samples, 1));
  };
  for (std::size_t source = 1; source < lengths.sources.size(); ++source) {
    if (mean_tokens(source) > mean_tokens(longest)) longest = source;
  }
  const std::optional<double>& weight = scenario.lengths.mix[longest].weight;
  const auto settings = [&](double factor) {
    const auto n_samples = static_cast<double>(lengths.sources[longest].n_samples);
    std::vector<std::string> changed = {
        weight ? fmt::format("lengths.mix.{}.weight={:.17g}", longest, factor * *weight)
               : fmt::format("lengths.mix.{}.count={:.0f}", longest, std::ceil(factor * n_samples))};
    if (factor > 1) changed.emplace_back("lengths.with_replacement=true");
    return changed;
  };
  return {"samples of " + lengths.sources[longest].name, of_factor(kHalf, settings(kHalf)),
          of_factor(kTwice, settings(kTwice))};
}

std::vector<Sensitivity> simulated_changes(const Scenario& scenario, const LengthSummary& lengths) {
  std::vector<Sensitivity> changes;
  const Cluster& cluster = scenario.cluster;
  if (!cluster.design && cluster.network.nics_per_node > 0) {
    if (cluster.nodes > 1)
      changes.push_back(of_number("network cards", "cluster.nic_bytes_per_s", cluster.network.nic_bytes_per_s,
                                  kHalf, kTwice));
    if (cluster.gpus_per_node > 1)
      changes.push_back(of_number("links in a node", "cluster.nvlink_bytes_per_s",
                                  cluster.network.nvlink_bytes_per_s, kHalf, kTwice));
  }
  const auto memory_bytes = static_cast<double>(cluster.gpu.memory_bytes);
  Sensitivity memory = {"GPU memory", {}, {}};
  for (auto [of, factor] : {std::pair(&memory.less, kLess), std::pair(&memory.more, kMore)})
    *of = of_factor(factor, {fmt::format("cluster.gpu_memory_bytes={:.0f}", factor * memory_bytes)});
  changes.push_back(std::move(memory));
  if (lengths.sources.size() > 1) changes.push_back(of_longest_source(scenario, lengths));
  return changes;
}

void simulate(const Load& load, const Candidate& winner, const ClusterOffer& offer, ChangedCase& changed) {
  std::vector<std::string> settings = settings_of(offer, winner.nodes);
  std::ranges::copy(changed.settings, std::back_inserter(settings));
  try {
    const StrategyResult run = simulate_strategy(load(settings), winner.strategy, {.only_times = true});
    if (run.times) {
      changed.times = times_of(run, offer.gpu_hour_price);
    } else {
      changed.reason =
          run.feasible ? "trains nothing" : "does not fit: " + formats_detail::memory_excess(run);
    }
  } catch (const ScenarioError& error) {
    changed.reason = error.messages().front();
  } catch (const std::invalid_argument& error) {
    changed.reason = error.what();
  }
}

CandidateTimes times_at(const CandidateTimes& times, double factor) {
  CandidateTimes changed = times;
  for (double* value : {&changed.wall_hours, &changed.wall_hours_low, &changed.wall_hours_high,
                        &changed.gpu_days, &changed.gpu_days_low, &changed.gpu_days_high})
    *value *= factor;
  for (std::optional<double>* money : {&changed.money, &changed.money_low, &changed.money_high}) {
    if (*money) **money *= factor;
  }
  return changed;
}

// The ends of the interval, as all prices of the profile together may be off.
Sensitivity of_profile(const CandidateTimes& times) {
  const auto at = [&](const char* what, double wall_hours) {
    ChangedCase changed{.what = what, .settings = {}, .times = {}, .reason = {}};
    changed.times = times_at(times, wall_hours / times.wall_hours);
    return changed;
  };
  return {"accuracy of the times", at("low end", times.wall_hours_low),
          at("high end", times.wall_hours_high)};
}

double effect_of(const Sensitivity& sensitivity, const CandidateTimes& now) {
  const auto cost = [&](const ChangedCase& changed) {
    return changed.times ? changed.times->cost() : now.cost();
  };
  return std::max(std::abs(cost(sensitivity.less) - now.cost()),
                  std::abs(cost(sensitivity.more) - now.cost()));
}

}  // namespace

std::vector<Sensitivity> sensitivity_of(const Load& load, const Recommendation& recommendation,
                                        const RecommendOptions& options) {
  if (recommendation.ranking.empty()) return {};
  const Candidate& winner = recommendation.candidates[recommendation.ranking.front()];
  const ClusterOffer& offer = recommendation.question.offers[winner.offer];
  std::vector<Sensitivity> changes =
      simulated_changes(load(settings_of(offer, winner.nodes)), recommendation.report.lengths);
  std::vector<ChangedCase*> cases;
  for (Sensitivity& change : changes) {
    cases.push_back(&change.less);
    cases.push_back(&change.more);
  }
  for_each_index(cases.size(), options.n_threads, [&](std::size_t c) {
    options.progress("sensitivity: " + cases[c]->settings.front());
    simulate(load, winner, offer, *cases[c]);
  });
  if (winner.times->wall_hours_high > winner.times->wall_hours_low)
    changes.push_back(of_profile(*winner.times));
  std::ranges::stable_sort(changes, std::ranges::greater(),
                           [&](const Sensitivity& change) { return effect_of(change, *winner.times); });
  return changes;
}

}  // namespace packsim
