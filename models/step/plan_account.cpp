#include "models/step/plan_account.hpp"

#include <cmath>

#include "models/state_traffic.hpp"
#include "models/step/pass/pass_list.hpp"

namespace packsim {
namespace {

// How much longer a host may take for a launch: one standard deviation.
constexpr double kSlowerHost = 1.55;

}  // namespace

PlanAccount::PlanAccount(StepPricer& pricer)
    : pricer_(pricer), curves_(pricer.micro_batch_curves()), gpus_(pricer.plan().sequence_gpus()) {
  const std::vector<bool> in_node = pricer.sends_in_node();
  for (int chunk = 0; chunk + 1 < pricer.plan().n_chunks(); ++chunk)
    ++(in_node[static_cast<std::size_t>(chunk) % in_node.size()] ? n_sends_in_node_ : n_sends_between_);
  for (int chunk = 0; chunk < pricer.plan().n_chunks(); ++chunk) {
    const ChunkShape shape = pricer.chunk(chunk);
    const MicroBatchPrice none;
    PassList(none, shape, false).for_each_part([&](const PassPart& part) {
      if (part.kind != PassPart::Kind::layers) return;
      of_form_[part.layer.index()] += part.times;
      all_layers_ += part.times;
      if (part.layer.is_checkpointed && shape.recomputes_attention) attention_recomputed_ += part.times;
    });
  }
}

double PlanAccount::n_layers(const AddedSegment& added) const {
  double n = 0;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    for (const bool is_checkpointed : {false, true}) {
      const LayerForm form{kind, is_checkpointed};
      if (added.is_of(form)) n += of_form_[form.index()];
    }
  }
  return n;
}

void PlanAccount::add_micro_batches(const MicroBatchPrice& price, double times) {
  const TokenPrices& tokens = *price.tokens;
  tokens_[tokens.below_tokens] += times * (1 - tokens.part_above);
  tokens_[tokens.above_tokens] += times * tokens.part_above;

  const double all = gpus_ * times * all_layers_;
  const double recomputed = gpus_ * times * attention_recomputed_;
  const RingPrice& forward = price.attention_forward;
  const RingPrice& backward = price.attention_backward;
  account_.add(Cause::attention, curves_.attention_forward, forward.computed, all);
  account_.add(Cause::attention, curves_.attention_backward, backward.computed, all);
  account_.add(Cause::recompute, curves_.attention_forward, forward.computed, recomputed);
  account_.add(Cause::sequence, curves_.ring, forward.transfers, all + recomputed);
  account_.add(Cause::sequence, curves_.ring, backward.transfers, all);
  account_.add(Cause::sequence, curves_.ring_copies, forward.copied, all + recomputed);
  account_.add(Cause::sequence, curves_.ring_copies, backward.copied, all);
  for (const AddedSegment& added : price.added) {
    const double layers = n_layers(added);
    if (layers == 0) continue;
    const double part = 1e-9 * static_cast<double>(added.segment.time_ns) / added.estimate.time_s;
    account_.add(added.segment.cause, *added.curve, added.estimate, part * gpus_ * times * layers);
  }
  add_host(price, times);
  // Activations go to the next chunk, and their gradients back.
  account_.add(Cause::pipeline, curves_.stage_transfer, price.stage_transfer,
               gpus_ * times * 2 * n_sends_between_);
  account_.add(Cause::pipeline, curves_.stage_transfer_in_node, price.stage_transfer_in_node,
               gpus_ * times * 2 * n_sends_in_node_);
}

// The time of a launch differs between hosts: 5 to 30 us are nine of ten. The error is what the GPU waits
// longer for a host that takes as much longer.
void PlanAccount::add_host(const MicroBatchPrice& price, double times) {
  for (int chunk = 0; chunk < pricer_.plan().n_chunks(); ++chunk) {
    const ChunkShape shape = pricer_.chunk(chunk);
    const HostWait host = host_wait(price, shape);
    host_is_late_ = host_is_late_ || host.lead_ns == 0;
    if (host.wait_ns == 0) continue;
    MicroBatchPrice slower = price;
    slower.host = price.host * kSlowerHost;
    add_waits(host.wait_ns, host_wait(slower, shape).wait_ns, times);
  }
}

void PlanAccount::add_waits(std::int64_t wait_ns, std::int64_t of_slower_ns, double times) {
  static const CurveName kLaunches{"launches", "time of launches by the host"};
  if (wait_ns <= 0) return;
  account_.add(Cause::host, kLaunches,
               {1e-9 * static_cast<double>(wait_ns), 1e-9 * static_cast<double>(of_slower_ns - wait_ns),
                Evidence::missing},
               gpus_ * times);
}

void PlanAccount::add_steps(double n_steps, double n_micro_batches, double n_later) {
  const ParallelPlan& plan = pricer_.plan();
  const double reductions = n_reductions(plan, n_steps, n_micro_batches);
  // The account of the gathers is empty where nothing is gathered.
  const double gathers = n_gathers(plan, n_steps, n_micro_batches);
  for (int chunk = 0; chunk < pricer_.plan().n_chunks(); ++chunk) {
    const StatesPrice& states = pricer_.states(chunk);
    account_.add(states.reductions, gpus_ * reductions);
    account_.add(states.gathers, gpus_ * gathers);
    account_.add(states.sums, gpus_ * n_later);
    account_.add(states.optimizer, gpus_ * n_steps);
    if (!host_is_late_) continue;
    const std::int64_t slower_ns = std::llround(kSlowerHost * static_cast<double>(states.optimizer_host_ns));
    add_waits(states.optimizer_host_ns - states.optimizer_ns, slower_ns - states.optimizer_ns, n_steps);
    for (const StateUnit& unit : states.units)
      add_waits(unit.sum_wait_ns,
                std::llround(kSlowerHost * static_cast<double>(unit.sum_wait_ns + unit.sum_ns)) - unit.sum_ns,
                n_later);
  }
}

// The kernels behind the prices of a micro-batch that TokenAccounts do not have.
void PlanAccount::count_transfers(PriceAccount& total, std::int64_t tokens_per_gpu, double times) const {
  const ParallelPlan& plan = pricer_.plan();
  const CauseSet& free = pricer_.factors().free_exchange;
  const Transformer& model = pricer_.model();
  const double stepping = 1 - gathering_layers(model, plan);
  if (plan.sequence.ring > 1 && stepping > 0 && !free.has(Cause::sequence)) {
    const double hops = times * stepping * (plan.sequence.ring - 1);
    for (const bool is_backward : {false, true}) {
      const double n = hops * (all_layers_ + (is_backward ? 0 : attention_recomputed_));
      total.count(Cause::sequence, pricer_.ring_send(tokens_per_gpu, is_backward).kernel, n);
      const KernelPricer::Use copies = pricer_.hop_copies(tokens_per_gpu, is_backward);
      total.count(Cause::sequence, copies.kernel->kernel, n * copies.count);
    }
  }
  if (plan.pp_degree > 1 && !free.has(Cause::pipeline)) {
    total.count(Cause::pipeline, pricer_.stage_send(tokens_per_gpu, 2).kernel, times * 2 * n_sends_between_);
    total.count(Cause::pipeline, pricer_.stage_send(tokens_per_gpu, 1).kernel, times * 2 * n_sends_in_node_);
  }
  if (plan.offload.activations && !free.has(Cause::states)) {
    // The inputs go to the host and back.
    total.count(Cause::states, pricer_.host_copy(tokens_per_gpu).kernel,
                times * 2 *
                    (of_form_[LayerForm{LayerKind::dense, true}.index()] +
                     of_form_[LayerForm{LayerKind::expert, true}.index()]));
  }
}

PriceAccount PlanAccount::total() const {
  PriceAccount total = account_;
  for (const auto& [tokens_per_gpu, n_runs] : tokens_) {
    const double times = gpus_ * n_runs;
    const TokenAccounts& account = pricer_.account(tokens_per_gpu);
    if (pricer_.keeps_kernels()) count_transfers(total, tokens_per_gpu, times);
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
      const TokenAccounts::Layer& layer = account.layers[static_cast<std::size_t>(kind)];
      const double recomputed = of_form_[LayerForm{kind, true}.index()];
      total.add(layer.passes, times * (of_form_[LayerForm{kind, false}.index()] + recomputed));
      total.add(layer.recompute, times * recomputed);
    }
    total.add(account.embedding, times);
    total.add(account.head, times);
  }
  return total;
}

}  // namespace packsim
