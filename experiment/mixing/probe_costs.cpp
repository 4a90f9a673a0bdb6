#include "experiment/mixing/probe_costs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "models/kernels/make_case.hpp"
#include "models/state_traffic.hpp"
#include "models/step/pass/pass_time.hpp"
#include "packing/pack.hpp"
#include "sim/run/probe_burst.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {
namespace {

constexpr double kSecondsPerDay = 86400;
// A backward pass takes about two forward passes.
constexpr double kForwardsOfBoth = 3;

// One way to measure rewards.
struct ProbeWay {
  std::string name;
  ProbeSpec spec;
};

// Passes of one update.
struct UpdatePasses {
  std::vector<ProbePass> gradient;    // forward and backward
  std::vector<ProbePass> perplexity;  // forward, of one measurement
};

// The time of probes under the groups of a plan.
class ProbePricer {
 public:
  ProbePricer(const Scenario& scenario, const PlannedStrategy& plan, OverLong over_long,
              ScenarioPricers& pricers)
      : scenario_(scenario),
        plan_(plan),
        over_long_(over_long),
        pricers_(pricers),
        priced_(plan.plans.size()) {}

  int n_gpus() const { return plan_.schedule.n_gpus; }

  // Passes of these samples: packed, or each sample alone.
  std::vector<ProbePass> passes(std::span<const std::int32_t> lengths, bool packs, bool backward) {
    std::map<std::size_t, std::vector<std::int32_t>> by_group;
    for (const std::int32_t length : lengths) {
      const std::size_t group = group_of(length);
      const std::int64_t capacity_tokens = plan_.packing.capacities_tokens[group];
      if (length == 0 || (length > capacity_tokens && over_long_ == OverLong::drop)) continue;
      const bool is_cut = length > capacity_tokens && over_long_ == OverLong::truncate;
      by_group[group].push_back(is_cut ? static_cast<std::int32_t>(capacity_tokens) : length);
    }
    std::vector<ProbePass> passes;
    for (const auto& [group, kept] : by_group) {
      if (!packs) {
        for (const std::int32_t& length : kept) passes.push_back(pass(group, {&length, 1}, backward));
        continue;
      }
      const Packing packing = pack("bfd", {.lengths_tokens = kept,
                                           .capacities_tokens = {plan_.packing.capacities_tokens[group]},
                                           .over_long = OverLong::own_pack});
      std::vector<std::int32_t> documents;
      for (std::size_t p = 0; p < packing.groups[0].n_packs(); ++p) {
        documents.clear();
        for (const ItemIndex item : packing.groups[0][p]) documents.push_back(kept[item]);
        passes.push_back(pass(group, documents, backward));
      }
    }
    return passes;
  }

  // Time to exchange the sums and counts of all arms.
  SimTime exchange_of(std::size_t n_numbers) {
    const int n = scenario_.cluster.n_gpus();
    if (n == 1) return {};
    const KernelCase kernel =
        collective_case("all_reduce", n, scenario_.cluster.nodes, static_cast<std::int64_t>(8 * n_numbers));
    return SimTime{nanoseconds(pricers_.store()->kernels().time(kernel).estimate().time_s)};
  }

 private:
  std::size_t group_of(std::int32_t length) const {
    const std::vector<std::int64_t>& capacities = plan_.packing.capacities_tokens;
    const auto holds = std::ranges::find_if(capacities, [&](std::int64_t n) { return n >= length; });
    return holds == capacities.end() ? capacities.size() - 1
                                     : static_cast<std::size_t>(holds - capacities.begin());
  }

  ProbePass pass(std::size_t group, std::span<const std::int32_t> documents, bool backward) {
    const ParallelPlan& plan = plan_.plans[group];
    StepPricer& pricer = pricers_.of(plan);
    const std::int64_t tokens = std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
    const MicroBatchPrice price = pricer.micro_batch(tokens, documents);
    if (!priced_[group]) priced_[group] = price_plan(pricer);
    const PricedPlan& priced = *priced_[group];
    std::vector<std::int64_t> stage_ns(static_cast<std::size_t>(plan.pp_degree), 0);
    for (std::size_t c = 0; c < priced.chunks.size(); ++c) {
      std::int64_t chunk_ns = forward_time(price, priced.chunks[c]).total_ns;
      if (backward) chunk_ns += backward_time(price, priced.chunks[c]).total_ns;
      std::int64_t gathers_ns = 0;
      for (const StateUnit& unit : priced.states[c].units) gathers_ns += unit.gather_ns + unit.fetch_ns;
      if (gathers_every_pass(plan)) chunk_ns = std::max(chunk_ns, (backward ? 2 : 1) * gathers_ns);
      stage_ns[c % stage_ns.size()] += chunk_ns;
    }
    return {.gpus = plan_.schedule.groups[group].gpus_per_pack,
            .time_ns = *std::ranges::max_element(stage_ns)};
  }

  const Scenario& scenario_;
  const PlannedStrategy& plan_;
  OverLong over_long_;
  ScenarioPricers& pricers_;
  std::vector<std::optional<PricedPlan>> priced_;  // [n_groups]
};

UpdatePasses passes_of(ProbePricer& pricer, const ProbeLengths& lengths, bool packs) {
  UpdatePasses passes;
  // The gradients of single samples are measured, so that no two of them share a pass.
  for (const std::vector<std::int32_t>& subset : lengths.gradient)
    std::ranges::move(pricer.passes(subset, false, true), std::back_inserter(passes.gradient));
  std::vector<std::int32_t> all;
  for (const std::vector<std::int32_t>& arm : lengths.perplexity)
    all.insert(all.end(), arm.begin(), arm.end());
  passes.perplexity = pricer.passes(all, packs, false);
  return passes;
}

// The GPUs on which passes run.
struct ProbeMachine {
  int n_gpus = 1;
  SimTime exchange = {};
  bool in_lockstep = false;  // whether all GPUs gather weights for every pass
  bool has_pipeline = false;
  bool has_one_degree = true;  // whether as many GPUs share every pack
  double idle_gpu_s = 0;       // of the GPUs in the step before an update

  // A pass can hide if it needs neither all stages of a pipeline nor, in lockstep, the weights of all ranks,
  // and if its GPUs wait together: a single GPU, or those of a rank if equally many share every pack.
  bool can_hide(const ProbePass& pass) const {
    return !has_pipeline && !in_lockstep && (has_one_degree || pass.gpus == 1);
  }
  SimTime time(std::span<const ProbePass> passes, ProbePlacement placement) const {
    if (placement == ProbePlacement::repeated) return repeated_probes_time(passes);
    return in_lockstep ? lockstep_probes_time(passes, n_gpus, exchange)
                       : spread_probes_time(passes, n_gpus, exchange);
  }
};

// The passes as a ProbeSpec runs them: if it may, forward passes in the idle time of the step before.
struct PricedUpdate {
  double time_s = 0;
  double hidden_gpu_s = 0;
};

PricedUpdate price_update(const UpdatePasses& passes, const ProbeSpec& spec, const ProbeMachine& machine) {
  std::vector<ProbePass> all = passes.gradient;
  std::vector<ProbePass> forwards;
  for (int i = 0; i < spec.perplexity_times; ++i)
    forwards.insert(forwards.end(), passes.perplexity.begin(), passes.perplexity.end());
  PricedUpdate priced;
  if (spec.overlaps) {
    // The shortest come first, so that the most of them fit.
    std::ranges::stable_sort(forwards, {}, [](const ProbePass& pass) { return pass.gpus * pass.time_ns; });
    const auto fits = std::ranges::find_if(forwards, [&](const ProbePass& pass) {
      if (!machine.can_hide(pass)) return true;
      const double gpu_s = 1e-9 * static_cast<double>(pass.gpus * pass.time_ns);
      if (priced.hidden_gpu_s + gpu_s > machine.idle_gpu_s) return true;
      priced.hidden_gpu_s += gpu_s;
      return false;
    });
    forwards.erase(forwards.begin(), fits);
  }
  all.insert(all.end(), forwards.begin(), forwards.end());
  priced.time_s = to_seconds(machine.time(all, spec.placement)) + spec.actor_update_s;
  return priced;
}

std::vector<ProbeWay> ways_of(const ProbeSpec& spec) {
  ProbeSpec coded = spec;
  coded.placement = ProbePlacement::repeated;
  coded.packs = false;
  coded.overlaps = false;
  coded.perplexity_times = 4;
  ProbeSpec once = coded;
  once.perplexity_times = 1;
  ProbeSpec spread = once;
  spread.placement = ProbePlacement::spread;
  ProbeSpec packed = spread;
  packed.packs = true;
  ProbeSpec overlapped = packed;
  overlapped.overlaps = true;
  return {{"as the scenario says", spec},    {"every rank, groups 4 times (HBO's code)", coded},
          {"every rank, groups once", once}, {"spread over ranks", spread},
          {"spread and packed", packed},     {"spread, packed, while ranks wait", overlapped}};
}

std::vector<std::size_t> priced_updates(std::size_t n) {
  constexpr std::size_t kMost = 256;
  std::vector<std::size_t> updates;
  const std::size_t n_priced = std::min(n, kMost);
  for (std::size_t k = 0; k < n_priced; ++k) updates.push_back(k * n / n_priced);
  return updates;
}

// Forward passes of samples that an update takes on a rank, over those of training between two updates.
double passes_fraction(const MixedDraws& draws, const ProbeSpec& spec, const PlannedStrategy& plan) {
  const auto n_arms = static_cast<double>(draws.arms.n_arms());
  const double forwards = n_arms * (kForwardsOfBoth * spec.gradient_samples +
                                    static_cast<double>(spec.perplexity_samples) * spec.perplexity_times);
  double gpus_per_pack = 0;  // of the mean pack
  double n_packs = 0;
  for (std::size_t g = 0; g < plan.schedule.groups.size(); ++g) {
    const auto n = static_cast<double>(plan.packing.groups[g].n_packs());
    gpus_per_pack += n * plan.schedule.groups[g].gpus_per_pack;
    n_packs += n;
  }
  const double n_ranks = plan.schedule.n_gpus / (gpus_per_pack / n_packs);
  const double times = spec.placement == ProbePlacement::repeated ? n_ranks : 1;
  // Draws between two updates, over all windows but the last one.
  const MixtureWindow& last = draws.windows.back();
  const double of_window = static_cast<double>(last.first_draw) / static_cast<double>(draws.n_probed_updates);
  return times * forwards / (kForwardsOfBoth * of_window);
}

}  // namespace

std::vector<ProbeCost> probe_costs(const Scenario& scenario, const MixedDraws& draws,
                                   const PlannedStrategy& plan, const ProbedTraining& training,
                                   ScenarioPricers& pricers, std::vector<double>& update_s) {
  update_s.assign(draws.n_probed_updates, 0);
  if (draws.n_probed_updates == 0) return {};
  ProbePricer pricer(scenario, plan, training.over_long, pricers);
  const int n_gpus = pricer.n_gpus();
  const double all_gpus = scenario.cluster.n_gpus();
  const double gpus_each = all_gpus / n_gpus;
  const auto has = [&](auto is) { return std::ranges::any_of(plan.plans, is); };
  const ProbeMachine machine{
      .n_gpus = n_gpus,
      .exchange = pricer.exchange_of(2 * (draws.arms.n_subsets() + draws.arms.n_arms())),
      .in_lockstep =
          has([](const ParallelPlan& one) { return gathers_every_pass(one) || one.ep_degree > 1; }),
      .has_pipeline = has([](const ParallelPlan& one) { return one.pp_degree > 1; }),
      .has_one_degree = std::ranges::all_of(plan.schedule.groups,
                                            [&](const GroupPlan& group) {
                                              return group.gpus_per_pack ==
                                                     plan.schedule.groups.front().gpus_per_pack;
                                            }),
      .idle_gpu_s = training.idle_fraction * training.step_mean_s * n_gpus};
  std::vector<ProbeCost> costs;
  const std::vector<ProbeWay> ways = ways_of(scenario.mixing->probes);
  std::vector<double> total_s(ways.size(), 0);
  std::vector<double> hidden_s(ways.size(), 0);
  costs.resize(ways.size());
  const std::vector<std::size_t> updates = priced_updates(draws.n_probed_updates);
  for (std::size_t k = 0; k < updates.size(); ++k) {
    std::array<UpdatePasses, 2> passes;  // alone, packed
    for (const bool packs : {false, true})
      passes[packs ? 1 : 0] =
          passes_of(pricer, probe_lengths(draws, scenario.mixing->probes, updates[k]), packs);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const ProbeSpec& spec = ways[w].spec;
      const UpdatePasses& own = passes[spec.packs ? 1 : 0];
      const PricedUpdate priced = price_update(own, spec, machine);
      total_s[w] += priced.time_s;
      hidden_s[w] += priced.hidden_gpu_s;
      if (k == 0) {
        costs[w].forward_backward_passes = std::ssize(own.gradient);
        costs[w].forward_passes = spec.perplexity_times * std::ssize(own.perplexity);
      }
      if (w > 0) continue;
      const std::size_t end = k + 1 < updates.size() ? updates[k + 1] : draws.n_probed_updates;
      for (std::size_t u = updates[k]; u < end; ++u) update_s[u] = priced.time_s;
    }
  }
  const double updates_each =
      static_cast<double>(draws.n_probed_updates) / static_cast<double>(updates.size());
  for (std::size_t w = 0; w < ways.size(); ++w) {
    costs[w].name = ways[w].name;
    costs[w].gpu_days = updates_each * total_s[w] * all_gpus / kSecondsPerDay;
    costs[w].hidden_gpu_days = updates_each * hidden_s[w] * gpus_each / kSecondsPerDay;
    costs[w].of_training_fraction = updates_each * total_s[w] / training.total_s;
    costs[w].of_training_passes_fraction = passes_fraction(draws, ways[w].spec, plan);
  }
  return costs;
}

}  // namespace packsim
