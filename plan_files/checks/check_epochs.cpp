#include <string>
#include <utility>

#include "plan_files/checks/checks.hpp"
#include "plan_files/checks/dealt_iterations.hpp"
#include "plan_files/checks/pack_uses.hpp"

namespace packsim {
namespace {

// All packs of a round wait for the others, or none; nobody waits in the first one.
bool has_common_barriers(const PlanTables& tables, const PlanIteration& iteration, Mistakes& mistakes) {
  const auto packs = tables.packs(iteration);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    const bool begins_round = i == 0 || packs[i].round != packs[i - 1].round;
    if (begins_round ? i > 0 || packs[i].flags == 0 : packs[i].flags == packs[i - 1].flags) continue;
    mistakes.add("placed.flags", iteration.first_placed + i,
                 "what the round's first pack has, and 0 in the first round", packs[i].flags);
    return false;
  }
  return true;
}

// Iterations that the strategy has formed: the same in every epoch, each once.
bool are_planned(const PlanTables& tables, PackUses& uses, Mistakes& mistakes) {
  const auto n = static_cast<std::size_t>(tables.iterations_per_epoch());
  std::vector<std::uint32_t> epoch_of(
      tables.placed.size());  // [n_placed] latest that has the iteration from there on
  for (std::size_t i = 0; i < tables.iterations.size(); ++i) {
    const auto epoch = static_cast<std::uint32_t>(i / n) + 1;
    if (i % n == 0) uses.begin_epoch();
    const PlanIteration& iteration = tables.iterations[i];
    if (std::exchange(epoch_of[iteration.first_placed], epoch) != epoch - 1) {
      mistakes.add("iterations", i, "those of the first epoch, each once in every epoch",
                   iteration.first_placed);
      return false;
    }
    if (epoch > 1) continue;  // the same packs as in the first one
    if (!has_common_barriers(tables, iteration, mistakes)) return false;
    for (const PlanPlacedPack& placed : tables.packs(iteration)) {
      if (uses.use(tables.pack_index(placed)) == 1) continue;
      mistakes.add("placed.pack", static_cast<std::size_t>(&placed - tables.placed.data()),
                   "a pack that the epoch trains once", placed.pack);
      return false;
    }
    if (i + 1 < n) continue;
    const std::int64_t n_dropped = uses.end_epoch();
    if (n_dropped == 0) continue;
    mistakes.add("placed", "every pack in an iteration", std::to_string(n_dropped) + " in none");
    return false;
  }
  return true;
}

}  // namespace

void check_epochs(const PlanTables& tables, const Strategy& strategy, std::span<const PackLoad> packs,
                  Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  if (facts.curriculum_iterations > tables.iterations_per_epoch()) {
    mistakes.add("facts: /curriculum_iterations",
                 "at most the " + std::to_string(tables.iterations_per_epoch()) + " of an epoch",
                 std::to_string(facts.curriculum_iterations));
  }
  if (facts.curriculum_iterations > 0 && facts.order == PackOrder::as_packed) {
    mistakes.add("facts: /curriculum_iterations", "0 in the order as_packed",
                 std::to_string(facts.curriculum_iterations));
  }
  PackUses uses(packs);
  const bool is_planned = strategy.forms_iterations();
  if (is_planned && tables.iterations.empty() && !packs.empty()) {
    return mistakes.add("placed", "every pack in an iteration", std::to_string(packs.size()) + " in none");
  }
  const bool are_right =
      is_planned ? are_planned(tables, uses, mistakes) : DealtIterations(tables, uses, mistakes).are_right();
  if (!are_right) return;
  const std::string epochs = "over all epochs";
  mistakes.expect_fact("dropped_packs", facts.dropped_packs, uses.dropped_packs,
                       "the packs that are not trained, " + epochs);
  mistakes.expect_fact("dropped_pack_tokens", facts.dropped_pack_tokens, uses.dropped_tokens,
                       "their tokens, " + epochs);
  mistakes.expect_fact("repeated_packs", facts.repeated_packs, uses.repeated_packs,
                       "the packs that are trained again, " + epochs);
  mistakes.expect_fact("repeated_tokens", facts.repeated_tokens, uses.repeated_tokens,
                       "their tokens, " + epochs);
}

}  // namespace packsim
