#include "experiment/mixing/strategy_mixture.hpp"

#include <algorithm>
#include <string>

#include "experiment/mixing/probe_costs.hpp"
#include "packing/schedule/metrics.hpp"

namespace packsim {
namespace {

bool moves(const MixedDraws& draws) {
  return std::ranges::any_of(draws.windows, [&](const MixtureWindow& window) {
    return window.probabilities != draws.windows.front().probabilities;
  });
}

}  // namespace

StrategyMixture strategy_mixture(const Scenario& scenario, const StrategySpec& spec,
                                 const PlannedStrategy& plan, const MixedDraws& draws,
                                 const SimulatedRun& run, ScenarioPricers& pricers) {
  StrategyMixture mixture{
      .packs = std::string(policy_name(kMixturePacksNames, spec.mixture_packs)),
      .plan = "",
      .follows_rewards = known_mixing_policy(scenario.mixing->policy).needs != RewardNeed::none,
      .moves = moves(draws),
      .fill_fraction = pack_statistics(plan.packing).fill_fraction,
      .windows = {},
      .probes = {},
      .still = {}};
  std::vector<double> update_s;
  mixture.probes = probe_costs(scenario, draws, plan,
                               {.total_s = run.total_s,
                                .step_mean_s = run.step_mean_s,
                                .idle_fraction = run.idle_fraction,
                                .over_long = spec.over_long},
                               pricers, update_s);
  for (std::size_t w = 0; w < plan.windows.size(); ++w) {
    const PlannedWindow& window = plan.windows[w];
    double total_s = 0;
    for (std::int64_t i = 0; i < window.n_iterations; ++i)
      total_s += run.step_s[static_cast<std::size_t>(window.first_iteration + i)];
    mixture.windows.push_back({.first_iteration = window.first_iteration,
                               .n_iterations = window.n_iterations,
                               .packed_draws = window.n_draws,
                               .carried_draws = window.carried_draws,
                               .fill_fraction = window.fill_fraction,
                               .abr = window.balance.abr,
                               .cr = window.balance.cr,
                               .gpu_days = total_s / 86400 * scenario.cluster.n_gpus(),
                               .probes_s = w < update_s.size() ? update_s[w] : 0});
  }
  return mixture;
}

}  // namespace packsim
