#include "cli/tune/case_checks.hpp"

#include <fmt/format.h>

namespace packsim {

std::string degree_mistake(const Scenario& scenario, int sp_degree) {
  const ParallelPlan plan = group_plan(scenario.plan, {.sp_degree = sp_degree, .gc_layers = std::nullopt}, 0);
  const auto mistakes = plan_mistakes(scenario.model, scenario.cluster, plan);
  if (mistakes.empty()) return "";
  const PlanMistake& first = mistakes.front();
  const std::string of = first.keys.size() > 1 ? first.names() + " to be " : "";
  return fmt::format("expected {}{}, got {}", of, first.expected, first.got);
}

std::int64_t smallest_iteration_tokens(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree) {
  return packed_gpus(scenario) / sp_degree * pack_tokens;
}

GroupResult plan_full_packs(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree) {
  const int n_micro_batches = micro_batches_that_fit(scenario.training.tokens_per_iteration,
                                                     packed_gpus(scenario) / sp_degree, pack_tokens);
  return plan_group(scenario,
                    {.capacity_tokens = pack_tokens, .sp_degree = sp_degree, .gc_layers = std::nullopt},
                    pack_tokens, n_micro_batches);
}

}  // namespace packsim
