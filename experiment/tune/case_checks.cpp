#include "experiment/tune/case_checks.hpp"

#include <fmt/format.h>

#include "experiment/plans/plan_group.hpp"

namespace packsim {

std::string degree_mistake(const Scenario& scenario, int sp_degree) {
  const GroupSpec group{.capacity_tokens = 0, .sequence = {.ulysses = sp_degree}, .gc_layers = std::nullopt};
  const auto mistakes = plan_mistakes(scenario.model, scenario.cluster, group_plan(scenario.plan, group, 0));
  if (mistakes.empty()) return "";
  const PlanMistake& first = mistakes.front();
  const std::string of = first.keys.size() > 1 ? first.names() + " to be " : "";
  return fmt::format("expected {}{}, got {}", of, first.expected, first.got);
}

std::int64_t smallest_iteration_tokens(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree) {
  return packed_gpus(scenario.plan) / sp_degree * pack_tokens;
}

ProfiledCase planned_case(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree) {
  ProfiledCase one{.pack_tokens = pack_tokens, .sequence = {.ulysses = sp_degree}};
  one.infeasible_reason = degree_mistake(scenario, sp_degree);
  if (!one.infeasible_reason.empty()) return one;
  if (pack_tokens % sp_degree != 0) {
    one.infeasible_reason = fmt::format("SP {} does not divide the pack length", sp_degree);
    return one;
  }
  const std::int64_t tokens_per_iteration = scenario.training.tokens_per_iteration;
  const GroupSpec spec{
      .capacity_tokens = pack_tokens, .sequence = {.ulysses = sp_degree}, .gc_layers = std::nullopt};
  const PlannedGroup group = plan_full_group(scenario, StrategySpec{}, spec);
  one.gc_layers = group.gc_layers;
  one.peak_memory_bytes = group.peak_memory_bytes;
  const std::int64_t smallest = smallest_iteration_tokens(scenario, pack_tokens, sp_degree);
  if (!group.fits_with_margin) {
    const MemoryNeed need = scarcest_memory(group);
    constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
    one.infeasible_reason =
        fmt::format("does not fit: {:.1f} of {:.1f} GiB{}", need.needed_bytes / kGibibyte,
                    need.room_bytes / kGibibyte, need.is_host ? " of a node's host memory" : "");
  } else if (smallest > tokens_per_iteration) {
    one.infeasible_reason =
        fmt::format("one pack for each rank is {} tokens, more than the {} of an iteration", smallest,
                    tokens_per_iteration);
  }
  return one;
}

}  // namespace packsim
