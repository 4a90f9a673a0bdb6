#include "models/kernels/step_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "models/kernels/linear_layers.hpp"
#include "models/kernels/make_case.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kBf16Bytes = 2;

int layers_of(const StepPlan& plan) {
  return plan.n_layers == 0 ? plan.model.n_layers : plan.n_layers;
}

int n_nodes(int n_gpus, int gpus_per_node) {
  return (n_gpus + gpus_per_node - 1) / gpus_per_node;
}

std::int64_t query_width(const Transformer& model) {
  return std::int64_t{model.n_heads} * model.head_dim;
}

std::int64_t kv_width(const Transformer& model) {
  return std::int64_t{model.n_kv_heads} * model.head_dim;
}

// The exchange of one tensor [tokens, width] between heads and tokens.
void add_alltoall(KernelUses& uses, const StepPlan& plan, std::int64_t tokens, std::int64_t width,
                  double count, std::string_view part) {
  const std::int64_t size_bytes = kBf16Bytes * tokens * width;
  uses.add(copy_case("device", size_bytes), count, part);
  uses.add(
      collective_case("all_to_all", plan.sp_degree, n_nodes(plan.sp_degree, plan.gpus_per_node), size_bytes),
      count, part);
}

// Queries, keys, values and the output, the same in either direction.
void add_alltoalls(KernelUses& uses, const StepPlan& plan, std::int64_t tokens, double count,
                   std::string_view part) {
  if (plan.sp_degree == 1) return;
  const int kv_copies = std::max(1, plan.sp_degree / plan.model.n_kv_heads);
  add_alltoall(uses, plan, tokens, query_width(plan.model), 2 * count, part);
  add_alltoall(uses, plan, tokens, kv_width(plan.model) * kv_copies, 2 * count, part);
}

// The elementwise kernels of so many layers; backward is one kernel for each of forward.
void add_layer_elementwise(KernelUses& uses, const StepPlan& plan, std::int64_t tokens, std::string_view pass,
                           double n_residual_adds, double count, std::string_view part) {
  const Transformer& model = plan.model;
  uses.add(elementwise_case("rms_norm", pass, tokens, model.hidden_size), 2 * count, part);
  uses.add(elementwise_case("rope", pass, tokens, query_width(model)), count, part);
  uses.add(elementwise_case("rope", pass, tokens, kv_width(model)), count, part);
  uses.add(elementwise_case("swiglu", pass, tokens, model.ffn_size), count, part);
  uses.add(elementwise_case("residual_add", pass, tokens, model.hidden_size), n_residual_adds * count, part);
}

void add_layers_forward(KernelUses& uses, const StepPlan& plan, std::int64_t tokens, double count,
                        std::string_view part) {
  const bool stops_early = part == "recompute" && plan.recompute_stops_early;
  std::vector<LinearLayer> layers = linear_layers(plan.model);
  if (stops_early) layers.pop_back();  // down
  for (const LinearLayer& layer : layers) uses.add(forward_gemm(tokens, layer.out, layer.in), count, part);
  add_layer_elementwise(uses, plan, tokens, "fwd", stops_early ? 1 : 2, count, part);
  add_alltoalls(uses, plan, tokens, count, part);
}

void add_linear_backward(KernelUses& uses, const LinearLayer& layer, std::int64_t tokens, double count) {
  uses.add(input_gradient_gemm(tokens, layer.out, layer.in), count, "backward");
  uses.add(weight_gradient_gemm(tokens, layer.out, layer.in), count, "backward");
}

void add_layers_backward(KernelUses& uses, const StepPlan& plan, std::int64_t tokens, double count) {
  for (const LinearLayer& layer : linear_layers(plan.model)) add_linear_backward(uses, layer, tokens, count);
  add_layer_elementwise(uses, plan, tokens, "bwd", 2, count, "backward");
  add_alltoalls(uses, plan, tokens, count, "backward");
}

std::int64_t parameters_of(const StepPlan& plan) {
  Transformer model = plan.model;
  model.n_layers = layers_of(plan);
  return static_cast<std::int64_t>(model.parameters());
}

void add_state_collective(KernelUses& uses, const StepPlan& plan, std::string_view op,
                          std::int64_t n_elements, double count, std::string_view part) {
  const int n_gpus = plan.sp_degree * plan.dp_degree;
  if (n_gpus == 1 || n_elements == 0) return;
  uses.add(collective_case(op, n_gpus, n_nodes(n_gpus, plan.gpus_per_node), kBf16Bytes * n_elements), count,
           part);
}

// All weights or gradients, a bucket at a time.
void add_buckets(KernelUses& uses, const StepPlan& plan, std::string_view op, double count,
                 std::string_view part) {
  const std::int64_t n_elements = parameters_of(plan);
  const std::int64_t n_full = n_elements / plan.bucket_elements;
  if (n_full > 0)
    add_state_collective(uses, plan, op, plan.bucket_elements, count * static_cast<double>(n_full), part);
  add_state_collective(uses, plan, op, n_elements % plan.bucket_elements, count, part);
}

// ZeRO 3: every layer, the embedding, and the head with the last norm, each on its own.
void add_sharded_layers(KernelUses& uses, const StepPlan& plan, std::string_view op, double count,
                        std::string_view part) {
  const auto layer = static_cast<std::int64_t>(plan.model.layer_parameters());
  const std::int64_t embedding = std::int64_t{plan.model.vocab_size} * plan.model.hidden_size;
  const std::int64_t head = plan.model.tied_embeddings ? 0 : embedding;
  add_state_collective(uses, plan, op, layer, count * layers_of(plan), part);
  add_state_collective(uses, plan, op, embedding, count, part);
  add_state_collective(uses, plan, op, head + plan.model.hidden_size, count, part);
}

std::string mistakes_of(const StepPlan& plan) {
  const Transformer& model = plan.model;
  std::string mistakes;
  const auto expect = [&](bool good, const std::string& name, const std::string& expected, std::int64_t got) {
    if (good) return;
    mistakes +=
        (mistakes.empty() ? "" : "; ") + name + ": expected " + expected + ", got " + std::to_string(got);
  };
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  expect(plan.n_layers >= 0 && plan.n_layers <= model.n_layers, "layers", "0.." + text(model.n_layers),
         plan.n_layers);
  expect(plan.gc_layers >= 0 && plan.gc_layers <= layers_of(plan), "gc_layers", "0.." + text(layers_of(plan)),
         plan.gc_layers);
  expect(plan.dp_degree >= 1, "dp", "at least 1", plan.dp_degree);
  expect(plan.zero_stage >= 0 && plan.zero_stage <= 3, "zero", "0..3", plan.zero_stage);
  expect(plan.gpus_per_node >= 1, "gpus_per_node", "at least 1", plan.gpus_per_node);
  expect(plan.bucket_elements >= 1, "bucket_elements", "at least 1", plan.bucket_elements);
  if (plan.sp_degree < 1) {
    expect(false, "sp", "at least 1", plan.sp_degree);
  } else {
    expect(model.n_heads % plan.sp_degree == 0, "sp",
           "a divisor of the model's " + text(model.n_heads) + " attention heads", plan.sp_degree);
    expect(model.n_kv_heads % plan.sp_degree == 0 || plan.sp_degree % model.n_kv_heads == 0, "sp",
           "a divisor or a multiple of the model's " + text(model.n_kv_heads) + " key-value heads",
           plan.sp_degree);
  }
  return mistakes;
}

}  // namespace

void check_step_plan(const StepPlan& plan) {
  const std::string mistakes = mistakes_of(plan);
  if (!mistakes.empty()) throw std::invalid_argument("step of " + plan.model.name + ": " + mistakes);
}

StepPlan step_plan(const KernelCase& step, const Transformer& model, int gpus_per_node) {
  const auto integer = [&](std::string_view key) { return static_cast<int>(step.integer(key)); };
  StepPlan plan;
  plan.model = model;
  plan.n_layers = integer("layers");
  plan.gc_layers = integer("gc_layers");
  plan.sp_degree = integer("sp");
  plan.dp_degree = integer("dp");
  plan.zero_stage = integer("zero");
  plan.gpus_per_node = gpus_per_node;
  plan.recompute_stops_early = true;
  plan.bucket_elements = std::int64_t{1} << 25;
  plan.micro_batches = step.packs("packs");
  return plan;
}

void add_micro_batch(KernelUses& uses, const StepPlan& plan, std::int64_t tokens_per_gpu, double count) {
  const Transformer& model = plan.model;
  const std::int64_t tokens = tokens_per_gpu;
  const double n_layers = layers_of(plan);
  const LinearLayer head = head_layer(model);
  const bool shards_weights = plan.zero_stage == 3;

  if (shards_weights) add_sharded_layers(uses, plan, "all_gather", count, "forward");
  uses.add(elementwise_case("embedding", "fwd", tokens, model.hidden_size), count, "forward");
  add_layers_forward(uses, plan, tokens, count * n_layers, "forward");
  uses.add(elementwise_case("rms_norm", "fwd", tokens, model.hidden_size), count, "forward");
  uses.add(forward_gemm(tokens, head.out, head.in), count, "forward");
  uses.add(elementwise_case("cross_entropy", "fwd", tokens, model.vocab_size), count, "forward");

  if (plan.gc_layers > 0) add_layers_forward(uses, plan, tokens, count * plan.gc_layers, "recompute");

  // The recomputation of a layer uses the weights that were gathered for its backward pass.
  if (shards_weights) add_sharded_layers(uses, plan, "all_gather", count, "backward");
  uses.add(elementwise_case("cross_entropy", "bwd", tokens, model.vocab_size), count, "backward");
  add_linear_backward(uses, head, tokens, count);
  uses.add(elementwise_case("rms_norm", "bwd", tokens, model.hidden_size), count, "backward");
  add_layers_backward(uses, plan, tokens, count * n_layers);
  uses.add(elementwise_case("embedding", "bwd", tokens, model.hidden_size), count, "backward");
  if (shards_weights) add_sharded_layers(uses, plan, "reduce_scatter", count, "backward");
  if (plan.zero_stage == 2) add_buckets(uses, plan, "reduce_scatter", count, "backward");
}

void add_attention(KernelUses& uses, const StepPlan& plan, const Documents& documents, double count) {
  const int heads = plan.model.n_heads / plan.sp_degree;
  const int kv_heads = std::max(1, plan.model.n_kv_heads / plan.sp_degree);
  const KernelCase forward = attention_case("fwd", documents, heads, kv_heads, plan.model.head_dim);
  uses.add(forward, count * layers_of(plan), "forward");
  uses.add(forward, count * plan.gc_layers, "recompute");
  uses.add(forward.with("pass", "bwd"), count * layers_of(plan), "backward");
}

void add_step_end(KernelUses& uses, const StepPlan& plan, double count) {
  if (plan.zero_stage == 0) add_buckets(uses, plan, "all_reduce", count, "backward");
  if (plan.zero_stage == 1) add_buckets(uses, plan, "reduce_scatter", count, "backward");
  const std::int64_t n_shards = plan.zero_stage == 0 ? 1 : plan.sp_degree * plan.dp_degree;
  uses.add(adamw_case((parameters_of(plan) + n_shards - 1) / n_shards), count, "optimizer");
  if (plan.zero_stage == 1 || plan.zero_stage == 2) add_buckets(uses, plan, "all_gather", count, "optimizer");
}

void add_launch_gaps(KernelUses& uses) {
  double n_kernels = 0;
  for (const KernelUse& use : uses.all()) n_kernels += use.count;
  uses.add(KernelCase::of("launch_gap", {}), n_kernels, "launch");
}

std::vector<KernelUse> step_kernels(const StepPlan& plan) {
  check_step_plan(plan);
  KernelUses uses;
  for (const Documents& documents : plan.micro_batches) {
    add_micro_batch(uses, plan, (documents.tokens() + plan.sp_degree - 1) / plan.sp_degree, 1);
    add_attention(uses, plan, documents, 1);
  }
  add_step_end(uses, plan, 1);
  add_launch_gaps(uses);
  return uses.all();
}

}  // namespace packsim
