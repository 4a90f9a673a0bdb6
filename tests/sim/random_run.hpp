#pragma once

#include <deque>
#include <random>
#include <vector>

#include "sim/simulate.hpp"
#include "tests/sim/random_steps.hpp"

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
    group.sp_degree = plan.rank_gpus();
    group.n_dp_ranks = plan.dp_degree();
    // Full rounds, as an interleaved pipeline takes nothing else.
    const std::size_t unit = plan.virtual_stages > 1 ? static_cast<std::size_t>(plan.pp_degree) : 1;
    group.micro_batches_per_rank = static_cast<int>(unit * (1 + below(2)));
    run.groups.push_back({.plan = step.plan, .packs = {step.prices.begin(), step.prices.end()}});
  }
  run.schedule.n_gpus = 64;
  for (std::size_t n = below(5); n > 0; --n) {
    Iteration& iteration = run.schedule.iterations.emplace_back();
    iteration.group = static_cast<std::uint32_t>(below(run.groups.size()));
    iteration.first_pack = static_cast<std::uint32_t>(run.schedule.pack_order.size());
    const GroupPlan& group = run.schedule.groups[iteration.group];
    iteration.n_packs = static_cast<std::uint32_t>(group.packs_per_iteration());
    const bool may_be_short = run.groups[iteration.group].plan.plan.virtual_stages == 1;
    if (may_be_short) iteration.n_packs -= static_cast<std::uint32_t>(below(iteration.n_packs + 1));
    const std::size_t n_kinds = 1 + below(8);
    for (std::uint32_t i = 0; i < iteration.n_packs; ++i)
      run.schedule.pack_order.push_back(static_cast<std::uint32_t>(below(n_kinds)));
  }
  return run;
}

}  // namespace packsim
