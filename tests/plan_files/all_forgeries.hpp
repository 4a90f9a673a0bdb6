#pragma once

#include "plan_files/restore_plan.hpp"
#include "tests/plan_files/forged_facts.hpp"
#include "tests/plan_files/forged_orders.hpp"
#include "tests/plan_files/forged_samples.hpp"
#include "tests/plan_files/forged_tables.hpp"

namespace packsim::testing {

/// Opened and checked, as whoever trains or prices it does.
inline std::string refusal_of(const Bytes& file) {
  try {
    restore_plan(PlanView::of_bytes(file, "x.plan"));
  } catch (const PlanFileError& error) {
    return error.what();
  }
  return "accepted";
}

/// Plans that together make every promise.
inline std::vector<MakePlan> base_plans() {
  return {
      {.strategy = "bfd"},
      {.strategy = "bfd",
       .over_long = OverLong::drop,
       .longest_tokens = 120,
       .says_loss_tokens = true,
       .one_empty_in = 10,
       .last_iteration = LastIteration::drop,
       .normaliser = "token_mean"},
      {.strategy = "ffd",
       .over_long = OverLong::own_pack,
       .longest_tokens = 150,
       .gpus_per_pack = 2,
       .epochs = 3,
       .empty = Empty::keep,
       .one_empty_in = 10,
       .last_iteration = LastIteration::shorten,
       .normaliser = "sample_mean"},
      {.strategy = "bfd", .order = PackOrder::as_packed, .normaliser = "longalign"},
      {.strategy = "isf", .order = PackOrder::neighbours, .normaliser = "sum"},
      {.strategy = "bfd", .order = PackOrder::balanced, .padding = Padding::capacity},
      {.strategy = "ffd", .n_samples = 90, .curriculum_iterations = 2},
      {.strategy = "hbp", .n_samples = 120, .curriculum_iterations = 1},
      {.strategy = "hbp",
       .over_long = OverLong::split,
       .longest_tokens = 150,
       .gpus_per_pack = 2,
       .says_loss_tokens = true},
      {.strategy = "wrapped", .over_long = OverLong::truncate, .longest_tokens = 150, .one_empty_in = 10},
      {.strategy = "bfd", .over_long = OverLong::truncate, .longest_tokens = 150},
      {.strategy = "wlb", .n_samples = 100},
      {.strategy = "megatron_hybrid_cp", .over_long = OverLong::drop, .longest_tokens = 120},
      {.strategy = "sorted", .n_samples = 100},
      {.strategy = "hbp", .over_long = OverLong::split, .longest_tokens = 150, .one_empty_in = 4},
      {.strategy = "hbp",
       .over_long = OverLong::split,
       .longest_tokens = 150,
       .empty = Empty::keep,
       .one_empty_in = 4},
      {.strategy = "wlb", .n_samples = 100, .curriculum_iterations = 3, .padding = Padding::capacity},
      {.strategy = "megatron_hybrid_cp",
       .longest_tokens = 100,
       .normaliser = "sample_mean",
       .has_wider_groups = true},
      {.strategy = "flexsp", .n_samples = 100, .says_loss_tokens = true, .has_wider_groups = true},
      {.strategy = "ffd", .n_samples = 90, .order = PackOrder::balanced, .normaliser = "sum"},
      {.strategy = "hbp", .n_samples = 120, .curriculum_iterations = 2, .normaliser = "sum"},
      {.strategy = "wlb", .n_samples = 100, .curriculum_iterations = 2, .normaliser = "sum"},
  };
}

/// How each promise is broken.
inline std::vector<ForgeryRule> all_rules() {
  std::vector<ForgeryRule> rules = forged_facts();
  for (const auto& more : {forged_placed(), forged_weights(), forged_packs(), forged_layouts(),
                           forged_samples(), forged_orders()})
    rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

}  // namespace packsim::testing
