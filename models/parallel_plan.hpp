#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster.hpp"
#include "models/execution_style.hpp"
#include "models/pipeline/pipeline_schedule.hpp"
#include "models/transformer.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// How ring attention cuts documents: in one chunk a GPU, or in two from both ends, which levels causal work.
enum class RingLayout { contiguous, zigzag };

/// What a checkpointed layer keeps: its input alone, or everything but the inside of attention.
enum class Checkpointing { full, selective };

/// What lives in host memory and crosses the bus every step.
enum class Offload { none, optimizer };

/// How one group of packs runs on the GPUs of a cluster.
///
/// A data-parallel rank is tp x sp x cp x pp GPUs that hold one copy of the model. Neighbouring GPUs are of
/// one tensor-parallel group, then of one sequence group, then of neighbouring data-parallel ranks; pipeline
/// stages are furthest apart. Experts are spread over ep_degree GPUs of one stage, across its sequence and
/// data-parallel neighbours, and not cut any further by tensor parallelism.
struct ParallelPlan {
  int n_gpus = 1;
  int tp_degree = 1;  ///< tensor parallel, activations between its blocks sharded along the sequence
  SequenceParallelism sequence = {};  ///< Ulysses inside, ring attention around it
  int pp_degree = 1;
  int virtual_stages = 1;  ///< Chunks of layers that a pipeline stage holds.
  /// A row of pipeline_schedules(). Null: the usual one of so many chunks a stage.
  const PipelineSchedule* pipeline_schedule = nullptr;
  /// Layers of each chunk, in the order in which a micro-batch goes through them; empty: all equal. The first
  /// and the last may hold nothing but the embedding or the head.
  std::vector<int> chunk_layers = {};
  int ep_degree = 1;

  int zero_stage = 1;
  ExecutionStyle execution = {};

  int gc_layers = 0;  ///< checkpointed, of all the model's layers
  Checkpointing checkpointing = Checkpointing::full;

  RingLayout ring_layout = RingLayout::zigzag;
  bool latent_exchange = false;  ///< Ulysses of multi-head latent attention sends the latent, not the heads
  Offload offload = Offload::none;
  int lora_rank = 0;  ///< 0: full fine-tuning

  /// GPUs that hold one copy of the model.
  int rank_gpus() const { return tp_degree * sequence.gpus_per_pack() * pp_degree; }
  int dp_degree() const { return n_gpus / rank_gpus(); }
  /// Chunk i is of stage i mod pp_degree.
  int n_chunks() const { return pp_degree * virtual_stages; }
  const PipelineSchedule& schedule() const {
    return pipeline_schedule != nullptr ? *pipeline_schedule : usual_schedule(virtual_stages);
  }
  PipelineShape pipeline_shape(int n_micro_batches) const {
    return {.n_stages = pp_degree, .chunks_per_stage = virtual_stages, .n_micro_batches = n_micro_batches};
  }
  /// GPUs that share a sequence: each holds 1/sequence_gpus() of a micro-batch's tokens between the blocks.
  int sequence_gpus() const { return tp_degree * sequence.gpus_per_pack(); }
  /// GPUs over which ZeRO shards states: all that hold the same weights.
  int state_gpus() const { return n_gpus / (tp_degree * pp_degree); }

  bool operator==(const ParallelPlan&) const = default;
};

/// Why a plan cannot exist.
struct PlanMistake {
  std::vector<std::string> keys = {};  ///< fields of the plan; several where they only fail together
  std::string expected = {};
  std::string got = {};

  /// "tp_degree x sp_degree"
  std::string names() const;
  /// "sp_degree: expected a divisor of the model's 32 attention heads, got 5"; of several fields
  /// "tp_degree x sp_degree: expected ..., got 4 x 16 = 64".
  std::string text() const { return names() + ": expected " + expected + ", got " + got; }
};

/// Every reason why the plan cannot exist; empty where it can.
///
/// The degrees have to divide the GPUs, the heads (tensor parallelism and Ulysses together; key-value heads
/// may be copied instead), the layers (unless chunk_layers says how uneven stages are) and the experts, and
/// to fill nodes or parts of nodes. Refused too is what is not modelled: ZeRO 2 and 3 with a pipeline, ring
/// attention over sliding windows. The vocabulary need not divide, as frameworks pad it.
std::vector<PlanMistake> plan_mistakes(const Transformer& model, const Cluster& cluster,
                                       const ParallelPlan& plan);

}  // namespace packsim
