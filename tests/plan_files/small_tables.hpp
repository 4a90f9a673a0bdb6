#pragma once

#include <string_view>

#include "packing/strategy.hpp"
#include "tests/plan_files/own_tables.hpp"

namespace packsim::testing {

using Lengths = std::vector<std::int32_t>;  // of samples
using Packs = std::vector<std::uint32_t>;   // of an iteration

/// A plan small enough to see through: one group on one GPU, one epoch, and packs of given samples.
struct SmallPlan {
  std::string_view strategy = "ffd";
  std::vector<Lengths> packs;
  std::vector<Packs> iterations;
  std::int64_t capacity_tokens = 100;
  std::uint32_t micro_batches_per_rank = 1;
  PackOrder order = PackOrder::shuffled;
  LastIteration last_iteration = LastIteration::repeat;
  int epochs = 1;
  std::int64_t curriculum_iterations = 0;
};

/// With the normaliser `sum`, so that the weight of a pack with loss tokens is 1 in any iteration.
inline OwnTables small_tables(const SmallPlan& how) {
  OwnTables plan{PlanTables{}};
  plan.pack_offsets = {0};
  std::vector<double> weights;
  for (const std::vector<std::int32_t>& pack : how.packs) {
    double weight = 0;
    for (const std::int32_t length : pack) {
      plan.pack_items.push_back(static_cast<std::uint32_t>(plan.lengths_tokens.size()));
      plan.lengths_tokens.push_back(length);
      plan.facts.counts.n_tokens += length;
      if (length > 1) weight = 1;  // all tokens but the first have loss
    }
    plan.pack_offsets.push_back(plan.pack_items.size());
    weights.push_back(weight);
  }
  plan.groups = {{.capacity_tokens = how.capacity_tokens,
                  .n_packs = static_cast<std::uint32_t>(how.packs.size()),
                  .micro_batches_per_rank = how.micro_batches_per_rank}};
  for (const std::vector<std::uint32_t>& packs : how.iterations) {
    plan.iterations.push_back({.first_placed = static_cast<std::uint32_t>(plan.placed.size()),
                               .n_placed = static_cast<std::uint32_t>(packs.size())});
    for (std::uint16_t round = 0; round < packs.size(); ++round) {
      plan.placed.push_back({.pack = packs[round], .round = round});
      plan.weights.push_back(weights[packs[round]]);
    }
  }
  plan.facts.strategy = how.strategy;
  plan.facts.normaliser = "sum";
  plan.facts.lengths_hash = hash_of_lengths(plan.lengths_tokens);
  plan.facts.counts.n_samples = static_cast<std::int64_t>(plan.lengths_tokens.size());
  plan.facts.order = how.order;
  plan.facts.last_iteration = how.last_iteration;
  plan.facts.epochs = how.epochs;
  plan.facts.curriculum_iterations = how.curriculum_iterations;
  return plan;
}

}  // namespace packsim::testing
