#include "experiment/plans/check_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiment/plans/batch_run.hpp"
#include "experiment/plans/plan_group.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "experiment/plans/strategy_mistakes.hpp"
#include "models/parallel_plan.hpp"
#include "models/state_traffic.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

std::string mistake_text(std::string_view expected, std::string_view got) {
  return fmt::format("expected {}, got {}", expected, got);
}

// ZeRO stages that the plan cannot have.
std::vector<StrategyMistake> stage_mistakes(const Scenario& scenario, std::size_t index) {
  const StrategySpec& spec = scenario.strategies[index];
  std::vector<StrategyMistake> mistakes;
  for (const int stage : spec.zero_stages) {
    for (const PlanMistake& mistake :
         plan_mistakes(scenario.model, scenario.cluster, with_zero_stage(base_plan(scenario, spec), stage))) {
      mistakes.push_back({index, "zero_stages",
                          mistake_text("stages that the parallel plan can have",
                                       fmt::format("{} ({})", stage, mistake.text()))});
    }
  }
  return mistakes;
}

// What a strategy that chooses its groups cannot carry out.
std::vector<StrategyMistake> choosing_mistakes(const Scenario& scenario, std::size_t index) {
  const StrategySpec& spec = scenario.strategies[index];
  std::vector<StrategyMistake> mistakes;
  const auto refuse = [&](const std::string& key, std::string_view expected, std::string_view got) {
    mistakes.push_back({index, key, mistake_text(expected, got)});
  };
  if (spec.over_long == OverLong::own_pack)
    refuse("over_long", "error, drop, truncate or split for a strategy that chooses pack lengths",
           "\"own_pack\"");
  if (spec.window_samples > 0) {
    refuse("window_samples", "0 for a strategy with windows of its own (window_iterations)",
           fmt::format("{}", spec.window_samples));
  }
  if (spec.padding != Padding::none) {
    refuse("padding", "none for a strategy that chooses pack lengths",
           fmt::format("\"{}\"", policy_name(kPaddingNames, spec.padding)));
  }
  return mistakes;
}

// Stands for the groups of a plan that is still to be searched: each of them takes the same samples whole.
GroupSpec whole_samples(const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens) {
  const std::int64_t longest = lengths_tokens.empty() ? 0 : *std::ranges::max_element(lengths_tokens);
  GroupSpec group;
  group.capacity_tokens = std::max<std::int64_t>(1, spec.longest_tokens.value_or(longest));
  return group;
}

// Whether some sample has tokens and is not dropped as over-long.
bool trains_something(const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens) {
  std::int64_t longest_kept = kLongestCapacityTokens;
  if (spec.over_long == OverLong::drop && !spec.groups.empty()) {
    longest_kept = std::ranges::max(spec.groups, {}, &GroupSpec::capacity_tokens).capacity_tokens;
  } else if (spec.over_long == OverLong::drop) {
    longest_kept = spec.longest_tokens.value_or(longest_kept);
  }
  return std::ranges::any_of(lengths_tokens, [&](std::int32_t n) { return n > 0 && n <= longest_kept; });
}

}  // namespace

void check_strategies(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens) {
  std::vector<StrategyMistake> mistakes;
  for (std::size_t i = 0; i < scenario.strategies.size(); ++i) {
    StrategySpec spec = scenario.strategies[i];
    try {
      const Strategy& strategy = strategy_of(spec);
      if (!trains_something(spec, lengths_tokens)) {
        mistakes.push_back({.strategy = i,
                            .text = "expected samples to train, got none: all are empty, or over-long and "
                                    "dropped"});
        continue;
      }
      std::ranges::move(stage_mistakes(scenario, i), std::back_inserter(mistakes));
      if (strategy.chooses_groups) {
        // There are no groups yet.
        std::ranges::copy(choosing_mistakes(scenario, i), std::back_inserter(mistakes));
        continue;
      }
      if (spec.searches_plan) spec.groups = {whole_samples(spec, lengths_tokens)};
      PackRequest request = pack_request(spec, spec.groups, lengths_tokens);
      const BatchSetting setting = unpriced_setting(scenario, spec);
      if (strategy.forms_iterations()) request.setting = &setting;
      check_request(spec.strategy, request);
      for (const GroupSpec& group : spec.groups) {
        if (spec.micro_batches_per_rank || spec.searches_plan) continue;
        full_micro_batches(scenario, spec, group);
      }
    } catch (const std::invalid_argument& error) {
      mistakes.push_back({.strategy = i, .text = error.what()});
    }
  }
  if (!mistakes.empty()) throw ScenarioError(messages_of(scenario, mistakes));
}

}  // namespace packsim
