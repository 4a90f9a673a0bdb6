#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "models/cluster.hpp"
#include "models/framework_factors.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// What a framework profile states of memory, in place of what the plan's styles say.
struct MemoryAssumptions {
  /// Memory for the CUDA context, NCCL's channels, workspaces of libraries, and fragmentation.
  std::optional<double> reserved_bytes = {};
  /// Workspace of the loss for each token and vocabulary entry, including the tensors of the last norm.
  std::optional<double> logits_bytes_per_vocab_entry = {};
};
/// A number of 0 is not stated.
MemoryAssumptions memory_assumptions(const FrameworkFactors& factors);

enum class PeakMoment {
  /// When the last stage computes the loss, with all activations and the logits.
  loss,
  /// Backward pass of some layer, recomputed if it was checkpointed; later layers are done.
  backward,
  optimizer_step,  ///< only weights, gradients and optimizer states are held
};
std::string_view moment_name(PeakMoment moment);

/// What the GPU with the highest memory peak holds at that peak.
struct MemoryPeak {
  double weights_bytes = 0;
  double gradients_bytes = 0;
  /// In the optimizer step this includes the fp32 copy of bf16 gradients.
  double optimizer_bytes = 0;
  double activations_bytes = 0;  ///< kept by layers that are not checkpointed in full
  /// Inputs of the layers that are checkpointed in full; if they are offloaded, those of two layers.
  double checkpoints_bytes = 0;
  /// Activations that a checkpointed layer has recomputed for its backward pass.
  double recomputed_bytes = 0;
  double activation_gradient_bytes = 0;  ///< of the layer in its backward pass
  double logits_bytes = 0;
  /// ZeRO 3 holds the weights of the current layer and the next; with a pipeline, those of the whole stage.
  /// Frozen weights of 4 bits add one matrix in bf16, and autocast the bf16 copies of fp32 weights.
  double gathered_weights_bytes = 0;
  /// Gradients on their way to their shards or to the host, under ZeRO 2 and 3.
  double bucket_bytes = 0;
  double exchange_bytes = 0;   ///< buffers of the layer's exchanges
  double workspace_bytes = 0;  ///< of libraries, from the framework's allocator
  double reserved_bytes = 0;   ///< outside of the framework's allocator

  /// Host memory of a node, if all its GPUs belonged to the stage that offloads most. It is not part of the
  /// total.
  double host_bytes = 0;
  PeakMoment moment = PeakMoment::loss;
  int stage = 0;  ///< the pipeline stage of the GPU

  double total_bytes() const;
  /// What the framework's allocator has handed out: PyTorch's max_memory_allocated().
  double allocated_bytes() const { return total_bytes() - reserved_bytes; }
  /// Adds the parts of the total.
  MemoryPeak& operator+=(const MemoryPeak& other);
};

/// A part of MemoryPeak::total_bytes().
struct PeakPart {
  std::string_view name;  ///< as its key in report.json, without "_bytes"
  double MemoryPeak::*bytes = nullptr;
};
std::span<const PeakPart> peak_parts();

/// The memory peak over all moments of a step and all pipeline stages. The plan must be one in which
/// plan_mistakes() finds no mistake.
///
/// tokens_per_gpu: tokens of the largest micro-batch, padding included, divided by plan.sequence_gpus(). All
/// micro-batches in a pipeline are assumed to be that large.
///
/// Gradients that every GPU keeps whole (ZeRO stages 0 and 1) are sent from where they are and need no
/// bucket. Sharded gradients are collected in one bucket of plan.execution.bucket_elements while another is
/// sent, as with DeepSpeed's overlap_comm. With a pipeline, ZeRO 2 and 3 hold whole gradients and ZeRO 3
/// whole weights from the first pass to the last (models/state_traffic.hpp).
///
/// Throws std::invalid_argument for tokens_per_gpu < 0, n_micro_batches < 1, and more plan.gc_layers than the
/// model has.
MemoryPeak peak_memory(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                       const MemoryAssumptions& assumptions, double tokens_per_gpu, int n_micro_batches = 1);

/// peak_memory() of one plan for packs of many sizes: what is the same for all of them is computed once.
/// Model and cluster must outlive it.
class PlanMemory {
 public:
  PlanMemory(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
             const MemoryAssumptions& assumptions);
  ~PlanMemory();
  PlanMemory(PlanMemory&&) noexcept;

  /// Throws as peak_memory() does.
  MemoryPeak peak(double tokens_per_gpu, int n_micro_batches = 1) const;
  void set_gc_layers(int gc_layers);
  const Transformer& model() const;
  const Cluster& cluster() const;
  const ParallelPlan& plan() const;

  // The moments that peak() compares, one by one, for a GPU of a pipeline stage. With micro-batches of
  // different sizes, they say what is held when; what a forward pass holds beyond what it keeps is not known.
  // The chunks of a stage count from 0. All throw std::out_of_range for a stage or chunk that is not there.

  /// What is held between two steps.
  MemoryPeak at_rest(int stage) const;
  MemoryPeak at_optimizer_step(int stage) const;
  /// What is held from the first pass of a step to its last, without activations.
  MemoryPeak between_passes(int stage) const;
  /// The activations that a micro-batch keeps on the GPU from its forward pass through a chunk to its
  /// backward pass; all else is 0.
  MemoryPeak kept(int stage, int chunk, double tokens_per_gpu) const;
  /// The peak of a backward pass, which for the last chunk begins with the loss. held: what is held at its
  /// start, including kept() of this micro-batch and of others.
  MemoryPeak backward_pass(int stage, int chunk, double tokens_per_gpu, MemoryPeak held) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Whether a plan fits in memory. The estimate of a peak is off by a share of it (memory_error()), so there
/// is a range in which it cannot be said.
enum class MemoryVerdict : std::uint8_t { fits, may_not_fit, does_not_fit };
std::string_view verdict_name(MemoryVerdict verdict);

/// The relative error of the plan's peak: that of its kernel style, or a small one if the profile states what
/// is reserved, as it was then fitted to plans that did and did not fit.
double memory_error(const ParallelPlan& plan, const MemoryAssumptions& assumptions);
/// The share of the GPU's memory that a search leaves free: the plan's, or else memory_error().
double memory_margin(const ParallelPlan& plan, const MemoryAssumptions& assumptions);
/// The margin, below 0, with which a search takes every plan that may fit.
double least_memory_margin(const ParallelPlan& plan, const MemoryAssumptions& assumptions);

/// The peak against the memory of the GPU, and what is offloaded against that of the node. A node whose
/// memory is not stated has room for everything.
MemoryVerdict memory_verdict(const Cluster& cluster, const MemoryPeak& peak, double error);

/// Whether the peak fits in the memory of the GPU with this share of it left free, and what is offloaded in
/// that of the node.
bool fits(const Cluster& cluster, const MemoryPeak& peak, double margin = 0);

/// The fewest checkpointed layers with which the plan fits in memory and leaves this share of it free, or
/// none if no number of them is enough. plan.gc_layers is not read.
std::optional<int> fewest_gc_layers(const Transformer& model, const Cluster& cluster,
                                    const ParallelPlan& plan, const MemoryAssumptions& assumptions,
                                    double tokens_per_gpu, int n_micro_batches = 1, double margin = 0);
/// The same for the plan of `memory`. Afterwards that plan checkpoints the returned number of layers, or all
/// layers if none fits.
std::optional<int> fewest_gc_layers(PlanMemory& memory, double tokens_per_gpu, int n_micro_batches,
                                    double margin);

}  // namespace packsim
