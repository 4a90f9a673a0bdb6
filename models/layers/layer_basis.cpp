#include "models/layers/layer_basis.hpp"

#include "models/state_traffic.hpp"

namespace packsim {

LayerBasis::LayerBasis(const Transformer& model, const ParallelPlan& plan)
    : plan_(plan),
      casts_in_passes_(casts_in_passes(plan)),
      casts_weights_in_passes_(casts_weights_in_passes(plan)) {
  const ParallelPlan none;
  // Whichever way packs are cut, as much is gathered.
  plan_.key_exchange = plan.gathers_keys() ? KeyExchange::all_gather : none.key_exchange;
  if (!model.has_windows() && !plan.gathers_keys()) plan_.sequence.ring = none.sequence.ring;
  plan_.ring_layout = none.ring_layout;
  plan_.n_gpus = none.n_gpus;
  plan_.pp_degree = none.pp_degree;
  plan_.virtual_stages = none.virtual_stages;
  plan_.pipeline_schedule = none.pipeline_schedule;
  plan_.chunk_layers = none.chunk_layers;
  plan_.zero_stage = none.zero_stage;
  plan_.shard_degree = none.shard_degree;
  plan_.gc_layers = none.gc_layers;
  plan_.offload = none.offload;
  plan_.memory_margin = none.memory_margin;
  plan_.execution.overlaps_states = none.execution.overlaps_states;
  plan_.execution.overlaps_gather = none.execution.overlaps_gather;
}

}  // namespace packsim
