#include "models/coverage/step_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "models/kernels/make_case.hpp"
#include "models/layers/layer_ops.hpp"
#include "models/layers/linear_layers.hpp"
#include "models/state_traffic.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

int layers_of(const StepPlan& plan) {
  return plan.n_layers == 0 ? plan.model.n_layers : plan.n_layers;
}

int n_nodes(int n_gpus, int gpus_per_node) {
  return (n_gpus + gpus_per_node - 1) / gpus_per_node;
}

// The model with as many layers as are run; dense ones come first.
Transformer model_of(const StepPlan& plan) {
  Transformer model = plan.model;
  model.n_layers = layers_of(plan);
  model.experts.n_dense_layers = std::min(model.experts.n_dense_layers, model.n_layers);
  return model;
}

ParallelPlan parallel_plan_of(const StepPlan& plan) {
  return {.n_gpus = plan.sequence.ulysses * plan.dp_degree,
          .sequence = {.ulysses = plan.sequence.ulysses},
          .zero_stage = plan.zero_stage,
          .execution = plan.execution,
          .gc_layers = plan.gc_layers};
}

struct LayerCount {
  LayerKind kind;
  int n = 0;
  int n_checkpointed = 0;
};

std::vector<LayerCount> layer_counts(const StepPlan& plan) {
  const Transformer model = model_of(plan);
  std::vector<LayerCount> counts;
  int n_checkpointed = plan.gc_layers;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    const int n = model.n_layers_of(kind);
    if (n > 0) counts.push_back({kind, n, std::min(n, n_checkpointed)});
    n_checkpointed -= std::min(n, n_checkpointed);
  }
  return counts;
}

using KernelsOf = std::vector<CountedKernel> (*)(const LayerOp& op);

// All but attention.
void add_ops(KernelUses& uses, const std::vector<LayerOp>& ops, KernelsOf kernels_of, double count,
             std::string_view part) {
  for (const LayerOp& op : ops) {
    if (op.kind == LayerOp::Kind::attention) continue;
    for (const CountedKernel& counted : kernels_of(op)) uses.add(counted.kernel, count * counted.count, part);
  }
}

// The share of a pack's attention that windows leave in the mean layer.
double windowed_share(const Transformer& model, const Documents& documents) {
  if (model.n_windowed_layers == 0) return 1;
  double seen = 0;
  for (const DocumentRun& run : documents.runs) {
    const auto length = static_cast<double>(run.length_tokens);
    seen += static_cast<double>(run.n_documents) * length * length * model.window_fraction(run.length_tokens);
  }
  const double windowed_layers = static_cast<double>(model.n_windowed_layers) / model.n_layers;
  return 1 - windowed_layers * (1 - seen / documents.squared_tokens());
}

void add_gradient_sum(KernelUses& uses, const StepPlan& plan, std::int64_t rows, std::int64_t cols,
                      double count) {
  const ParallelPlan parallel = parallel_plan_of(plan);
  const int n_shards = shards_gradients(parallel) ? parallel.state_gpus() : 1;
  uses.add(elementwise_case("residual_add", "fwd", (rows + n_shards - 1) / n_shards, cols), count,
           "backward");
}

std::int64_t parameters_of(const StepPlan& plan) {
  return static_cast<std::int64_t>(model_of(plan).parameters());
}

void add_state_collective(KernelUses& uses, const StepPlan& plan, std::string_view op,
                          std::int64_t n_elements, double count, std::string_view part) {
  const int n_gpus = plan.sequence.ulysses * plan.dp_degree;
  if (n_gpus == 1 || n_elements == 0) return;
  uses.add(collective_case(op, n_gpus, n_nodes(n_gpus, plan.gpus_per_node), kBf16Bytes * n_elements), count,
           part);
}

// All weights or gradients, a bucket at a time.
void add_buckets(KernelUses& uses, const StepPlan& plan, std::string_view op, double count,
                 std::string_view part) {
  const std::int64_t n_elements = parameters_of(plan);
  const std::int64_t n_full = n_elements / plan.execution.bucket_elements;
  if (n_full > 0)
    add_state_collective(uses, plan, op, plan.execution.bucket_elements, count * static_cast<double>(n_full),
                         part);
  add_state_collective(uses, plan, op, n_elements % plan.execution.bucket_elements, count, part);
}

// ZeRO 3: every layer, the embedding, and the head with the last norm, each on its own.
void add_sharded_layers(KernelUses& uses, const StepPlan& plan, std::string_view op, double count,
                        std::string_view part) {
  for (const LayerCount& layers : layer_counts(plan)) {
    const auto layer = static_cast<std::int64_t>(plan.model.layer_parameters(layers.kind));
    add_state_collective(uses, plan, op, layer, count * layers.n, part);
  }
  const std::int64_t embedding = std::int64_t{plan.model.vocab_size} * plan.model.hidden_size;
  const std::int64_t head = plan.model.tied_embeddings ? 0 : embedding;
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
  expect(is_zero_stage(plan.zero_stage), "zero", "0.." + text(kLastZeroStage), plan.zero_stage);
  expect(plan.gpus_per_node >= 1, "gpus_per_node", "at least 1", plan.gpus_per_node);
  expect(plan.execution.bucket_elements >= 1, "bucket_elements", "at least 1",
         plan.execution.bucket_elements);
  if (plan.sequence.ulysses < 1) {
    expect(false, "sp", "at least 1", plan.sequence.ulysses);
  } else {
    expect(model.n_heads % plan.sequence.ulysses == 0, "sp",
           "a divisor of the model's " + text(model.n_heads) + " attention heads", plan.sequence.ulysses);
    expect(model.n_kv_heads % plan.sequence.ulysses == 0 || plan.sequence.ulysses % model.n_kv_heads == 0,
           "sp", "a divisor or a multiple of the model's " + text(model.n_kv_heads) + " key-value heads",
           plan.sequence.ulysses);
  }
  return mistakes;
}

void check_step_plan(const StepPlan& plan) {
  const std::string mistakes = mistakes_of(plan);
  if (!mistakes.empty()) throw std::invalid_argument("step of " + plan.model.name + ": " + mistakes);
}

}  // namespace

StepPlan step_plan(const KernelCase& step, const Transformer& model, int gpus_per_node) {
  const auto integer = [&](std::string_view key) { return static_cast<int>(step.integer(key)); };
  StepPlan plan;
  plan.model = model;
  plan.n_layers = integer("layers");
  plan.gc_layers = integer("gc_layers");
  plan.sequence.ulysses = integer("sp");
  plan.dp_degree = integer("dp");
  plan.zero_stage = integer("zero");
  plan.gpus_per_node = gpus_per_node;
  plan.execution = kMeasuredStepExecution;
  plan.micro_batches = step.packs("packs");
  return plan;
}

namespace {

void add_micro_batch(KernelUses& uses, const StepPlan& plan, std::int64_t tokens_per_gpu, double count) {
  const ParallelPlan parallel = parallel_plan_of(plan);
  const std::vector<LayerCount> layers = layer_counts(plan);
  const auto layer_ops = [&](auto list, LayerKind kind) {
    return list(plan.model, parallel, plan.gpus_per_node, kind, tokens_per_gpu);
  };
  const std::vector<LayerOp> embedding =
      embedding_forward(plan.model, parallel, plan.gpus_per_node, tokens_per_gpu);
  const std::vector<LayerOp> head = head_forward(plan.model, parallel, plan.gpus_per_node, tokens_per_gpu);

  if (gathers_every_pass(parallel)) add_sharded_layers(uses, plan, "all_gather", count, "forward");
  add_ops(uses, embedding, forward_kernels, count, "forward");
  for (const LayerCount& layer : layers)
    add_ops(uses, layer_ops(layer_forward, layer.kind), forward_kernels, count * layer.n, "forward");
  add_ops(uses, head, forward_kernels, count, "forward");

  for (const LayerCount& layer : layers) {
    add_ops(uses, layer_ops(layer_recompute, layer.kind), forward_kernels, count * layer.n_checkpointed,
            "recompute");
  }

  // The recomputation of a layer uses the weights that were gathered for its backward pass.
  if (gathers_every_pass(parallel)) add_sharded_layers(uses, plan, "all_gather", count, "backward");
  add_ops(uses, head, backward_kernels, count, "backward");
  for (const LayerCount& layer : layers)
    add_ops(uses, layer_ops(layer_forward, layer.kind), backward_kernels, count * layer.n, "backward");
  add_ops(uses, embedding, backward_kernels, count, "backward");
  if (!reduces_every_micro_batch(parallel)) return;
  const std::string_view op = gradient_collective(parallel);
  if (travels_by_layer(parallel)) {
    add_sharded_layers(uses, plan, op, count, "backward");
  } else {
    add_buckets(uses, plan, op, count, "backward");
  }
}

void add_attention(KernelUses& uses, const StepPlan& plan, const Documents& documents, double count) {
  const AttentionShape shape = attention_shape(plan.model, parallel_plan_of(plan));
  const KernelCase forward = attention_case("fwd", documents, shape.heads, shape.kv_heads, shape.head_dim);
  const double seen = count * windowed_share(plan.model, documents);
  uses.add(forward, seen * layers_of(plan), "forward");
  uses.add(forward, seen * plan.gc_layers, "recompute");
  uses.add(forward.with("pass", "bwd"), seen * layers_of(plan), "backward");
}

void add_gradient_sums(KernelUses& uses, const StepPlan& plan, double count) {
  const Transformer& model = plan.model;
  for (const LayerCount& layers : layer_counts(plan)) {
    for (const LinearLayer& layer : linear_layers(model, layers.kind))
      add_gradient_sum(uses, plan, layer.out, layer.in, count * layers.n * layer.copies);
  }
  // The embedding's is as large as its table; the head's is the same where they are tied.
  const int n_tables = model.tied_embeddings ? 1 : 2;
  add_gradient_sum(uses, plan, model.vocab_size, model.hidden_size, count * n_tables);
}

void add_step_end(KernelUses& uses, const StepPlan& plan, double count) {
  const ParallelPlan parallel = parallel_plan_of(plan);
  if (!reduces_every_micro_batch(parallel))
    add_buckets(uses, plan, gradient_collective(parallel), count, "backward");
  const std::int64_t n_shards = shards_optimizer(parallel) ? parallel.state_gpus() : 1;
  uses.add(adamw_case((parameters_of(plan) + n_shards - 1) / n_shards), count, "optimizer");
  if (gathers_changed_weights(parallel)) add_buckets(uses, plan, "all_gather", count, "optimizer");
}

}  // namespace

std::vector<KernelUse> step_kernels(const StepPlan& plan) {
  check_step_plan(plan);
  KernelUses uses;
  for (const Documents& documents : plan.micro_batches) {
    add_micro_batch(uses, plan, (documents.tokens() + plan.sequence.ulysses - 1) / plan.sequence.ulysses, 1);
    add_attention(uses, plan, documents, 1);
  }
  if (!plan.micro_batches.empty())
    add_gradient_sums(uses, plan, static_cast<double>(plan.micro_batches.size() - 1));
  add_step_end(uses, plan, 1);
  uses.add_launch_gaps();
  return uses.all();
}

}  // namespace packsim
