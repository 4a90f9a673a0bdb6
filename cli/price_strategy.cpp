#include "cli/price_strategy.hpp"

#include "models/step/micro_batch_time.hpp"

namespace packsim {
namespace {

// How often the schedule trains each pack of each group: [n_groups][n_packs].
std::vector<std::vector<std::uint32_t>> count_packs(const PlannedStrategy& plan) {
  std::vector<std::vector<std::uint32_t>> counts;
  for (const auto& group : plan.batches) counts.emplace_back(group.size(), 0U);
  for (const Iteration& iteration : plan.schedule.iterations) {
    for (const std::uint32_t pack : plan.schedule.packs(iteration)) ++counts[iteration.group][pack];
  }
  return counts;
}

// The documents of a pack as attention sees them: padded rows of a batch of rows; else the samples one after
// another, and the padding behind them as one more.
void pack_lengths(const Packing& packing, std::size_t group, std::size_t pack, const MicroBatch& batch,
                  std::vector<std::int32_t>& lengths_tokens) {
  lengths_tokens.clear();
  if (packing.strategy->layout == Layout::rows && batch.padded_tokens > 0) {
    const auto row = static_cast<std::int32_t>((batch.tokens + batch.padded_tokens) / batch.n_items);
    lengths_tokens.assign(static_cast<std::size_t>(batch.n_items), row);
    return;
  }
  for (const ItemIndex item : packing.groups[group][pack]) {
    if (packing.lengths_tokens[item] > 0) lengths_tokens.push_back(packing.lengths_tokens[item]);
  }
  if (batch.padded_tokens > 0) lengths_tokens.push_back(static_cast<std::int32_t>(batch.padded_tokens));
}

}  // namespace

PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan) {
  const auto counts = count_packs(plan);
  PricedStrategy priced;
  std::vector<std::int32_t> lengths_tokens;
  for (std::size_t g = 0; g < plan.plans.size(); ++g) {
    priced.pricers.push_back(std::make_unique<StepPricer>(scenario.model, scenario.cluster, plan.plans[g],
                                                          scenario.hardware, scenario.profile.factors));
    StepPricer& pricer = *priced.pricers.back();
    PricedGroup& group = priced.groups.emplace_back();
    group.plan.plan = plan.plans[g];
    const int n_chunks = plan.plans[g].pp_degree * plan.plans[g].virtual_stages;
    for (int chunk = 0; chunk < n_chunks; ++chunk) {
      group.plan.chunks.push_back(pricer.chunk(chunk));
      group.plan.states.push_back(pricer.states(chunk));
    }
    const double gpus = plan.plans[g].rank_gpus();
    group.packs.resize(plan.batches[g].size());
    for (std::size_t p = 0; p < group.packs.size(); ++p) {
      if (counts[g][p] == 0) continue;
      const MicroBatch& batch = plan.batches[g][p];
      pack_lengths(plan.packing, g, p, batch, lengths_tokens);
      group.packs[p] = pricer.micro_batch(batch.tokens + batch.padded_tokens, lengths_tokens);
      for (const ChunkShape& chunk : group.plan.chunks)
        add_account(priced.account, group.packs[p], chunk, counts[g][p] * gpus / plan.plans[g].pp_degree);
    }
  }
  return priced;
}

}  // namespace packsim
