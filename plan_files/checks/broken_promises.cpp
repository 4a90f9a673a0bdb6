#include "packing/loss/normalisers.hpp"
#include "plan_files/checks/checks.hpp"

namespace packsim {
namespace {

const Strategy* known_strategy_of(const PlanFacts& facts, Mistakes& mistakes) {
  const Strategy* const strategy = find_strategy(facts.strategy);
  if (strategy == nullptr) {
    mistakes.add("facts: /strategy", "a strategy of this packsim (see packsim list strategies)",
                 "\"" + facts.strategy + "\"");
  }
  if (find_normaliser(facts.normaliser) == nullptr) {
    std::string known;
    for (const Normaliser& row : normalisers()) known += (known.empty() ? "" : ", ") + std::string(row.name);
    mistakes.add("facts: /normaliser", "one of " + known, "\"" + facts.normaliser + "\"");
  }
  return strategy;
}

}  // namespace

std::vector<std::string> broken_promises(const PlanTables& tables) {
  Mistakes mistakes;
  const Strategy* const strategy = known_strategy_of(tables.facts, mistakes);
  if (strategy == nullptr) return std::move(mistakes).take();
  const PackedItems packed = check_packs(tables, *strategy, mistakes);
  check_samples(tables, *strategy, packed, mistakes);
  check_epochs(tables, *strategy, packed.packs, mistakes);
  check_weights(tables, packed.packs, mistakes);
  if (!mistakes.any()) check_order(tables, *strategy, mistakes);
  return std::move(mistakes).take();
}

}  // namespace packsim
