#pragma once

#include <deque>
#include <numeric>
#include <random>
#include <vector>

#include "sim/run/simulate.hpp"
#include "tests/sim/run/hand_schedule.hpp"
#include "tests/sim/step/random_steps.hpp"

namespace packsim {

// A run of made-up steps: groups of packs, and iterations in any order.
struct RandomRun {
  std::deque<RandomStep> steps;  // keeps the prices
  std::vector<PricedGroup> groups;
  Schedule schedule;
};

inline RandomRun random_run(RandomSteps& steps, std::mt19937& generator) {
  const auto below = [&](std::size_t n) { return generator() % n; };
  RandomRun run;
  for (std::size_t n = 1 + below(3); n > 0; --n) {
    RandomStep& step = run.steps.emplace_back(steps.next());
    const ParallelPlan& plan = step.plan.plan;
    GroupPlan& group = run.schedule.groups.emplace_back();
    group.n_dp_ranks = plan.dp_degree();
    run.schedule.n_gpus = std::lcm(run.schedule.n_gpus, group.n_dp_ranks);
    // Full rounds, as an interleaved pipeline takes nothing else.
    const std::size_t unit = plan.virtual_stages > 1 ? static_cast<std::size_t>(plan.pp_degree) : 1;
    group.micro_batches_per_rank = static_cast<int>(unit * (1 + below(2)));
    run.groups.push_back({.plan = step.plan, .packs = {step.prices.begin(), step.prices.end()}});
  }
  // Ranks of all groups cover the same GPUs.
  for (GroupPlan& group : run.schedule.groups) group.gpus_per_pack = run.schedule.n_gpus / group.n_dp_ranks;
  for (std::size_t n = below(5); n > 0; --n) {
    const auto group = static_cast<std::uint32_t>(below(run.groups.size()));
    auto n_packs = static_cast<std::size_t>(run.schedule.groups[group].packs_per_iteration());
    const bool may_be_short = run.groups[group].plan.plan.virtual_stages == 1;
    if (may_be_short) n_packs -= below(n_packs);
    const std::size_t n_kinds = 1 + below(8);
    std::vector<std::uint32_t> packs;
    for (std::size_t i = 0; i < n_packs; ++i) packs.push_back(static_cast<std::uint32_t>(below(n_kinds)));
    add_iteration(run.schedule, group, packs);
  }
  return run;
}

}  // namespace packsim
