#include "models/memory/peak_memory.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "models/memory/activations.hpp"
#include "models/memory/stages.hpp"
#include "models/memory/states.hpp"
#include "models/memory/value_bytes.hpp"
#include "models/memory/weights.hpp"
#include "models/state_traffic.hpp"

namespace packsim {
namespace peak_memory_detail {  // named, as PlanMemory::Parts has them

struct Job {
  const Transformer& model;
  const Cluster& cluster;
  const ParallelPlan& plan;
  const MemoryAssumptions& assumptions;
  double tokens_per_gpu;
  int n_micro_batches;
};

// What a kind of layer costs, by kind.
struct LayerCost {
  LayerActivations per_token;
  double gathered_bytes = 0;
  double made_bytes = 0;  // what its backward pass makes of weights on the GPU
};
using LayerCosts = std::array<LayerCost, 2>;

// What a stage holds however many of its layers are checkpointed.
struct StageBase {
  MemoryPeak resting;     // states, and what is there in every moment
  double step_bytes = 0;  // what the optimizer step adds
  MemoryPeak held;        // from the first pass to the last, without activations
};

}  // namespace peak_memory_detail

namespace {

using namespace peak_memory_detail;

const LayerCost& cost_of(const LayerCosts& costs, const AlikeLayers& layers) {
  return costs[layers.kind == LayerKind::dense ? 0 : 1];
}

// Weights that ZeRO-3 has to gather before they can be used, and their shards if these come from the host.
double gathered_bytes(const ParallelPlan& plan, const GpuWeights& weights, double element_bytes = kBf16) {
  if (!shards_weights(plan)) return 0;
  const auto of = [&](double elements, int n_gpus) {
    if (n_gpus == 1) return plan.offload.weights ? elements : 0;
    return elements + (plan.offload.weights ? elements / n_gpus : 0);
  };
  return element_bytes * (of(weights.dense, shard_gpus(plan)) + of(weights.experts, expert_shard_gpus(plan)));
}

// Bytes of a layer's weight as it is gathered: in 4 bits if it is kept so.
double arriving_bytes(const ParallelPlan& plan) {
  if (plan.frozen_weights->is_packed()) return plan.frozen_weights->kept_bytes;
  return plan.fp8_gather ? precision_kind(plan.precision).value_bytes : kBf16;
}

// Bytes of the quantised copies that a pass makes of a gathered weight: one transposed and, unless it arrived
// quantised, one as it is.
double quantised_bytes(const ParallelPlan& plan) {
  if (!is_narrow(plan.precision)) return 0;
  return (plan.fp8_gather ? 1 : 2) * precision_kind(plan.precision).value_bytes;
}

// If a layer is gathered for each pass, its quantised copies count as gathered, not here.
double made_bytes(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  if (plan.frozen_weights->is_packed()) return kBf16 * largest_matrix(model, plan, kind);
  if (!gathers_every_step(plan)) return 0;
  return gathered_bytes(plan, layer_matrices(model, plan, kind), quantised_bytes(plan));
}

LayerCosts layer_costs(const Transformer& model, const ParallelPlan& plan) {
  LayerCosts costs;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    if (model.n_layers_of(kind) == 0) continue;
    costs[kind == LayerKind::dense ? 0 : 1] = {
        .per_token = layer_activations(model, plan, kind),
        .gathered_bytes = gathered_bytes(plan, layer_weights(model, plan, kind),
                                         arriving_bytes(plan) + quantised_bytes(plan)),
        .made_bytes = made_bytes(model, plan, kind)};
  }
  return costs;
}

// Weights and gradients of the whole stage that are on the GPU from the first pass to the last, although they
// are sharded between steps.
void add_kept_states(const Job& job, int stage, MemoryPeak& held) {
  const ParallelPlan& plan = job.plan;
  if (gathers_every_step(plan)) {
    GpuWeights weights = stage_weights(job.model, plan, stage);
    if (plan.lora_rank > 0) weights += stage_adapters(job.model, plan, stage);
    const GpuWeights matrices = stage_matrices(job.model, plan, stage);
    const GpuWeights others = {weights.dense - matrices.dense, weights.experts - matrices.experts};
    held.gathered_weights_bytes =
        gathered_bytes(plan, matrices, arriving_bytes(plan)) + gathered_bytes(plan, others);
  }
  if (shards_gradients(plan) && !reduces_every_micro_batch(plan)) {
    held.gradients_bytes = gradient_element_bytes(plan) * trained_elements(job.model, plan, stage);
  }
}

double bucket_bytes(const Job& job, int stage) {
  const ParallelPlan& plan = job.plan;
  if (!shards_gradients(plan) || !reduces_every_micro_batch(plan)) return 0;
  if (plan.state_gpus() == 1 && !plan.offload.gradients) return 0;
  const double elements =
      std::min(static_cast<double>(plan.execution.bucket_elements), trained_elements(job.model, plan, stage));
  return 2 * gradient_element_bytes(plan) * elements;
}

// What micro-batches keep of a layer, and which part of the peak that is. Layers with activations on the host
// keep nothing.
struct KeptBytes {
  double MemoryPeak::*part = &MemoryPeak::activations_bytes;
  double bytes = 0;
};

KeptBytes kept_bytes(const Job& job, const LayerCosts& costs, const AlikeLayers& layer,
                     double n_micro_batches) {
  const LayerActivations& per_token = cost_of(costs, layer).per_token;
  const double tokens = job.tokens_per_gpu * n_micro_batches;
  if (!layer.is_checkpointed) return {&MemoryPeak::activations_bytes, tokens * per_token.kept_bytes};
  if (job.plan.checkpointing != Checkpointing::full)
    return {&MemoryPeak::activations_bytes, tokens * per_token.checkpointed_bytes};
  if (!job.plan.offload.activations)
    return {&MemoryPeak::checkpoints_bytes, tokens * per_token.checkpointed_bytes};
  return {};
}

// The same for a layer of each kind, checkpointed or not.
class KeptLayers {
 public:
  KeptLayers(const Job& job, const LayerCosts& costs, double n_micro_batches) {
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert})
      for (const bool is_checkpointed : {false, true})
        kept_[index({kind, is_checkpointed})] =
            kept_bytes(job, costs, {kind, is_checkpointed}, n_micro_batches);
  }
  void add(const AlikeLayers& layers, MemoryPeak& peak) const { add(layers, layers.n_layers, peak); }
  /// The same of so many of them.
  void add(const AlikeLayers& layers, int n_layers, MemoryPeak& peak) const {
    const KeptBytes& kept = kept_[index(layers)];
    peak.*kept.part += n_layers * kept.bytes;
  }

 private:
  static std::size_t index(const AlikeLayers& layers) {
    return (layers.kind == LayerKind::dense ? 0U : 2U) + (layers.is_checkpointed ? 1U : 0U);
  }
  std::array<KeptBytes, 4> kept_;
};

int gpus_of_node(const Job& job) {
  return std::min(job.cluster.gpus_per_node, job.plan.n_gpus);
}

// Inputs of checkpointed layers of one micro-batch, where they are offloaded.
struct OffloadedInputs {
  double all_bytes = 0;
  double on_gpu_bytes = 0;  // of two layers: one is copied while the other is used
};

OffloadedInputs offloaded_inputs(const Job& job, const LayerCosts& costs,
                                 const std::vector<LayerChunk>& chunks) {
  OffloadedInputs inputs;
  for (const LayerChunk& chunk : chunks) {
    for (const AlikeLayers& layers : chunk) {
      if (!layers.is_checkpointed) continue;
      const double bytes = job.tokens_per_gpu * cost_of(costs, layers).per_token.checkpointed_bytes;
      inputs.all_bytes += layers.n_layers * bytes;
      inputs.on_gpu_bytes = std::min(inputs.all_bytes, 2 * bytes);
    }
  }
  return inputs;
}

// Two workspaces of cuBLAS of 32 MiB each on a Hopper (pytorch PR 120925) and small tensors: constant to 1 MB
// over 21 measured runs.
constexpr double kWorkspaceBytes = 68.5e6;
// A CUDA context with modules loaded as they are needed (pytorch issues 109888, 107667), and NCCL's buffers
// for one communicator of 8 H100 (nccl issue 1685).
constexpr double kContextBytes = 0.45e9;
constexpr double kCommunicatorBytes = 1.06e9;

double reserved_bytes(const Job& job) {
  if (job.assumptions.reserved_bytes) return *job.assumptions.reserved_bytes;
  return kContextBytes + (job.plan.n_gpus > 1 ? kCommunicatorBytes : 0);
}

MemoryPeak resting(const Job& job, const StateBytes& states, int stage) {
  return {.weights_bytes = states.weights_bytes,
          .gradients_bytes = states.gradients_bytes,
          .optimizer_bytes = states.optimizer_bytes,
          .workspace_bytes = job.assumptions.reserved_bytes ? 0 : kWorkspaceBytes,
          .reserved_bytes = reserved_bytes(job),
          .host_bytes = states.host_bytes * gpus_of_node(job),
          .moment = PeakMoment::optimizer_step,
          .stage = stage};
}

std::vector<StageBase> stage_bases(const Job& job) {
  std::vector<StageBase> bases;
  for (int stage = 0; stage < job.plan.pp_degree; ++stage) {
    const StateBytes states = stage_states(job.model, job.plan, stage);
    StageBase base{.resting = resting(job, states, stage), .step_bytes = states.step_bytes, .held = {}};
    base.held = base.resting;
    base.held.bucket_bytes = bucket_bytes(job, stage);
    add_kept_states(job, stage, base.held);
    bases.push_back(base);
  }
  return bases;
}

// Whether gradients come into being layer by layer, from the last to the first, in the only micro-batch of a
// step.
bool gradients_grow(const Job& job) {
  return job.plan.execution.plain_gradients && job.n_micro_batches == 1 && job.plan.pp_degree == 1 &&
         !shards_gradients(job.plan) && !job.plan.offload.gradients && job.plan.lora_rank == 0 &&
         !job.plan.optimizer_in_backward;
}

// Logits, and what the last norm and the head keep, for each token. Tensor parallelism has tp times the
// tokens here and a tp-th of the vocabulary.
double loss_bytes(const Job& job) {
  const double vocabulary = static_cast<double>(job.model.vocab_size) / job.plan.loss_tiles;
  if (job.assumptions.logits_bytes_per_vocab_entry)
    return vocabulary * *job.assumptions.logits_bytes_per_vocab_entry;
  const LossStyle& loss = *job.plan.execution.loss;
  // A norm that is not trained keeps no normalised value.
  const double norm_bytes =
      job.plan.execution.kernels->kept_of_norm(job.model.output_norms) + (job.plan.lora_rank > 0 ? 0 : kBf16);
  return vocabulary * loss.held_bytes(job.plan.tp_degree) +
         job.model.hidden_size * (norm_bytes + loss.hidden_bytes);
}

// Weights in bf16 that autocast has made of fp32 ones and autograd keeps: of layers that are not
// checkpointed, and of the head.
double cast_weights_bytes(const Job& job, const LayerChunk& chunk) {
  if (!casts_in_passes(job.plan)) return 0;
  double elements = vocabulary_weights(job.model, job.plan);
  for (const AlikeLayers& layers : chunk)
    if (!layers.is_checkpointed)
      elements += layers.n_layers * layer_matrices(job.model, job.plan, layers.kind).total();
  return kBf16 * elements;
}

MemoryPeak at_loss(const Job& job, const LayerCosts& costs, const LayerChunk& last_chunk, MemoryPeak peak) {
  const ParallelPlan& plan = job.plan;
  peak.moment = PeakMoment::loss;
  if (gradients_grow(job)) peak.gradients_bytes = 0;
  peak.logits_bytes = job.tokens_per_gpu * loss_bytes(job);
  peak.gathered_weights_bytes += cast_weights_bytes(job, last_chunk);
  if (gathers_every_step(plan)) return peak;
  peak.gathered_weights_bytes += gathered_bytes(plan, {.dense = vocabulary_weights(job.model, plan)});
  if (!last_chunk.empty()) peak.gathered_weights_bytes += cost_of(costs, last_chunk.back()).gathered_bytes;
  return peak;
}

// held: includes the activations that are left when the layer's turn comes. before: the layer before it in
// the chunk; null if it is the first.
MemoryPeak at_backward(const Job& job, const LayerCosts& costs, const AlikeLayers& layer,
                       const AlikeLayers* before, MemoryPeak held) {
  const LayerActivations& per_token = cost_of(costs, layer).per_token;
  held.moment = PeakMoment::backward;
  if (layer.is_checkpointed) held.recomputed_bytes = job.tokens_per_gpu * per_token.recomputed_bytes;
  held.activation_gradient_bytes = job.tokens_per_gpu * per_token.gradient_bytes;
  held.exchange_bytes = job.tokens_per_gpu * per_token.exchange_bytes;
  held.gathered_weights_bytes += cost_of(costs, layer).made_bytes;
  if (gathers_every_step(job.plan)) return held;
  held.gathered_weights_bytes += cost_of(costs, layer).gathered_bytes;
  if (before != nullptr) held.gathered_weights_bytes += cost_of(costs, *before).gathered_bytes;
  return held;
}

void keep_larger(const MemoryPeak& candidate, MemoryPeak& peak) {
  if (candidate.total_bytes() > peak.total_bytes()) peak = candidate;
}

// Keeps the peak of a chunk's backward pass. left: what is there at its start. freed: what its micro-batch
// has kept, as negative numbers.
void keep_backward_peak(const Job& job, const LayerCosts& costs, const LayerChunk& chunk,
                        const KeptLayers& freed, MemoryPeak left, MemoryPeak& peak) {
  const bool grow = gradients_grow(job);
  // The head's gradient exists since the loss.
  if (grow) left.gradients_bytes = gradient_element_bytes(job.plan) * vocabulary_weights(job.model, job.plan);
  for (std::size_t i = chunk.size(); i-- > 0;) {
    const AlikeLayers& layers = chunk[i];
    const AlikeLayers* before = i > 0 ? &chunk[i - 1] : nullptr;
    const double layer_gradients_bytes =
        grow ? gradient_element_bytes(job.plan) * layer_weights(job.model, job.plan, layers.kind).total() : 0;
    left.gradients_bytes += layer_gradients_bytes;
    // From one of the layers to the next, what is left changes by the same bytes, and only the first has
    // another kind before it. So the last, the second or the first holds the most.
    int last = layers.n_layers - 1;
    for (const int layer : {last, std::min(1, last), 0}) {
      left.gradients_bytes += (last - layer) * layer_gradients_bytes;
      freed.add(layers, last - layer, left);
      last = layer;
      keep_larger(at_backward(job, costs, layers, layer > 0 ? &layers : before, left), peak);
    }
    freed.add(layers, 1, left);
  }
}

MemoryPeak optimizer_step(const StageBase& base) {
  MemoryPeak peak = base.resting;
  peak.optimizer_bytes += base.step_bytes;
  return peak;
}

MemoryPeak stage_peak(const Job& job, const LayerCosts& costs, const StageBase& base, int stage,
                      const std::vector<LayerChunk>& chunks) {
  MemoryPeak peak = optimizer_step(base);
  MemoryPeak held = base.held;

  const double in_flight = micro_batches_in_flight(job.plan, stage, job.n_micro_batches);
  if (job.plan.offload.activations) {
    const OffloadedInputs inputs = offloaded_inputs(job, costs, chunks);
    held.checkpoints_bytes += inputs.on_gpu_bytes;
    peak.host_bytes += in_flight * inputs.all_bytes * gpus_of_node(job);
    held.host_bytes = peak.host_bytes;
  }
  const KeptLayers kept(job, costs, in_flight);
  for (const LayerChunk& chunk : chunks)
    for (const AlikeLayers& layers : chunk) kept.add(layers, held);
  if (stage == job.plan.pp_degree - 1) keep_larger(at_loss(job, costs, chunks.back(), held), peak);
  const KeptLayers freed(job, costs, -1);
  for (const LayerChunk& chunk : chunks) keep_backward_peak(job, costs, chunk, freed, held, peak);
  return peak;
}

void check(const Job& job) {
  if (!(job.tokens_per_gpu >= 0)) throw std::invalid_argument("tokens_per_gpu: expected a number >= 0");
  if (job.n_micro_batches < 1) throw std::invalid_argument("n_micro_batches: expected an integer >= 1");
  if (job.plan.gc_layers < 0 || job.plan.gc_layers > job.model.n_layers)
    throw std::invalid_argument("gc_layers: expected 0 to the model's layers");
}

}  // namespace

double MemoryPeak::total_bytes() const {
  return weights_bytes + gradients_bytes + optimizer_bytes + activations_bytes + checkpoints_bytes +
         recomputed_bytes + activation_gradient_bytes + logits_bytes + gathered_weights_bytes + bucket_bytes +
         exchange_bytes + workspace_bytes + reserved_bytes;
}

struct PlanMemory::Parts {
  const Transformer& model;
  const Cluster& cluster;
  ParallelPlan plan;
  MemoryAssumptions assumptions;
  LayerCosts costs;
  std::vector<StageBase> bases;                 // [pp_degree]
  std::vector<std::vector<LayerChunk>> chunks;  // [pp_degree]

  const LayerChunk& chunk(int stage, int index) const {
    return chunks.at(static_cast<std::size_t>(stage)).at(static_cast<std::size_t>(index));
  }
  Job job(double tokens_per_gpu, int n_micro_batches) const {
    return {model, cluster, plan, assumptions, tokens_per_gpu, n_micro_batches};
  }
};

PlanMemory::PlanMemory(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                       const MemoryAssumptions& assumptions)
    : parts_(std::make_unique<Parts>(Parts{model, cluster, plan, assumptions, {}, {}, {}})) {
  const Job job = parts_->job(0, 1);
  check(job);
  parts_->costs = layer_costs(model, plan);
  parts_->bases = stage_bases(job);
  set_gc_layers(plan.gc_layers);
}

PlanMemory::~PlanMemory() = default;
PlanMemory::PlanMemory(PlanMemory&&) noexcept = default;

void PlanMemory::set_gc_layers(int gc_layers) {
  parts_->plan.gc_layers = gc_layers;
  parts_->chunks.clear();
  for (int stage = 0; stage < parts_->plan.pp_degree; ++stage)
    parts_->chunks.push_back(stage_chunks(parts_->model, parts_->plan, stage));
}

const Transformer& PlanMemory::model() const {
  return parts_->model;
}
const Cluster& PlanMemory::cluster() const {
  return parts_->cluster;
}
const ParallelPlan& PlanMemory::plan() const {
  return parts_->plan;
}

MemoryPeak PlanMemory::peak(double tokens_per_gpu, int n_micro_batches) const {
  const Job job = parts_->job(tokens_per_gpu, n_micro_batches);
  check(job);
  MemoryPeak peak = stage_peak(job, parts_->costs, parts_->bases[0], 0, parts_->chunks[0]);
  double host_bytes = peak.host_bytes;
  for (std::size_t stage = 1; stage < parts_->bases.size(); ++stage) {
    const MemoryPeak other =
        stage_peak(job, parts_->costs, parts_->bases[stage], static_cast<int>(stage), parts_->chunks[stage]);
    host_bytes = std::max(host_bytes, other.host_bytes);
    keep_larger(other, peak);
  }
  peak.host_bytes = host_bytes;
  return peak;
}

MemoryPeak PlanMemory::at_rest(int stage) const {
  return parts_->bases.at(static_cast<std::size_t>(stage)).resting;
}

MemoryPeak PlanMemory::at_optimizer_step(int stage) const {
  return optimizer_step(parts_->bases.at(static_cast<std::size_t>(stage)));
}

MemoryPeak PlanMemory::between_passes(int stage) const {
  return parts_->bases.at(static_cast<std::size_t>(stage)).held;
}

MemoryPeak PlanMemory::kept(int stage, int chunk, double tokens_per_gpu) const {
  const KeptLayers kept(parts_->job(tokens_per_gpu, 1), parts_->costs, 1);
  MemoryPeak bytes;
  for (const AlikeLayers& layers : parts_->chunk(stage, chunk)) kept.add(layers, bytes);
  return bytes;
}

MemoryPeak PlanMemory::backward_pass(int stage, int chunk, double tokens_per_gpu, MemoryPeak held) const {
  const Job job = parts_->job(tokens_per_gpu, 1);
  const std::vector<LayerChunk>& chunks = parts_->chunks.at(static_cast<std::size_t>(stage));
  const LayerChunk& layers = parts_->chunk(stage, chunk);
  if (parts_->plan.offload.activations)
    held.checkpoints_bytes += offloaded_inputs(job, parts_->costs, chunks).on_gpu_bytes;
  MemoryPeak peak = held;
  const bool has_loss = stage + 1 == parts_->plan.pp_degree && &layers == &chunks.back();
  if (has_loss) keep_larger(at_loss(job, parts_->costs, layers, held), peak);
  keep_backward_peak(job, parts_->costs, layers, KeptLayers(job, parts_->costs, -1), held, peak);
  return peak;
}

MemoryPeak peak_memory(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                       const MemoryAssumptions& assumptions, double tokens_per_gpu, int n_micro_batches) {
  return PlanMemory(model, cluster, plan, assumptions).peak(tokens_per_gpu, n_micro_batches);
}

}  // namespace packsim
