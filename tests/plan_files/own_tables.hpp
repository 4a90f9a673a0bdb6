#pragma once

#include <vector>

#include "plan_files/plan_tables.hpp"

namespace packsim::testing {

/// The tables of a plan in vectors of their own, which a test may change to what no file could hold.
struct OwnTables {
  PlanFacts facts;
  std::vector<PlanGroup> groups;
  std::vector<PlanIteration> iterations;
  std::vector<PlanPlacedPack> placed;
  std::vector<double> weights;
  std::vector<std::uint64_t> pack_offsets;
  std::vector<std::uint32_t> pack_items;
  std::vector<std::int32_t> lengths_tokens;
  std::vector<std::uint32_t> piece_samples;
  std::vector<std::int32_t> piece_starts;
  std::vector<std::int32_t> loss_tokens;

  explicit OwnTables(const PlanTables& plan)
      : facts(plan.facts),
        groups(plan.groups.begin(), plan.groups.end()),
        iterations(plan.iterations.begin(), plan.iterations.end()),
        placed(plan.placed.begin(), plan.placed.end()),
        weights(plan.weights.begin(), plan.weights.end()),
        pack_offsets(plan.pack_offsets.begin(), plan.pack_offsets.end()),
        pack_items(plan.pack_items.begin(), plan.pack_items.end()),
        lengths_tokens(plan.lengths_tokens.begin(), plan.lengths_tokens.end()),
        piece_samples(plan.piece_samples.begin(), plan.piece_samples.end()),
        piece_starts(plan.piece_starts.begin(), plan.piece_starts.end()),
        loss_tokens(plan.loss_tokens.begin(), plan.loss_tokens.end()) {}

  PlanTables tables() const {
    return {.facts = facts,
            .groups = groups,
            .iterations = iterations,
            .placed = placed,
            .weights = weights,
            .pack_offsets = pack_offsets,
            .pack_items = pack_items,
            .lengths_tokens = lengths_tokens,
            .piece_samples = piece_samples,
            .piece_starts = piece_starts,
            .loss_tokens = loss_tokens};
  }

  /// What a reader of these tables is told: all mistakes, a line each; empty where there is none.
  std::string refusal() const {
    const PlanTables plan = tables();
    std::vector<std::string> mistakes = table_mistakes(plan);
    if (mistakes.empty()) mistakes = broken_promises(plan);
    std::string text;
    for (const std::string& mistake : mistakes) text += (text.empty() ? "" : "\n") + mistake;
    return text;
  }
};

}  // namespace packsim::testing
