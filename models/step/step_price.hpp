#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "models/cause.hpp"
#include "models/step/pass/pass_segment.hpp"
#include "models/step/price_account.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// The time, rounded to the nearest nanosecond. Throws std::invalid_argument for a time of over 10^7 s, which
/// 64 bits hold 900 times: no part of a step takes 116 days, unless a rate or a size of the job is far off.
std::int64_t nanoseconds(double time_s);

/// Prices of one layer of a kind.
struct LayerPrices {
  PricedPhase forward;
  PricedPhase recompute;
  PricedPhase backward;
  const PricedPhase& of(LayerPhase phase) const {
    return phase == LayerPhase::backward ? backward : phase == LayerPhase::recompute ? recompute : forward;
  }
};

/// The evidence for the prices of a number of tokens, without attention.
struct TokenAccounts {
  struct Layer {
    PriceAccount passes;  ///< forward and backward
    PriceAccount recompute;
  };
  std::array<Layer, 2> layers;  ///< by LayerKind
  PriceAccount embedding;
  PriceAccount head;
};

/// All prices of a micro-batch that depend only on its number of tokens.
struct TokenPrices {
  std::array<LayerPrices, 2> layers;  ///< by LayerKind
  PricedPhase embedding_forward;
  PricedPhase head_forward;
  PricedPhase head_backward;
  PricedPhase embedding_backward;
  /// Prices between two exactly priced numbers of tokens on a GPU are interpolated: (1 - part_above) of those
  /// of below_tokens and part_above of those of above_tokens. So is their evidence (StepPricer::account()).
  std::int64_t below_tokens = 0;
  std::int64_t above_tokens = 0;
  double part_above = 0;
};

/// Ring attention of one layer and pass: each step computes on one block while the next block arrives. Layers
/// with a sliding window compute in one go, with keys and values that were gathered before. Prices are of the
/// mean layer, in which each kind of layer counts with its share.
struct RingPrice {
  int steps = 1;
  std::int64_t compute_ns = 0;   ///< computation of one step
  std::int64_t windowed_ns = 0;  ///< layers with a window, after the steps; 0 if there is one step
  std::int64_t transfer_ns = 0;  ///< transfer of one block
  std::int64_t copies_ns = 0;    ///< copies of all steps, which run between them
  std::int64_t bytes = 0;        ///< size of one block
  int stride = 1;                ///< distance from one GPU of the ring to the next
  TimeEstimate computed = {};    ///< computation of all steps together
  TimeEstimate transfers = {};   ///< transfers of all blocks together
  TimeEstimate copied = {};      ///< copies_ns
  double n_kernels = 0;          ///< that the host launches beside those of attention on one GPU
  std::int64_t total_ns() const {
    return compute_ns + (steps - 1) * (compute_ns > transfer_ns ? compute_ns : transfer_ns) + copies_ns +
           windowed_ns;
  }
};

/// Seconds of the host. All 0 where it is always ahead.
struct HostCosts {
  double launch_s = 0;             ///< for a launch
  double recomputed_launch_s = 0;  ///< for a launch in a recomputed layer
  double layer_s = 0;              ///< in each pass through a layer, beside its launches
  double attention_s = 0;          ///< in each pass of its attention, beside its launches
  double gather_s = 0;             ///< for the weights of a unit, such as a layer, in each pass
  double reduce_s = 0;             ///< for its gradients, in each backward pass
  int loss_reads = 0;              ///< ExecutionStyle::loss_reads
  int ring_reads = 0;              ///< KernelStyle::varlen_ring_reads

  /// Those of a host that takes `factor` times as long.
  HostCosts operator*(double factor) const {
    return {factor * launch_s, factor * recomputed_launch_s,
            factor * layer_s,  factor * attention_s,
            factor * gather_s, factor * reduce_s,
            loss_reads,        ring_reads};
  }
};

/// Price of one micro-batch on one GPU of its rank.
struct MicroBatchPrice {
  const TokenPrices* tokens = nullptr;  ///< owned by the pricer
  RingPrice attention_forward = {};     ///< of one layer; a single step without ring attention
  RingPrice attention_backward = {};
  std::int64_t overhead_ns = 0;  ///< framework overhead in each chunk of a stage
  HostCosts host = {};
  // Transfer of its activations to the next pipeline stage: to another node, or inside the node.
  std::int64_t stage_transfer_ns = 0;
  std::int64_t stage_transfer_in_node_ns = 0;
  std::int64_t stage_transfer_bytes = 0;
  TimeEstimate stage_transfer = {};
  TimeEstimate stage_transfer_in_node = {};
  std::vector<AddedSegment> added = {};  ///< in order, those behind the same phase

  /// Time of the added segments behind a phase of one layer.
  std::int64_t added_ns(const LayerForm& form, LayerPhase behind) const;
};

/// Names of the curves behind those prices of a micro-batch that do not follow from its number of tokens.
struct MicroBatchCurves {
  CurveName attention_forward;
  CurveName attention_backward;
  CurveName ring;
  CurveName ring_copies;
  CurveName stage_transfer;
  CurveName stage_transfer_in_node;
};

/// A chunk of the model: layers that one pipeline stage runs one after another, dense layers before those
/// with experts.
struct ChunkShape {
  int n_dense = 0;
  int n_experts = 0;                 ///< layers with experts
  int n_checkpointed = 0;            ///< checkpointed layers, which are the first of the chunk
  bool recomputes_attention = true;  ///< whether these run attention once more
  bool has_embedding = false;
  bool has_head = false;
  int n_layers() const { return n_dense + n_experts; }
  int n_attention_recomputed() const { return recomputes_attention ? n_checkpointed : 0; }
  int n_layers_of(LayerKind kind) const { return kind == LayerKind::expert ? n_experts : n_dense; }
  bool operator==(const ChunkShape&) const = default;
};

/// Weights and gradients that travel together, and the layers that compute with them.
struct StateUnit {
  int first_layer = 0;  ///< index in the chunk, in forward order
  int n_layers = 0;
  bool has_embedding = false;
  bool has_head = false;
  std::int64_t gather_ns = 0;  ///< all-gather of the weights before they are used
  /// Reduce-scatter of the gradients, or all-reduce without ZeRO, and then the all-reduce between replicas.
  std::int64_t reduce_ns = 0;
  std::int64_t replicas_ns = 0;  ///< the part of reduce_ns that is the all-reduce between replicas
  std::int64_t gather_bytes = 0;
  std::int64_t reduce_bytes = 0;
  std::int64_t replicas_bytes = 0;  ///< of one GPU's shard
  // Offload copies the GPU's shard of the weights before their gather, and its shard of the gradients after
  // their reduction, which the host then adds up.
  std::int64_t fetch_ns = 0;
  std::int64_t drain_ns = 0;
  /// Computation that adds its gradients to those of earlier micro-batches of the step, and what the host
  /// takes longer to launch it.
  std::int64_t sum_ns = 0;
  std::int64_t sum_wait_ns = 0;
};

/// What a step costs in addition to its micro-batches, on one GPU of a pipeline stage.
struct StatesPrice {
  /// Units in forward order: under ZeRO 3 one for each layer, else buckets.
  std::vector<StateUnit> units;
  int gpus = 1;  ///< number of GPUs that share one set of shards
  int stride = 1;
  int replicas = 1;  ///< number of such shard groups, which are neighbours
  std::int64_t optimizer_ns = 0;
  std::int64_t optimizer_host_ns = 0;  ///< of the host, which goes through all trained tensors
  std::int64_t step_ns = 0;            ///< framework overhead of a step
  // Evidence for the prices of all gathers of a pass, all reductions, all gradient sums, and the optimizer.
  PriceAccount gathers = {};
  PriceAccount reductions = {};
  PriceAccount sums = {};
  PriceAccount optimizer = {};
};

}  // namespace packsim
