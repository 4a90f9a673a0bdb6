#include "experiment/mixing/window_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "experiment/mixing/plan_joiner.hpp"
#include "experiment/mixing/pool_plans.hpp"
#include "experiment/plans/joined_plans.hpp"

namespace packsim {
namespace {

void refuse_cuts(const StrategySpec& spec) {
  if (!strategy_of(spec).cuts_samples && spec.over_long != OverLong::split) return;
  throw std::invalid_argument(fmt::format(
      "mixing: expected a strategy that keeps samples whole, as pieces cannot wait for the next window, "
      "got {}",
      spec.over_long == OverLong::split ? "\"over_long\": \"split\"" : spec.strategy));
}

// Plans every window with what the one before has left.
class WindowPlanner {
 public:
  WindowPlanner(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws,
                ScenarioPricers& pricers)
      : scenario_(scenario), spec_(spec), draws_(draws), pricers_(pricers) {}

  PlannedStrategy plan() {
    PlanJoiner joiner(scenario_, draws_);
    std::vector<std::uint32_t> waiting;
    StrategySpec spec = spec_;
    for (std::size_t w = 0; w < draws_.windows.size(); ++w) {
      std::vector<std::uint32_t> items = std::move(waiting);
      const MixtureWindow& window = draws_.windows[w];
      for (std::size_t i = 0; i < window.n_draws; ++i)
        items.push_back(static_cast<std::uint32_t>(window.first_draw + i));
      const bool is_last = w + 1 == draws_.windows.size();
      waiting = plan_window(spec_of_part(spec, w), std::move(items), is_last, joiner);
      if (w == 0) spec = at_chosen_stage(scenario_, spec_, joiner.first());
    }
    return joiner.join(spec);
  }

 private:
  // Returns the draws that wait for the next window.
  std::vector<std::uint32_t> plan_window(StrategySpec spec, std::vector<std::uint32_t> items, bool is_last,
                                         PlanJoiner& joiner) {
    std::vector<std::int32_t> lengths;
    for (const std::uint32_t item : items) lengths.push_back(draws_.lengths_tokens[item]);
    if (!is_last && !forms_iterations(spec)) spec.last_iteration = LastIteration::drop;
    PlannedStrategy plan = plan_strategy(scenario_, spec, lengths, pricers_);
    std::vector<std::uint32_t> left;
    if (!is_last && forms_iterations(spec)) plan = without_small_iteration(std::move(plan));
    if (!is_last) left = untrained_items(plan);
    std::vector<std::uint32_t> waiting;
    for (const std::uint32_t item : left) waiting.push_back(items[item]);
    joiner.add(std::move(plan), spec, std::move(items), left);
    return waiting;
  }

  // Samples in packs that the schedule does not train, ascending.
  static std::vector<std::uint32_t> untrained_items(const PlannedStrategy& plan) {
    std::vector<std::uint32_t> items;
    for (std::size_t g = 0; g < plan.packing.groups.size(); ++g) {
      const PackSet& packs = plan.packing.groups[g];
      for (std::size_t p = 0; p < packs.n_packs(); ++p) {
        if (plan.uses.of_pack[g][p] > 0) continue;
        for (const ItemIndex item : packs[p]) items.push_back(plan.packing.piece(item).sample_index);
      }
    }
    std::ranges::sort(items);
    return items;
  }

  // A strategy that forms iterations trains all it has. If its smallest iteration is far smaller than asked
  // for, that iteration is a rest of the data and can wait.
  PlannedStrategy without_small_iteration(PlannedStrategy plan) const {
    constexpr double kSmall = 0.9;
    Schedule schedule = plan.schedule;
    if (schedule.iterations.size() < 2) return plan;
    std::vector<std::int64_t> tokens(schedule.iterations.size(), 0);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      for (const PlacedPack& placed : schedule.packs(schedule.iterations[i]))
        tokens[i] += plan.batches[placed.group][placed.pack].tokens;
    }
    const auto smallest = std::ranges::min_element(tokens);
    if (static_cast<double>(*smallest) >=
        kSmall * static_cast<double>(scenario_.training.tokens_per_iteration))
      return plan;
    drop_iteration(schedule, static_cast<std::size_t>(smallest - tokens.begin()));
    return with_schedule(std::move(plan), std::move(schedule));
  }

  static void drop_iteration(Schedule& schedule, std::size_t index) {
    const Iteration dropped = schedule.iterations[index];
    const auto first = schedule.placed.begin() + dropped.first_placed;
    schedule.placed.erase(first, first + dropped.n_placed);
    schedule.iterations.erase(schedule.iterations.begin() + static_cast<std::ptrdiff_t>(index));
    for (Iteration& iteration : schedule.iterations) {
      if (iteration.first_placed > dropped.first_placed) iteration.first_placed -= dropped.n_placed;
    }
  }

  const Scenario& scenario_;
  const StrategySpec& spec_;
  const MixedDraws& draws_;
  ScenarioPricers& pricers_;
};

// All draws together, as if they were known beforehand.
FoundPlan find_plan_of_run(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws,
                           SharedPrices& prices) {
  return find_plan(scenario, spec, draws.lengths_tokens, prices);
}

// The strategy with the groups that it chooses for other draws. These get the longest draw of the run, too,
// as later samples may be longer than all of them.
FoundPlan with_plan_for(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws,
                        const MixedDraws& chosen_for, SharedPrices& prices) {
  std::vector<std::int32_t> lengths = chosen_for.lengths_tokens;
  lengths.push_back(*std::ranges::max_element(draws.lengths_tokens));
  FoundPlan found = find_plan(scenario, spec, lengths, prices);
  found.spec.searches_plan = false;
  found.spec.mixture_packs = spec.mixture_packs;
  found.spec.mixture_plan = spec.mixture_plan;
  if (chooses_groups(found.spec)) found.spec.groups = groups_of_plan(found.spec, found.plan);
  if (!spec.zero_stages.empty()) found.spec = at_chosen_stage(scenario, found.spec, found.plan);
  found.plan = {};
  return found;
}

}  // namespace

FoundPlan find_mixture_plan(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws,
                            const MixedDraws& prior, SharedPrices& prices) {
  refuse_cuts(spec);
  if (spec.mixture_packs == MixturePacks::run) return find_plan_of_run(scenario, spec, draws, prices);
  FoundPlan found{.spec = spec, .plan = {}};
  if (has_open_groups(spec) && spec.mixture_plan != MixturePlan::window) {
    found =
        with_plan_for(scenario, spec, draws, spec.mixture_plan == MixturePlan::run ? draws : prior, prices);
  } else if (spec.searches_plan) {
    throw std::invalid_argument("mixture_plan: expected prior or run where \"plan\" is \"auto\", got window");
  }
  const std::shared_ptr<ScenarioPricers> pricers = prices.lend();
  found.plan = spec.mixture_packs == MixturePacks::pools
                   ? plan_pools(scenario, found.spec, draws)
                   : WindowPlanner(scenario, found.spec, draws, *pricers).plan();
  return found;
}

}  // namespace packsim
