#include "calibration/fit/steps/step_terms.hpp"

#include <algorithm>

#include "models/state_traffic.hpp"
#include "models/step/pass/host_wait.hpp"
#include "models/step/pass/pass_time.hpp"

namespace packsim {
namespace {

constexpr std::size_t kAttentionFactor = 1;  // of kFrameworkNumbers

double seconds(std::int64_t time_ns) {
  return static_cast<double>(time_ns) * 1e-9;
}

// What computation waits for in a step of so many micro-batches; see sim/step/step_builder.hpp.
std::int64_t states_ns(const StatesPrice& states, const ParallelPlan& plan, std::int64_t n_micro_batches) {
  std::int64_t gather_ns = 0;
  std::int64_t reduce_ns = 0;
  for (const StateUnit& unit : states.units) {
    gather_ns += unit.gather_ns;
    reduce_ns += unit.reduce_ns;
  }
  if (plan.execution.overlaps_states) {
    reduce_ns = states.units.front().reduce_ns;
    if (gathers_every_pass(plan)) gather_ns = states.units.front().gather_ns;
    return gather_ns + reduce_ns;
  }
  constexpr std::int64_t kOneStep = 1;
  return gather_ns * n_gathers(plan, kOneStep, n_micro_batches) +
         reduce_ns * n_reductions(plan, kOneStep, n_micro_batches);
}

// Gradients of every micro-batch but the first come on top of what is there: the time of one.
std::int64_t gradient_sums_ns(const StatesPrice& states) {
  std::int64_t once_ns = 0;
  for (const StateUnit& unit : states.units) once_ns += unit.sum_ns;
  return once_ns;
}

ParallelPlan with_launch(const ParallelPlan& plan, double launch_s) {
  ParallelPlan changed = plan;
  changed.execution.launch_s = launch_s;
  return changed;
}

// Adds what something takes by a pricer: the one without factors comes first.
void add_part(StepTerms& terms, std::size_t pricer, double time_s) {
  if (pricer == kNTimeFactors) {
    terms.fixed_s = time_s;
  } else {
    terms.part_s[pricer] = time_s - terms.fixed_s;
  }
}

}  // namespace

TimeFactors time_factors(const FrameworkFactors& factors) {
  TimeFactors values = {};
  for (std::size_t k = 0; k < kNTimeFactors; ++k) values[k] = factors.*kFrameworkNumbers[k].value;
  return values;
}

void set_time_factors(FrameworkFactors& factors, const TimeFactors& values) {
  for (std::size_t k = 0; k < kNTimeFactors; ++k) factors.*kFrameworkNumbers[k].value = values[k];
}

double StepTerms::time_s(const TimeFactors& factors) const {
  double sum_s = fixed_s;
  for (std::size_t k = 0; k < kNTimeFactors; ++k) sum_s += factors[k] * part_s[k];
  return sum_s;
}

double StepLaunches::waits_s(const TimeFactors& factors, double launch_s) const {
  if (launch_s <= 0) return 0;
  const auto later_s = [&](const LaunchedTerms& terms) {
    return launch_s * terms.launched_s - terms.run.time_s(factors);
  };
  double sum_s = 0;
  double lead_s = 0;  // of the host, behind a micro-batch
  std::vector<LaunchedPhases> phases;
  for (std::size_t i = 0; i < micro_batches.size(); ++i) {
    phases.clear();
    for (const LaunchedTerms& phase : micro_batches[i])
      phases.push_back(
          {launch_s * phase.launched_s, phase.run.time_s(factors), phase.n_launches, phase.n_waits});
    const HostWait wait = host_wait(phases, reads_loss);
    sum_s += seconds(wait.wait_ns);
    lead_s = seconds(wait.lead_ns);
    if (i == 0 || wait.lead_ns > 0) continue;
    for (const LaunchedTerms& sums : gradient_sums) sum_s += std::max(0.0, later_s(sums));
  }
  return sum_s + std::max(0.0, later_s(optimizer) - lead_s);
}

StepTermsPricer::StepTermsPricer(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                                 const HardwareProfile& hardware)
    : launching_(model, cluster, with_launch(plan, 1), hardware, {}) {
  pricers_.reserve(kNTimeFactors + 1);
  for (std::size_t k = 0; k <= kNTimeFactors; ++k) {
    TimeFactors values = {};
    if (k < kNTimeFactors) values[k] = 1;
    FrameworkFactors factors;
    set_time_factors(factors, values);
    pricers_.emplace_back(model, cluster, with_launch(plan, 0), hardware, factors);
  }
}

MicroBatchPrice StepTermsPricer::price(std::size_t pricer, const StepPack& pack) {
  // Attention takes nothing without its factor, whatever the documents.
  const std::span<const std::int32_t> documents = pack.lengths_tokens;
  return pricers_[pricer].micro_batch(pack.tokens,
                                      pricer == kAttentionFactor ? documents : documents.first(0));
}

double StepTermsPricer::micro_batch_s(std::size_t pricer, const StepPack& pack) {
  const MicroBatchPrice priced = price(pricer, pack);
  const ChunkShape whole_model = pricers_[pricer].chunk(0);
  return seconds(forward_time(priced, whole_model).total_ns + backward_time(priced, whole_model).total_ns);
}

double StepTermsPricer::step_s(std::size_t pricer, std::span<const StepPack> packs) {
  StepPricer& steps = pricers_[pricer];
  const StatesPrice& states = steps.states();
  const auto n = static_cast<std::int64_t>(packs.size());
  double sum_s = seconds(states.optimizer_ns + states.step_ns + gradient_sums_ns(states) * (n - 1) +
                         states_ns(states, steps.plan(), n));
  for (const StepPack& pack : packs) sum_s += micro_batch_s(pricer, pack);
  return sum_s;
}

std::vector<LaunchedTerms> StepTermsPricer::phases(const StepPack& pack) {
  std::vector<LaunchedTerms> terms;
  const MicroBatchPrice launched = launching_.micro_batch(pack.tokens, pack.lengths_tokens);
  for (const LaunchedPhases& phase : launched_phases(launched, launching_.chunk(0)))
    terms.push_back(
        {.launched_s = phase.launched_s, .n_launches = phase.n_launches, .n_waits = phase.n_waits});
  for (std::size_t k = kNTimeFactors + 1; k-- > 0;) {
    const std::vector<LaunchedPhases> run = launched_phases(price(k, pack), pricers_[k].chunk(0));
    for (std::size_t i = 0; i < terms.size(); ++i) add_part(terms[i].run, k, run[i].run_s);
  }
  return terms;
}

StepTerms StepTermsPricer::step(std::span<const StepPack> packs) {
  StepTerms terms;
  for (std::size_t k = kNTimeFactors + 1; k-- > 0;) add_part(terms, k, step_s(k, packs));
  return terms;
}

StepLaunches StepTermsPricer::launches(std::span<const StepPack> packs) {
  StepLaunches launches{.reads_loss = launching_.plan().execution.loss_reads > 0};
  for (const StepPack& pack : packs) launches.micro_batches.push_back(phases(pack));
  const StatesPrice& launched = launching_.states();
  launches.optimizer.launched_s = seconds(launched.optimizer_host_ns);
  // The host launches the sums in their time and the wait for it.
  for (const StateUnit& unit : launched.units)
    launches.gradient_sums.push_back({.launched_s = seconds(unit.sum_ns + unit.sum_wait_ns)});
  for (std::size_t k = kNTimeFactors + 1; k-- > 0;) {
    const StatesPrice& states = pricers_[k].states();
    add_part(launches.optimizer.run, k, seconds(states.optimizer_ns));
    for (std::size_t i = 0; i < states.units.size(); ++i)
      add_part(launches.gradient_sums[i].run, k, seconds(states.units[i].sum_ns));
  }
  return launches;
}

double StepTermsPricer::attention_s(const StepPack& pack) {
  return micro_batch_s(kAttentionFactor, pack) - micro_batch_s(kNTimeFactors, pack);
}

}  // namespace packsim
