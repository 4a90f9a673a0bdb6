#include "models/step/micro_batch_time.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {
namespace {

const LayerPrices& layer_of(const MicroBatchPrice& price, bool has_experts) {
  return price.tokens->layers[has_experts ? 1 : 0];
}

WorkTime times(WorkTime time, std::int64_t n) {
  for (std::int64_t& cause_ns : time.by_cause_ns) cause_ns *= n;
  time.total_ns *= n;
  return time;
}

}  // namespace

std::int64_t slowed_ns(std::int64_t time_ns, double slow_down) {
  return slow_down == 1 ? time_ns : std::llround(slow_down * static_cast<double>(time_ns));
}

WorkTime attention_time(const RingPrice& ring, Cause cause, double slow_down) {
  RingPrice slowed = ring;
  slowed.compute_ns = slowed_ns(ring.compute_ns, slow_down);
  slowed.windowed_ns = slowed_ns(ring.windowed_ns, slow_down);
  const std::int64_t computed_ns = slowed.steps * slowed.compute_ns + slowed.windowed_ns;
  WorkTime time;
  time.add(cause, computed_ns);
  time.add(Cause::sequence, slowed.total_ns() - computed_ns);
  return time;
}

WorkTime phase_time(const PricedPhase& phase, double slow_down) {
  if (slow_down == 1) return {phase.by_cause_ns, phase.total_ns};
  WorkTime time;
  for (const PricedStage& stage : phase.stages) {
    const bool is_computed = stage.kind == PricedStage::Kind::compute;
    time.add(stage.cause, is_computed ? slowed_ns(stage.time_ns, slow_down) : stage.time_ns);
  }
  return time;
}

WorkTime layer_forward_time(const MicroBatchPrice& price, bool has_experts, double slow_down) {
  WorkTime time = phase_time(layer_of(price, has_experts).forward, slow_down);
  time += attention_time(price.attention_forward, Cause::attention, slow_down);
  time.add(Cause::overhead, price.launch_wait[has_experts ? 1 : 0].forward_ns);
  return time;
}

WorkTime layer_backward_time(const MicroBatchPrice& price, bool has_experts, bool is_checkpointed,
                             double slow_down) {
  WorkTime time = phase_time(layer_of(price, has_experts).backward, slow_down);
  time += attention_time(price.attention_backward, Cause::attention, slow_down);
  time.add(Cause::overhead, price.launch_wait[has_experts ? 1 : 0].backward_ns);
  if (!is_checkpointed) return time;
  const PricedPhase& recompute = layer_of(price, has_experts).recompute;
  time += phase_time(recompute, slow_down);
  if (recompute.has_attention) time += attention_time(price.attention_forward, Cause::recompute, slow_down);
  time.add(Cause::overhead, price.launch_wait[has_experts ? 1 : 0].recompute_ns);
  time.add(Cause::states, price.from_host_ns[has_experts ? 1 : 0]);
  return time;
}

WorkTime forward_time(const MicroBatchPrice& price, const ChunkShape& chunk, double slow_down) {
  WorkTime time;
  time.add(Cause::overhead, price.overhead_ns);
  if (chunk.has_embedding) time += phase_time(price.tokens->embedding_forward, slow_down);
  for (const bool has_experts : {false, true}) {
    const int n_layers = has_experts ? chunk.n_experts : chunk.n_dense;
    if (n_layers > 0) time += times(layer_forward_time(price, has_experts, slow_down), n_layers);
    const LayerKind kind = has_experts ? LayerKind::expert : LayerKind::dense;
    time.add(Cause::states, chunk.n_checkpointed_of(kind) * price.to_host_ns[has_experts ? 1 : 0]);
  }
  if (chunk.has_head) time += phase_time(price.tokens->head_forward, slow_down);
  return time;
}

WorkTime backward_time(const MicroBatchPrice& price, const ChunkShape& chunk, double slow_down) {
  WorkTime time;
  if (chunk.has_head) time += phase_time(price.tokens->head_backward, slow_down);
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    const bool has_experts = kind == LayerKind::expert;
    const int n_layers = chunk.n_layers_of(kind);
    const int n_recomputed = chunk.n_checkpointed_of(kind);
    if (n_recomputed > 0)
      time += times(layer_backward_time(price, has_experts, true, slow_down), n_recomputed);
    if (n_layers > n_recomputed)
      time += times(layer_backward_time(price, has_experts, false, slow_down), n_layers - n_recomputed);
  }
  if (chunk.has_embedding) time += phase_time(price.tokens->embedding_backward, slow_down);
  return time;
}

}  // namespace packsim
