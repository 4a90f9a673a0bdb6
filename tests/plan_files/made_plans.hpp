#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "packing/flexsp/local_search.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"
#include "plan_files/plan_bytes.hpp"

namespace packsim::testing {

/// A packing of random lengths and its schedule on four GPUs.
struct MadePlan {
  std::vector<std::int32_t> lengths_tokens;
  Packing packing;
  Schedule schedule;
  std::vector<std::int32_t> loss_tokens;  // empty: not said
  PlanFacts facts;

  PlanContent content() const {
    return {
        .packing = packing, .schedule = schedule, .sequence = {}, .loss_tokens = loss_tokens, .facts = facts};
  }
  std::vector<std::byte> bytes() const { return plan_bytes(content()); }
};

struct MakePlan {
  std::string_view strategy = "bfd";
  std::size_t n_samples = 60;
  OverLong over_long = OverLong::error;
  int longest_tokens = 100;  // of the samples; packs have 100
  int gpus_per_pack = 1;
  int epochs = 2;
  bool says_loss_tokens = false;
  unsigned seed = 1;
  Empty empty = Empty::drop;
  int one_empty_in = 0;                 // so many samples; 0: none is empty
  std::optional<PackOrder> order = {};  // the strategy's own
  LastIteration last_iteration = LastIteration::repeat;
  int curriculum_iterations = 0;
  Padding padding = Padding::none;
  std::string_view normaliser = "stable";
  int n_groups = 2;               // of strategies that have several
  bool has_wider_groups = false;  // each group has packs of twice the GPUs of the one before
};

inline MadePlan make_plan(const MakePlan& how) {
  std::mt19937 draw(how.seed);
  MadePlan made;
  for (std::size_t i = 0; i < how.n_samples; ++i)
    made.lengths_tokens.push_back(
        1 + static_cast<std::int32_t>(draw() % static_cast<unsigned>(how.longest_tokens)));
  for (std::size_t i = 0; how.one_empty_in > 0 && i < how.n_samples; ++i) {
    if (draw() % static_cast<unsigned>(how.one_empty_in) == 0) made.lengths_tokens[i] = 0;
  }
  const Strategy& strategy = *find_strategy(how.strategy);
  const bool has_groups = strategy.pack_groups != nullptr || how.has_wider_groups;
  PackRequest request{.lengths_tokens = made.lengths_tokens, .capacities_tokens = {100}};
  for (int g = 1; has_groups && g < how.n_groups; ++g)  // 50 and 100, or 25, 50 and 100
    request.capacities_tokens.insert(request.capacities_tokens.begin(),
                                     request.capacities_tokens.front() / 2);
  request.over_long = how.over_long;
  request.empty = how.empty;
  const int n_gpus = 4;
  BatchSetting setting{.groups = {}, .n_gpus = n_gpus, .tokens_per_iteration = 400};
  const auto gpus_per_pack = [&](std::size_t group) {
    return how.has_wider_groups ? how.gpus_per_pack << group : how.gpus_per_pack;
  };
  for (std::size_t g = 0; g < request.capacities_tokens.size(); ++g) {
    setting.groups.push_back(
        {.capacity_tokens = request.capacities_tokens[g], .gpus_per_pack = gpus_per_pack(g), .cost = {}});
  }
  LocalSearchSolver solver;
  setting.solver = &solver;
  request.options.set("costs", "published_7b");  // that need no prices
  if (strategy.forms_iterations()) request.setting = &setting;
  made.packing = pack(how.strategy, request);
  std::vector<std::vector<MicroBatch>> batches;
  std::vector<GroupParallelism> parallelism;
  for (std::size_t g = 0; g < made.packing.groups.size(); ++g) {
    batches.push_back(micro_batches(made.packing, g, how.padding));
    parallelism.push_back({.gpus_per_pack = gpus_per_pack(g), .gc_layers = static_cast<int>(g) + 3});
  }
  const ScheduleOptions options{.n_gpus = n_gpus,
                                .micro_batches_per_rank = 2,
                                .order = how.order.value_or(strategy.default_order),
                                .last_iteration = how.last_iteration,
                                .curriculum_iterations = how.curriculum_iterations,
                                .epochs = how.epochs};
  made.schedule = strategy.forms_iterations()
                      ? make_schedule(made.packing.planned, batches, parallelism, options)
                      : make_schedule(batches, made.packing.capacities_tokens, parallelism, options);
  made.facts.lengths_hash = hash_of_lengths(made.lengths_tokens);
  made.facts.normaliser = how.normaliser;
  made.facts.over_long = how.over_long;
  made.facts.empty = how.empty;
  made.facts.padding = how.padding;
  made.facts.order = options.order;
  made.facts.last_iteration = options.last_iteration;
  if (how.says_loss_tokens) {
    for (const std::int32_t length : made.packing.lengths_tokens)
      made.loss_tokens.push_back(static_cast<std::int32_t>(draw() % static_cast<unsigned>(length + 1)));
  }
  return made;
}

}  // namespace packsim::testing
