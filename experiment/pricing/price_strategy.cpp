#include "experiment/pricing/price_strategy.hpp"

#include <unordered_map>
#include <utility>

#include "models/coverage/schedule_kernels.hpp"
#include "models/step/overlap.hpp"
#include "models/step/plan_account.hpp"

namespace packsim {
namespace {

StepPricer::PackAttention attention_of(StepPricer& pricer, const PlannedStrategy& plan, std::size_t group,
                                       std::size_t pack) {
  return pricer.attention(
      pack_documents(plan.packing, group, pack, plan.batches[group][pack]).lengths_tokens());
}

// Attention of all packs, if other jobs share it; else null.
std::shared_ptr<const PackAttentions::OfGroups> shared_attentions(const PlannedStrategy& plan,
                                                                  ScenarioPricers& pricers) {
  if (!plan.attentions) return nullptr;
  std::vector<StepPricer::AttentionBasis> bases;
  for (const ParallelPlan& of_group : plan.plans) bases.push_back(pricers.of(of_group).attention_basis());
  return plan.attentions->of(bases, [&] {
    PackAttentions::OfGroups times(plan.batches.size());
    for (std::size_t g = 0; g < times.size(); ++g) {
      StepPricer& pricer = pricers.of(plan.plans[g]);
      times[g].reserve(plan.batches[g].size());
      for (std::size_t p = 0; p < plan.batches[g].size(); ++p)
        times[g].push_back(attention_of(pricer, plan, g, p));
    }
    return times;
  });
}

// Prices the packs of one group, one after another.
class GroupPrices {
 public:
  // attention: [n_packs], or null where it is not known.
  GroupPrices(StepPricer& pricer, const PlannedStrategy& plan, std::size_t group,
              const std::vector<StepPricer::PackAttention>* attention, PackPrices& prices)
      : pricer_(pricer), plan_(plan), group_(group), attention_(attention), prices_(prices) {}

  void add(std::size_t pack) {
    const MicroBatch& batch = plan_.batches[group_][pack];
    // The price of a pack of one sample follows from its length and its padding.
    if (batch.n_items == 1) {
      const std::uint64_t tokens_and_padding =
          static_cast<std::uint64_t>(batch.tokens) << 32U | static_cast<std::uint64_t>(batch.padded_tokens);
      const auto next = static_cast<std::uint32_t>(prices_.prices().size());
      const auto [known, is_new] = alone_.try_emplace(tokens_and_padding, next);
      if (!is_new) return prices_.push_back_same(known->second);
    }
    prices_.push_back(pricer_.with_attention(
        batch.tokens + batch.padded_tokens,
        attention_ != nullptr ? (*attention_)[pack] : attention_of(pricer_, plan_, group_, pack)));
  }

 private:
  StepPricer& pricer_;
  const PlannedStrategy& plan_;
  std::size_t group_;
  const std::vector<StepPricer::PackAttention>* attention_;
  PackPrices& prices_;
  std::unordered_map<std::uint64_t, std::uint32_t> alone_;  // price of a pack of one sample
};

}  // namespace

SimulationOptions simulation_options(const Scenario& scenario, const Topology* topology) {
  const bool contends = topology != nullptr;
  return {.detail = contends ? StepDetail::stages : StepDetail::micro_batches,
          .topology = topology,
          .slow_down = contends ? overlap_slow_down(scenario.hardware) : 1,
          .ranks_wait = scenario.ranks_wait,
          .variability = scenario.variability};
}

PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan,
                              std::shared_ptr<ScenarioPricers> pricers) {
  PricedStrategy priced;
  priced.pricers = pricers ? std::move(pricers) : std::make_shared<ScenarioPricers>(scenario);
  const auto attentions = shared_attentions(plan, *priced.pricers);
  for (std::size_t g = 0; g < plan.plans.size(); ++g) {
    StepPricer& pricer = priced.pricers->of(plan.plans[g]);
    PricedGroup& group = priced.groups.emplace_back();
    group.plan = price_plan(pricer);
    GroupPrices prices(pricer, plan, g, attentions ? &(*attentions)[g] : nullptr, group.packs);
    const std::vector<std::uint32_t>& n_uses = plan.uses.of_pack[g];
    group.packs.reserve(n_uses.size());
    for (std::size_t p = 0; p < n_uses.size(); ++p) {
      if (n_uses[p] > 0) {
        prices.add(p);
      } else {
        group.packs.push_back({});
      }
    }
  }
  return priced;
}

PriceAccount account_of(const PlannedStrategy& plan, const PricedStrategy& priced) {
  const PackUseCounts& counts = plan.uses;
  PriceAccount total;
  for (std::size_t g = 0; g < plan.plans.size(); ++g) {
    PlanAccount account(priced.pricers->of(plan.plans[g]));
    double n_trained = 0;
    for (std::size_t p = 0; p < counts.of_pack[g].size(); ++p) {
      const auto times = static_cast<double>(counts.of_pack[g][p]);
      if (times == 0) continue;
      account.add_micro_batches(priced.groups[g].packs[p], times);
      n_trained += times;
    }
    account.add_steps(counts.rank_steps[g], n_trained, counts.later_micro_batches[g]);
    total.add(account.total());
  }
  return total;
}

double forward_gpu_s(const PlannedStrategy& plan, const PricedStrategy& priced) {
  double total_s = 0;
  for (std::size_t g = 0; g < plan.plans.size(); ++g) {
    const PricedGroup& group = priced.groups[g];
    double group_ns = 0;
    const std::vector<std::uint32_t>& n_uses = plan.uses.of_pack[g];
    for (std::size_t p = 0; p < n_uses.size(); ++p) {
      if (n_uses[p] == 0) continue;
      std::int64_t pass_ns = 0;
      for (const ChunkShape& chunk : group.plan.chunks)
        pass_ns += forward_time(group.packs[p], chunk).total_ns;
      group_ns += static_cast<double>(n_uses[p]) * static_cast<double>(pass_ns);
    }
    total_s += group_ns / 1e9 * plan.plans[g].sequence_gpus();
  }
  return total_s;
}

}  // namespace packsim
