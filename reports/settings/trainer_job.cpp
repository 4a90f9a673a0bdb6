#include "reports/settings/trainer_job.hpp"

#include <algorithm>
#include <stdexcept>

namespace packsim {

TrainerJob trainer_job(const RunManifest& manifest, const StrategyResult& run, const Transformer& model,
                       int nodes) {
  if (run.groups.empty()) throw std::invalid_argument("expected a run with groups of packs, got " + run.name);
  const PlannedGroup& longest =
      *std::ranges::max_element(run.groups, {}, [](const PlannedGroup& g) { return g.capacity_tokens; });
  return {.model = model,
          .nodes = nodes,
          .epochs = manifest.epochs,
          .strategy = run.strategy,
          .plan = plan_of_group(run.plan, longest),
          .capacity_tokens = longest.capacity_tokens,
          .micro_batches_per_rank = run.groups.size() == 1 ? longest.micro_batches_per_rank : std::nullopt,
          .run_plan = run.plan,
          .groups = run.groups};
}

}  // namespace packsim
