// The planner on jobs so small that every schedule can be tried.

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "packing/pack.hpp"
#include "packing/planner/compose_iteration.hpp"
#include "packing/planner/compose_rounds.hpp"
#include "planning/planned_time.hpp"
#include "tests/planning/tiny_jobs.hpp"
#include "tests/planning/tiny_settings.hpp"

using namespace packsim;
using namespace packsim::testing;

namespace {

double planned_s(const TinyJob& job) {
  const BatchSetting setting = setting_of(job);
  PackRequest request{.lengths_tokens = job.lengths_tokens, .capacities_tokens = {}};
  for (const BatchGroup& group : setting.groups) request.capacities_tokens.push_back(group.capacity_tokens);
  request.setting = &setting;
  const Packing packing = pack("planner", request);
  return planned_time_s(packing, setting) +
         job.step_s * static_cast<double>(packing.planned.iterations.size());
}

}  // namespace

TEST_CASE("The planner is at the optimum of 1 000 tiny jobs") {
  Jobs jobs;
  for (int i = 0; i < 1000; ++i) {
    const TinyJob job = jobs.next(i % 2);
    const Optimum best = optimum(job);
    const double ours_s = planned_s(job);
    CAPTURE(i, ours_s, best.epoch_s);
    REQUIRE(ours_s >= best.epoch_s * (1 - 1e-9));
    REQUIRE(ours_s <= best.epoch_s * (1 + 1e-9));
  }
}

TEST_CASE("Composing one iteration without trying everything comes near its optimum") {
  Jobs jobs;
  double sum = 0;
  double worst = 0;
  int n = 0;
  for (int i = 0; i < 1000; ++i) {
    const TinyJob job = jobs.next(1);
    const Samples all = (1U << job.lengths_tokens.size()) - 1;
    const BatchSetting setting = setting_of(job);
    const DegreeCosts costs(setting.groups);
    std::vector<ItemIndex> items(job.lengths_tokens.size());
    std::iota(items.begin(), items.end(), 0U);
    const double best_s = BestIteration(job, all).time_s();
    const ComposedIteration composed = compose_iteration(costs, job.lengths_tokens, items, job.n_gpus);
    REQUIRE(composed.time_s >= best_s * (1 - 1e-9));
    sum += composed.time_s / best_s - 1;
    worst = std::max(worst, composed.time_s / best_s - 1);
    ++n;
    // Every item once, also where all meet in every round.
    for (const ComposedIteration& iteration :
         {composed, compose_rounds(costs, job.lengths_tokens, items, job.n_gpus)}) {
      std::vector<ItemIndex> trained;
      for (const ComposedPack& pack : iteration.packs)
        trained.insert(trained.end(), pack.items.begin(), pack.items.end());
      std::ranges::sort(trained);
      REQUIRE(trained == items);
      // A pack's time is that of its items, priced one by one.
      for (const ComposedPack& pack : iteration.packs) {
        std::vector<std::int32_t> lengths;
        std::int64_t tokens = 0;
        for (const ItemIndex item : pack.items) {
          lengths.push_back(job.lengths_tokens[item]);
          tokens += lengths.back();
        }
        const PackCost& cost = setting.groups[costs.group_of(pack.degree, tokens)].cost;
        REQUIRE(pack.time_s == pack_time_s(cost, lengths));
      }
    }
  }
  CAPTURE(sum / n, worst);
  CHECK(sum / n < 0.02);
}
