#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster.hpp"
#include "models/execution_style.hpp"
#include "models/layer_modules.hpp"
#include "models/lora_targets.hpp"
#include "models/pipeline/pipeline_schedule.hpp"
#include "models/precision.hpp"
#include "models/styles/frozen_format.hpp"
#include "models/transformer.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// How ring attention cuts documents: in one chunk for each GPU, or in two chunks for each GPU, one from
/// either end, which balances causal attention work.
enum class RingLayout { contiguous, zigzag };

/// How the GPUs that share documents (SequenceParallelism::ring) get each other's keys and values.
///   ring              step by step beside attention, each from the one before it (ring attention)
///   all_gather        all before attention, by an all-gather; gradients by a reduce-scatter behind it.
///                     ring_layout says how documents are cut, as with Transformer Engine
///   all_gather_packs  the same, but each GPU has one chunk of the pack, whichever documents lie in it, as
///                     with ring-flash-attention's llama3_flash_attn_varlen
enum class KeyExchange { ring, all_gather, all_gather_packs };

/// What a checkpointed layer recomputes.
///   full        everything: it keeps only its input
///   selective   the inside of attention
///   operations  what torchtitan's selective checkpointing by operation does: it keeps its input and the
///               outputs of attention, of every second matrix product beginning with the first, of
///               reduce-scatters and of all-to-alls. Products of routed experts and adapters' are recomputed.
///   modules     ParallelPlan::recomputed_modules, as Megatron's --recompute-modules
enum class Checkpointing { full, selective, operations, modules };

/// What is kept in host memory and crosses the bus in every step.
struct Offload {
  bool optimizer = false;    ///< AdamW's states; it runs on the host
  bool weights = false;      ///< bf16 shards, copied to the GPU before each gather
  bool gradients = false;    ///< shards, copied to the host after each reduction and added up there in fp32
  bool activations = false;  ///< inputs of checkpointed layers

  bool any() const { return *this != Offload{}; }
  /// What is in host memory in both, or in any of two plans.
  Offload operator&(const Offload& other) const {
    return {optimizer && other.optimizer, weights && other.weights, gradients && other.gradients,
            activations && other.activations};
  }
  Offload operator|(const Offload& other) const {
    return {optimizer || other.optimizer, weights || other.weights, gradients || other.gradients,
            activations || other.activations};
  }
  bool operator==(const Offload&) const = default;
};

/// How tokens get to the GPUs of their experts.
enum class ExpertDispatch {
  /// Once for each of its experts, by NCCL: sorted by GPU before it, and by expert after it.
  all_to_all,
  /// Once to each GPU, and once over the network to each other node, that has any of its experts, as DeepEP
  /// does. The kernels read the tokens where they are.
  deduplicated,
};

/// How one group of packs runs on the GPUs of a cluster.
///
/// A data-parallel rank consists of tp x sp x cp x pp GPUs, which together hold one copy of the model.
/// Neighbouring GPUs belong to the same tensor-parallel group. Neighbouring tensor-parallel groups form a
/// sequence group, neighbouring sequence groups are different data-parallel ranks, and pipeline stages are
/// furthest apart. Experts are spread over ep_degree GPUs of one stage, which may be of several sequence
/// groups and data-parallel ranks, and each is whole on its GPU unless tensor parallelism splits it too.
struct ParallelPlan {
  int n_gpus = 1;
  /// Tensor parallelism, with activations between the blocks sharded along the sequence.
  int tp_degree = 1;
  SequenceParallelism sequence = {};  ///< Ulysses inside, and outside it what key_exchange says
  int pp_degree = 1;
  int virtual_stages = 1;  ///< number of chunks of layers that a pipeline stage holds
  /// A row of pipeline_schedules(). Null: the usual schedule for this number of chunks in a stage.
  const PipelineSchedule* pipeline_schedule = nullptr;
  /// Number of layers of each chunk, in the order in which a micro-batch goes through them; empty: all equal.
  /// The first chunk may hold only the embedding, and the last only the head.
  std::vector<int> chunk_layers = {};
  int ep_degree = 1;
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;
  /// Tokens sent to the GPU whose experts get most, over the mean of the expert-parallel group.
  double expert_imbalance = 1;

  int zero_stage = 1;
  /// Number of GPUs, sequence-parallel ones included, that share one set of ZeRO's shards; the other GPUs
  /// with the same weights hold replicas of these shards (hybrid sharding). 0: all GPUs that hold the same
  /// weights.
  int shard_degree = 0;
  ExecutionStyle execution = {};
  /// Whether each layer's weights are updated in its backward pass, so that only its gradients exist. A step
  /// then has one micro-batch.
  bool optimizer_in_backward = false;
  /// The share of a GPU's memory that searches leave free; 0: the error of the estimate (memory_margin()).
  /// Searches and bounds also use values below 0, with which a plan fits whose estimate is too large by that
  /// share.
  double memory_margin = 0;

  int gc_layers = 0;  ///< number of checkpointed layers of the whole model
  Checkpointing checkpointing = Checkpointing::full;
  LayerModules recomputed_modules = {};  ///< only with Checkpointing::modules

  /// Parts of the sequence that the MLP of a layer without experts, and the loss, take one after another
  /// (ALST, arXiv 2506.13996). If there are several, only one part's MLP tensors and logits exist at a time,
  /// and the backward pass makes the MLP's once more.
  int mlp_tiles = 1;
  int loss_tiles = 1;

  RingLayout ring_layout = RingLayout::zigzag;
  KeyExchange key_exchange = KeyExchange::ring;
  /// Whether Ulysses sends the latents of latent attention instead of the heads.
  bool latent_exchange = false;
  /// Whether the Ulysses degree may be any up to the number of heads. Frameworks spread the heads unevenly or
  /// pad them.
  bool uneven_heads = false;
  Offload offload = {};
  int lora_rank = 0;  ///< 0: full fine-tuning
  LoraTargets lora_targets = {};
  const FrozenFormat* frozen_weights = kFrozenFormats.front().value;
  Precision precision = Precision::bf16;
  /// Whether ZeRO 3 gathers the matrices of layers in fp8, quantised shard by shard once a step.
  bool fp8_gather = false;

  /// GPUs over which tensor parallelism splits each of the routed experts.
  int expert_tp_degree() const { return execution.splits_experts ? tp_degree : 1; }
  /// GPUs over which tensor parallelism splits what a layer has this often: once, or once for each expert.
  int split_degree(int copies) const { return copies > 1 ? expert_tp_degree() : tp_degree; }
  /// Whether each GPU has all keys and values of its packs when attention begins.
  bool gathers_keys() const { return sequence.ring > 1 && key_exchange != KeyExchange::ring; }
  /// GPUs that hold one copy of the model.
  int rank_gpus() const { return tp_degree * sequence.gpus_per_pack() * pp_degree; }
  int dp_degree() const { return n_gpus / rank_gpus(); }
  /// Number of chunks. Chunk i is on stage i mod pp_degree.
  int n_chunks() const { return pp_degree * virtual_stages; }
  const PipelineSchedule& schedule() const {
    return pipeline_schedule != nullptr ? *pipeline_schedule : usual_schedule(virtual_stages);
  }
  PipelineShape pipeline_shape(int n_micro_batches) const {
    return {.n_stages = pp_degree, .chunks_per_stage = virtual_stages, .n_micro_batches = n_micro_batches};
  }
  /// GPUs that share a sequence. Between the blocks, each holds 1/sequence_gpus() of the tokens of a
  /// micro-batch.
  int sequence_gpus() const { return tp_degree * sequence.gpus_per_pack(); }
  /// GPUs that hold the same weights.
  int state_gpus() const { return n_gpus / (tp_degree * pp_degree); }

  /// Whether checkpointed layers run the attention kernel once more.
  bool recomputes_attention() const {
    return checkpointing == Checkpointing::modules ? recomputed_modules.has(LayerModule::core_attn)
                                                   : checkpointing != Checkpointing::operations;
  }

  bool operator==(const ParallelPlan&) const = default;
};

/// A reason why a plan is not possible.
struct PlanMistake {
  std::vector<std::string> keys = {};  ///< fields of the plan; several if they are only wrong together
  std::string expected = {};
  std::string got = {};

  /// "tp_degree x sp_degree"
  std::string names() const;
  /// The message for one field, "sp_degree: expected a divisor of the model's 32 attention heads, got 5", or
  /// for several, "tp_degree x sp_degree: expected ..., got 4 x 16 = 64".
  std::string text() const { return names() + ": expected " + expected + ", got " + got; }
};

/// All reasons why the plan is not possible; empty if it is.
///
/// The degrees must divide the GPUs, the heads (tensor parallelism and Ulysses together, unless these may be
/// uneven; key-value heads may be copied instead), the layers (unless chunk_layers gives uneven stages) and
/// the experts, and they must fill whole nodes or equal parts of nodes. They need not divide the vocabulary,
/// because frameworks pad it.
std::vector<PlanMistake> plan_mistakes(const Transformer& model, const Cluster& cluster,
                                       const ParallelPlan& plan);

}  // namespace packsim
