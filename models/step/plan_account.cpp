#include "models/step/plan_account.hpp"

#include "models/state_traffic.hpp"

namespace packsim {

PlanAccount::PlanAccount(StepPricer& pricer)
    : pricer_(pricer), curves_(pricer.micro_batch_curves()), gpus_(pricer.plan().sequence_gpus()) {
  const std::vector<bool> in_node = pricer.sends_in_node();
  for (int chunk = 0; chunk + 1 < pricer.plan().n_chunks(); ++chunk)
    ++(in_node[static_cast<std::size_t>(chunk) % in_node.size()] ? n_sends_in_node_ : n_sends_between_);
  for (int chunk = 0; chunk < pricer.plan().n_chunks(); ++chunk) {
    const ChunkShape shape = pricer.chunk(chunk);
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
      Layers& layers = layers_[static_cast<std::size_t>(kind)];
      layers.all += shape.n_layers_of(kind);
      layers.recomputed += shape.n_checkpointed_of(kind);
      if (shape.recomputes_attention) layers.attention_recomputed += shape.n_checkpointed_of(kind);
    }
  }
}

void PlanAccount::add_tokens(const TokenAccounts& account, double times) {
  TimesRun& run = tokens_[account.tokens_per_gpu];
  run.account = &account;
  run.times += times;
}

void PlanAccount::add_micro_batches(const MicroBatchPrice& price, double times) {
  const TokenPrices& tokens = *price.tokens;
  add_tokens(*tokens.below, times * (1 - tokens.part_above));
  add_tokens(*tokens.above, times * tokens.part_above);

  const double all = gpus_ * times * (layers_[0].all + layers_[1].all);
  const double recomputed =
      gpus_ * times * (layers_[0].attention_recomputed + layers_[1].attention_recomputed);
  const RingPrice& forward = price.attention_forward;
  const RingPrice& backward = price.attention_backward;
  account_.add(Cause::attention, curves_.attention_forward, forward.computed, all);
  account_.add(Cause::attention, curves_.attention_backward, backward.computed, all);
  account_.add(Cause::recompute, curves_.attention_forward, forward.computed, recomputed);
  account_.add(Cause::sequence, curves_.ring, forward.transfers, all + recomputed);
  account_.add(Cause::sequence, curves_.ring, backward.transfers, all);
  // What each copy of a checkpointed input to the host and back adds.
  const auto add_copies = [&](const std::array<std::int64_t, 2>& added_ns) {
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      if (added_ns[kind] == 0) continue;
      const double part = 1e-9 * static_cast<double>(added_ns[kind]) / price.host_copy.time_s;
      account_.add(Cause::states, curves_.host_copy, price.host_copy,
                   part * gpus_ * times * layers_[kind].recomputed);
    }
  };
  add_copies(price.to_host_ns);
  add_copies(price.from_host_ns);
  add_launches(price, gpus_ * times);
  // To the next chunk and back.
  account_.add(Cause::pipeline, curves_.stage_transfer, price.stage_transfer,
               gpus_ * times * 2 * n_sends_between_);
  account_.add(Cause::pipeline, curves_.stage_transfer_in_node, price.stage_transfer_in_node,
               gpus_ * times * 2 * n_sends_in_node_);
}

// The time of launches differs by as much as this between frameworks and hosts (kTorchLaunch_s).
void PlanAccount::add_launches(const MicroBatchPrice& price, double times) {
  constexpr double kLaunchError = 0.7;
  double wait_s = 0;
  for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
    const LaunchWait& wait = price.launch_wait[kind];
    wait_s += 1e-9 * (layers_[kind].all * static_cast<double>(wait.forward_ns + wait.backward_ns) +
                      layers_[kind].recomputed * static_cast<double>(wait.recompute_ns));
  }
  if (wait_s == 0) return;
  account_.add(Cause::overhead, {"launches", "time of launches by the host"},
               {wait_s, kLaunchError * wait_s, Evidence::missing}, times);
  const double overhead_s = 1e-9 * static_cast<double>(price.overhead_ns) * pricer_.plan().n_chunks();
  account_.add(Cause::overhead, {"overhead", "time of micro-batches"}, {overhead_s, 0, Evidence::measured},
               times);
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
  }
}

// The kernels behind the prices of a micro-batch that TokenAccounts do not have.
void PlanAccount::count_transfers(PriceAccount& total, std::int64_t tokens_per_gpu, double times) const {
  const ParallelPlan& plan = pricer_.plan();
  const CauseSet& free = pricer_.factors().free_exchange;
  const Transformer& model = pricer_.model();
  const double layers = layers_[0].all + layers_[1].all;
  const double recomputed = layers_[0].attention_recomputed + layers_[1].attention_recomputed;
  if (plan.sequence.ring > 1 && !free.has(Cause::sequence)) {
    const double stepping = 1 - model.windowed_layers();
    const double sends = times * stepping * (plan.sequence.ring - 1);
    total.count(Cause::sequence, pricer_.ring_send(tokens_per_gpu, false), sends * (layers + recomputed));
    total.count(Cause::sequence, pricer_.ring_send(tokens_per_gpu, true), sends * layers);
  }
  if (plan.pp_degree > 1 && !free.has(Cause::pipeline)) {
    total.count(Cause::pipeline, pricer_.stage_send(tokens_per_gpu, 2), times * 2 * n_sends_between_);
    total.count(Cause::pipeline, pricer_.stage_send(tokens_per_gpu, 1), times * 2 * n_sends_in_node_);
  }
  if (plan.offload.activations && !free.has(Cause::states)) {
    // To the host and back.
    total.count(Cause::states, pricer_.host_copy(tokens_per_gpu),
                times * 2 * (layers_[0].recomputed + layers_[1].recomputed));
  }
}

PriceAccount PlanAccount::total() const {
  PriceAccount total = account_;
  for (const auto& [tokens_per_gpu, run] : tokens_) {
    const double times = gpus_ * run.times;
    if (pricer_.keeps_kernels()) count_transfers(total, tokens_per_gpu, times);
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      total.add(run.account->layers[kind].passes, times * layers_[kind].all);
      total.add(run.account->layers[kind].recompute, times * layers_[kind].recomputed);
    }
    total.add(run.account->embedding, times);
    total.add(run.account->head, times);
  }
  return total;
}

}  // namespace packsim
