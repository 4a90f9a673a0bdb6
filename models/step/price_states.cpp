#include <algorithm>
#include <cmath>

#include "models/kernels/make_case.hpp"
#include "models/layers/linear_layers.hpp"
#include "models/layers/trained_tensors.hpp"
#include "models/memory/weights.hpp"
#include "models/state_traffic.hpp"
#include "models/step/step_pricer.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

// Memory rate of a node that does not state it: 16 channels of DDR4-3200, rounded.
constexpr double kHostMemoryBytesPerS = 400e9;
// The share of the peak that AdamW on the host reaches: the geometric mean of three published steps, .57, .13
// and .12. No known measurement states the host. They are about 4 s for 405 G parameters on 8 nodes of H100
// (LambdaLabsML/distributed-training-guide at 1fbe39a1, 05-training-llama-405b/README.md, fused AdamW of
// PyTorch), 350 GB/s a node; and over 4 s, copies included, for Llama 2 7B on a node with 4 A100
// (deepspeedai/DeepSpeed at cda18e4a, blogs/deepspeed-zenflow/README.md, DeepSpeed's CPUAdam), under 50 GB/s;
// and about 10 s for Qwen2 72B on 4 nodes of A100 (DeepSpeed, issue 6834), 51 GB/s.
constexpr double kHostMemoryShare = 0.21;

// A unit while it is put together.
struct Unit {
  StateUnit unit;
  GpuWeights weights;
  GpuWeights trained;
};

// Number of nodes with the GPUs of a shard group that hold the same experts: of every expert-parallel group,
// the GPUs of one tensor-parallel group that have them whole, or the one that has the same part.
int expert_shard_nodes(const ParallelPlan& plan, int gpus_per_node) {
  const int n_whole = plan.tp_degree / plan.expert_tp_degree();
  return nodes_of_group(n_whole, 1, gpus_per_node) *
         nodes_of_group(std::max(1, expert_shard_gpus(plan) / n_whole), plan.tp_degree * plan.ep_degree,
                        gpus_per_node);
}

class StateUnits {
 public:
  StateUnits(const Transformer& model, const ParallelPlan& plan, const ChunkShape& chunk) {
    const bool is_lora = plan.lora_rank > 0;
    // The embedding and the head have no adapters.
    const auto add_whole = [&](const StateUnit& unit, double elements) {
      units_.push_back({.unit = unit, .weights = {elements, 0}, .trained = {is_lora ? 0 : elements, 0}});
    };
    const double vocabulary = vocabulary_weights(model, plan);
    if (chunk.has_embedding) add_whole({.has_embedding = true}, vocabulary);
    for (int layer = 0; layer < chunk.n_layers(); ++layer) {
      const LayerKind kind = layer < chunk.n_dense ? LayerKind::dense : LayerKind::expert;
      GpuWeights weights = layer_weights(model, plan, kind);
      const GpuWeights trained = is_lora ? layer_adapters(model, plan, kind) : weights;
      if (is_lora) weights += trained;
      units_.push_back(
          {.unit = {.first_layer = layer, .n_layers = 1}, .weights = weights, .trained = trained});
    }
    const bool is_tied = model.tied_embeddings && chunk.has_embedding;
    if (chunk.has_head) {
      add_whole({.first_layer = chunk.n_layers(), .has_head = true},
                (is_tied ? 0 : vocabulary) + model.hidden_size);
    }
  }

  // Merges units into buckets of at least so many elements, from the last on as the backward pass fills them.
  void merge(double bucket_elements) {
    std::vector<Unit> buckets;
    bool is_open = false;
    for (auto next = units_.rbegin(); next != units_.rend(); ++next) {
      if (!is_open) {
        buckets.push_back(*next);
      } else {
        Unit& bucket = buckets.back();
        bucket.unit.first_layer = next->unit.first_layer;
        bucket.unit.n_layers += next->unit.n_layers;
        bucket.unit.has_embedding = bucket.unit.has_embedding || next->unit.has_embedding;
        bucket.weights += next->weights;
        bucket.trained += next->trained;
      }
      is_open = buckets.back().trained.total() < bucket_elements;
    }
    units_.assign(buckets.rbegin(), buckets.rend());
  }

  std::vector<Unit>& all() { return units_; }

 private:
  std::vector<Unit> units_;
};

// Bytes of each element of a layer's weights between passes, without QLoRA's adapters.
double kept_layer_bytes(const ParallelPlan& plan) {
  return plan.frozen_weights->kept_bytes;
}

// Bytes of each element of a layer that is gathered. LoRA gathers adapters alone where weights are not
// sharded.
double gathered_layer_bytes(const ParallelPlan& plan) {
  if (plan.fp8_gather) return precision_kind(plan.precision).value_bytes;
  return shards_weights(plan) ? kept_layer_bytes(plan) : kBf16Bytes;
}

}  // namespace

const StatesPrice& StepPricer::states(int chunk_index) {
  const auto [place, is_new] = states_.try_emplace(chunk_index);
  if (is_new) place->second = price_states(chunk_index);
  return place->second;
}

StatesPrice StepPricer::price_states(int chunk_index) {
  const ChunkShape shape = chunk(chunk_index);
  StateUnits units(model_, plan_, shape);
  double n_tensors = 0;
  if (!travels_by_layer(plan_)) units.merge(static_cast<double>(plan_.execution.bucket_elements));
  StatesPrice states;
  states.gpus = shard_gpus(plan_);
  states.stride = plan_.tp_degree;
  states.replicas = shard_replicas(plan_);
  const int expert_gpus = expert_shard_gpus(plan_);
  const int n_nodes = nodes_of_group(states.gpus, states.stride, cluster_.gpus_per_node);
  const int n_expert_nodes = expert_shard_nodes(plan_, cluster_.gpus_per_node);
  const int n_replica_nodes =
      nodes_of_group(states.replicas, states.stride * states.gpus, cluster_.gpus_per_node);
  const auto travel_ns = [&](std::string_view op, const GpuWeights& elements, double element_bytes,
                             PriceAccount& account) {
    return travel_time_ns(op, elements.dense, element_bytes, {states.gpus, n_nodes}, account) +
           travel_time_ns(op, elements.experts, element_bytes, {expert_gpus, n_expert_nodes}, account);
  };
  const auto replicas_ns = [&](const GpuWeights& shard, double element_bytes) {
    const StateGroup replicas = {states.replicas, n_replica_nodes};
    return travel_time_ns("all_reduce", shard.dense, element_bytes, replicas, states.reductions) +
           travel_time_ns("all_reduce", shard.experts, element_bytes, replicas, states.reductions);
  };
  const double gradient_bytes = sent_gradient_bytes(plan_);
  GpuWeights trained;
  for (const Unit& part : units.all()) {
    StateUnit unit = part.unit;
    trained += part.trained;
    unit.reduce_ns = travel_ns(gradient_collective(plan_), part.trained, gradient_bytes, states.reductions);
    unit.reduce_bytes = std::llround(part.trained.total() * gradient_bytes);
    if (states.replicas > 1) {
      const GpuWeights shard = {part.trained.dense / states.gpus, part.trained.experts / expert_gpus};
      unit.replicas_ns = replicas_ns(shard, gradient_bytes);
      unit.replicas_bytes = std::llround(shard.total() * gradient_bytes);
      unit.reduce_ns += unit.replicas_ns;
    }
    if (shards_optimizer(plan_)) {
      // Passes gather what they compute with; otherwise what the optimizer has changed is gathered.
      const GpuWeights& gathered = shards_weights(plan_) ? part.weights : part.trained;
      const double element_bytes = unit.n_layers > 0 ? gathered_layer_bytes(plan_) : kBf16Bytes;
      unit.gather_ns = travel_ns("all_gather", gathered, element_bytes, states.gathers);
      unit.gather_bytes = std::llround(gathered.total() * element_bytes);
    }
    unit.sum_ns = gradient_sum_ns(states, part.trained);
    const double tensors = trained_tensors_of(unit, shape);
    n_tensors += tensors;
    if (unit.sum_ns > 0)
      unit.sum_wait_ns =
          std::max<std::int64_t>(0, nanoseconds(host_costs().launch_s * tensors) - unit.sum_ns);
    const auto shard = [&](const GpuWeights& weights) { return elements_of_gpu(plan_, weights, true); };
    if (plan_.offload.weights) {
      const double element_bytes = unit.n_layers > 0 ? kept_layer_bytes(plan_) : kBf16Bytes;
      unit.fetch_ns = host_copy_ns("host_to_device", element_bytes * shard(part.weights), states.gathers);
    }
    if (plan_.offload.gradients)
      unit.drain_ns =
          host_copy_ns("device_to_host", gradient_bytes * shard(part.trained), states.reductions) +
          host_sum_ns(shard(part.trained), states.reductions);
    states.units.push_back(unit);
  }
  price_optimizer(states, trained, chunk_index);
  states.optimizer_host_ns =
      nanoseconds(plan_.execution.launch_s * plan_.execution.kernels->tensor_launches * n_tensors);
  states.step_ns = nanoseconds(factors_.step_s);
  return states;
}

// Elements that are quantised once a step: all matrices of the GPU's layers, or its shards of them; 0 where
// passes quantise weights.
double StepPricer::cast_weights(int chunk_index) const {
  if (!is_narrow(plan_.precision) || plan_.lora_rank > 0 || casts_weights_in_passes(plan_)) return 0;
  const ChunkShape shape = chunk(chunk_index);
  double elements = 0;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    if (shape.n_layers_of(kind) == 0) continue;
    elements += shape.n_layers_of(kind) *
                elements_of_gpu(plan_, layer_weights(model_, plan_, kind), shards_weights(plan_));
  }
  return elements;
}

// One elementwise kernel reads both gradients and writes their sum, for the GPU's share where gradients are
// sharded in every micro-batch. The product that makes fp32 gradients adds them up, as in Megatron.
std::int64_t StepPricer::gradient_sum_ns(StatesPrice& states, const GpuWeights& summed) {
  if (plan_.execution.fp32_gradients) return 0;
  // The host adds them up.
  if (plan_.offload.gradients && reduces_every_micro_batch(plan_)) return 0;
  const double elements = elements_of_gpu(plan_, summed, reduces_every_micro_batch(plan_));
  if (elements <= 0) return 0;
  const auto rows = std::llround(std::ceil(elements / model_.hidden_size));
  const PricedKernel& kernel =
      kernels_->time(elementwise_case("residual_add", "fwd", rows, model_.hidden_size));
  const TimeEstimate known = kernel.estimate(1, factors_.linear_factor);
  book(states.sums, Cause::linear, kernel, known);
  return nanoseconds(known.time_s);
}

// Each collective carries a bucket at most.
std::int64_t StepPricer::travel_time_ns(std::string_view op, double elements, double element_bytes,
                                        StateGroup group, PriceAccount& account) {
  if (group.gpus <= 1 || elements <= 0 || factors_.free_exchange.has(Cause::states)) return 0;
  const double n_pieces = std::ceil(elements / static_cast<double>(plan_.execution.bucket_elements));
  const std::int64_t bytes = std::max<std::int64_t>(1, std::llround(elements * element_bytes / n_pieces));
  const PricedKernel& kernel = kernels_->time(collective_case(op, group.gpus, group.nodes, bytes));
  const TimeEstimate known = kernel.estimate(n_pieces);
  book(account, Cause::states, kernel, known, n_pieces);
  return nanoseconds(known.time_s);
}

std::int64_t StepPricer::host_copy_ns(std::string_view kind, double bytes, PriceAccount& account) {
  if (bytes <= 0 || factors_.free_exchange.has(Cause::states)) return 0;
  const PricedKernel& kernel = kernels_->time(copy_case(kind, std::llround(std::ceil(bytes))));
  const TimeEstimate known = kernel.estimate(1);
  book(account, Cause::states, kernel, known);
  return nanoseconds(known.time_s);
}

TimeEstimate StepPricer::host_memory_time(double bytes_per_gpu) const {
  const double peak = cluster_.host_memory_bytes_per_s.value_or(kHostMemoryBytesPerS);
  const double time_s = bytes_per_gpu * cluster_.gpus_per_node / (kHostMemoryShare * peak);
  return {time_s, time_s, Evidence::missing};
}

// A gradient is read, and the fp32 sum is read and written.
std::int64_t StepPricer::host_sum_ns(double elements, PriceAccount& account) {
  if (factors_.free_exchange.has(Cause::states)) return 0;
  const bool is_fp32 = plan_.execution.fp32_gradients;
  const TimeEstimate known =
      host_memory_time((2 * kFp32Bytes + (is_fp32 ? kFp32Bytes : kBf16Bytes)) * elements);
  account.add(Cause::states, {"gradient sum on the host", "gradient sum on the host"}, known);
  return nanoseconds(known.time_s);
}

double StepPricer::trained_tensors_of(const StateUnit& unit, const ChunkShape& chunk) const {
  double tensors = 0;
  for (int layer = unit.first_layer; layer < unit.first_layer + unit.n_layers; ++layer)
    tensors += trained_tensors(model_, plan_, layer < chunk.n_dense ? LayerKind::dense : LayerKind::expert);
  if (plan_.lora_rank > 0) return tensors;
  const bool is_tied = model_.tied_embeddings && chunk.has_embedding;
  return tensors + (unit.has_embedding ? 1 : 0) + (unit.has_head ? (is_tied ? 1 : 2) : 0);
}

// Muon's five steps of Newton-Schulz on each matrix of the chunk's layers: three products each, of the
// smaller side m and the larger n, 4 m^2 n + 2 m^3 (Keller Jordan, Muon, 2024). Each GPU does so for its
// share of them.
double StepPricer::orthogonalisation_flop(const ChunkShape& chunk) const {
  constexpr int kSteps = 5;
  double flop = 0;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    if (chunk.n_layers_of(kind) == 0) continue;
    for (const LinearLayer& layer : linear_layers(model_, kind)) {
      const int gpus = plan_.split_degree(layer.copies);
      const double rows = layer.out_width().share(gpus);
      const double columns = layer.in_width().share(gpus);
      const double m = std::min(rows, columns);
      const double n = std::max(rows, columns);
      const double n_local = layer.copies > 1 ? 1.0 * layer.copies / plan_.ep_degree : 1;
      flop += kSteps * chunk.n_layers_of(kind) * n_local * (4 * m * m * n + 2 * m * m * m);
    }
  }
  return shards_optimizer(plan_) ? flop / shard_gpus(plan_) : flop;
}

void StepPricer::price_optimizer(StatesPrice& states, const GpuWeights& trained, int chunk_index) {
  const double cast_elements = cast_weights(chunk_index);
  const OptimizerKind& optimizer = *plan_.execution.optimizer;
  const double updated = elements_of_gpu(plan_, trained, shards_optimizer(plan_));
  const auto n_updated = std::max<std::int64_t>(1, std::llround(std::ceil(updated)));
  double time_s = 0;
  const auto add_kernel = [&](const KernelCase& kernel, double factor) {
    const PricedKernel& priced = kernels_->time(kernel);
    const TimeEstimate known = priced.estimate(1, factor);
    book(states.optimizer, Cause::optimizer, priced, known);
    time_s += known.time_s;
  };
  if (plan_.offload.optimizer) {
    // Gradients go to the host and weights back, unless they live there. AdamW moves as much through the
    // host's memory as on a GPU: in fp32 it reads gradient, weight and two moments, and writes the latter
    // three.
    if (!plan_.offload.gradients) {
      add_kernel(
          copy_case("device_to_host", (plan_.execution.fp32_gradients ? kFp32Bytes : kBf16Bytes) * n_updated),
          1);
    }
    if (!plan_.offload.weights) add_kernel(copy_case("host_to_device", kBf16Bytes * n_updated), 1);
    const TimeEstimate on_host = host_memory_time(optimizer.moved_bytes * static_cast<double>(n_updated));
    states.optimizer.add(Cause::optimizer, {"adamw on the host", "AdamW on the host"}, on_host);
    time_s += on_host.time_s;
  } else {
    const double moved = optimizer.moved_bytes / kAdamW.moved_bytes;
    add_kernel(adamw_case(n_updated), factors_.linear_factor * moved);
  }
  if (optimizer.is_paged) {
    for (const std::string_view kind : {"host_to_device", "device_to_host"})
      add_kernel(copy_case(kind, std::llround(optimizer.state_bytes * static_cast<double>(n_updated))), 1);
  }
  if (optimizer.orthogonalises && plan_.lora_rank == 0) {
    // As products of the model's width.
    const std::int64_t width = model_.hidden_size;
    const KernelCase product = forward_gemm(width, width, width);
    const double n_products = orthogonalisation_flop(chunk(chunk_index)) / kernel_flop(product);
    const TimeEstimate known = kernels_->time(product).estimate(n_products, factors_.linear_factor);
    book(states.optimizer, Cause::optimizer, kernels_->time(product), known, n_products);
    time_s += known.time_s;
  }
  if (cast_elements > 0) {
    // A device copy reads and writes every byte.
    const double copy_bytes = 0.5 * precision_kind(plan_.precision).cast_bytes * cast_elements;
    add_kernel(copy_case("device", std::llround(copy_bytes)), factors_.linear_factor);
  }
  states.optimizer_ns = nanoseconds(time_s);
}

}  // namespace packsim
