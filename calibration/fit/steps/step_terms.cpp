#include "calibration/fit/steps/step_terms.hpp"

#include "models/state_traffic.hpp"
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

// Gradients of every micro-batch but the first come on top of what is there.
std::int64_t gradient_sums_ns(const StatesPrice& states, std::int64_t n_micro_batches) {
  std::int64_t once_ns = 0;
  for (const StateUnit& unit : states.units) once_ns += unit.sum_ns;
  return once_ns * (n_micro_batches - 1);
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

StepTermsPricer::StepTermsPricer(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                                 const HardwareProfile& hardware) {
  // The time of a step is not a sum of parts where its kernels wait for their launch.
  ParallelPlan launched_in_time = plan;
  launched_in_time.execution.launch_s = 0;
  pricers_.reserve(kNTimeFactors + 1);
  for (std::size_t k = 0; k <= kNTimeFactors; ++k) {
    TimeFactors values = {};
    if (k < kNTimeFactors) values[k] = 1;
    FrameworkFactors factors;
    set_time_factors(factors, values);
    pricers_.emplace_back(model, cluster, launched_in_time, hardware, factors);
  }
}

double StepTermsPricer::micro_batch_s(std::size_t pricer, const StepPack& pack) {
  // Attention takes nothing without its factor, whatever the documents.
  const std::span<const std::int32_t> documents = pack.lengths_tokens;
  StepPricer& steps = pricers_[pricer];
  const MicroBatchPrice price =
      steps.micro_batch(pack.tokens, pricer == kAttentionFactor ? documents : documents.first(0));
  const ChunkShape whole_model = steps.chunk(0);
  return seconds(forward_time(price, whole_model).total_ns + backward_time(price, whole_model).total_ns);
}

double StepTermsPricer::step_s(std::size_t pricer, std::span<const StepPack> packs) {
  StepPricer& steps = pricers_[pricer];
  const StatesPrice& states = steps.states();
  const auto n = static_cast<std::int64_t>(packs.size());
  double sum_s = seconds(states.optimizer_ns + states.step_ns + gradient_sums_ns(states, n) +
                         states_ns(states, steps.plan(), n));
  for (const StepPack& pack : packs) sum_s += micro_batch_s(pricer, pack);
  return sum_s;
}

StepTerms StepTermsPricer::step(std::span<const StepPack> packs) {
  StepTerms terms;
  terms.fixed_s = step_s(kNTimeFactors, packs);
  for (std::size_t k = 0; k < kNTimeFactors; ++k) terms.part_s[k] = step_s(k, packs) - terms.fixed_s;
  return terms;
}

double StepTermsPricer::attention_s(const StepPack& pack) {
  return micro_batch_s(kAttentionFactor, pack) - micro_batch_s(kNTimeFactors, pack);
}

}  // namespace packsim
