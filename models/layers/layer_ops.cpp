#include "models/layers/layer_ops.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/layers/expert_spread.hpp"
#include "models/layers/head_shares.hpp"
#include "models/layers/layer_parts.hpp"
#include "models/layers/recomputed_parts.hpp"
#include "models/state_traffic.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

using std::int64_t;

// A cast between bf16 and fp32 moves 6 bytes a value; a device copy reads and writes every byte.
constexpr int64_t kCastCopyBytes = 3;

/// The operations of one GPU under a plan while they are being listed.
struct OpList {
  const Transformer& model;
  const ParallelPlan& plan;
  int gpus_per_node = 0;
  int64_t tokens = 0;    // of this GPU, between the blocks
  int64_t gathered = 0;  // of its tensor-parallel group, inside the blocks
  std::vector<LayerOp> ops = {};

  void add(const LayerOp& op) { ops.push_back(op); }

  // With LoRA the weight is frozen and the adapter's two products follow.
  void linear(const LayerOp& product, bool is_adapted) {
    add(product);
    if (plan.lora_rank == 0) return;
    ops.back().frozen = true;
    if (!is_adapted) return;
    LayerOp narrow{.kind = LayerOp::Kind::linear,
                   .count = product.count,
                   .rows = product.rows,
                   .out = plan.lora_rank,
                   .in = product.in};
    beside_adapter(style().adapter_input, product.rows, product.in, product.count);
    add(narrow);
    narrow.in = std::exchange(narrow.out, product.out);
    add(narrow);
    beside_adapter(style().adapter_output, product.rows, product.out, product.count);
  }

  const KernelStyle& style() const { return *plan.execution.kernels; }

  void elementwise(std::string_view op, const PartStyle& part, int64_t rows, int64_t cols, double count = 1) {
    add({.kind = LayerOp::Kind::elementwise,
         .count = count,
         .rows = rows,
         .out = cols,
         .op = op,
         .style = &part});
  }
  // Styles that do not know what these kernels move leave them to the products.
  void beside_adapter(const PartStyle& part, int64_t rows, int64_t cols, double count) {
    if (part.forward.bytes > 0) elementwise("adapter", part, rows, cols, count);
  }
  // Backward, n products with one input have as many gradients of it to add up.
  void add_input_gradients(int64_t rows, int64_t cols, int n_products) {
    if (!style().adds_input_gradients || n_products < 2) return;
    elementwise("residual_add", style().residual_add, rows, cols, n_products - 1);
    ops.back().backward_only = true;
  }
  const PartStyle& norm_style() const { return model.output_norms ? style().gemma_norm : style().norm; }

  // bytes over a group whose GPUs are `stride` apart.
  void exchange(Cause cause, std::string_view op, int64_t bytes, int gpus, int stride) {
    add({.kind = LayerOp::Kind::exchange,
         .cause = cause,
         .bytes = bytes,
         .op = op,
         .gpus = gpus,
         .nodes = nodes_of_group(gpus, stride, gpus_per_node),
         .stride = stride});
  }

  /// All-gather or reduce-scatter of the hidden states over the tensor-parallel group.
  void tensor_exchange(std::string_view op) {
    if (plan.tp_degree == 1) return;
    exchange(Cause::tensor, op, kBf16Bytes * gathered * model.hidden_size, plan.tp_degree, 1);
  }

  // Exchanges one tensor [tokens, width] between heads and tokens: a copy that reorders it, and the
  // all-to-all. If more GPUs share the sequence than the tensor-parallel part has heads, heads are copied;
  // uneven shares are padded to the largest.
  void head_exchange(const LayerPart& part) {
    if (plan.sequence.ulysses == 1) return;
    const HeadShares shares = head_shares(model, plan);
    const int64_t heads = std::max(1, part.heads / plan.tp_degree);
    const int64_t sent_heads =
        plan.sequence.ulysses * (part.heads == model.n_heads ? shares.heads : shares.kv_heads);
    const int64_t bytes = kBf16Bytes * gathered * (part.width.on_gpu(plan.tp_degree) * sent_heads / heads);
    const int nodes = nodes_of_group(plan.sequence.ulysses, plan.tp_degree, gpus_per_node);
    add({.kind = LayerOp::Kind::copy, .cause = Cause::sequence, .bytes = bytes, .nodes = nodes});
    exchange(Cause::sequence, "all_to_all", bytes, plan.sequence.ulysses, plan.tp_degree);
  }

  // Layers that gather keys and values over the GPUs that share documents: one all-gather each, and a copy
  // each into the order of the tokens. The backward pass gathers them once more (`again`), and
  // reduce-scatters their gradients after a copy into the order of the GPUs.
  void gather_keys(bool again) {
    const double layers = gathering_layers(model, plan);
    if (layers == 0) return;
    const AttentionShape shape = attention_shape(model, plan);
    const int stride = plan.tp_degree * plan.sequence.ulysses;
    LayerOp gather{.kind = LayerOp::Kind::exchange,
                   .cause = Cause::sequence,
                   .count = 2 * layers,
                   .bytes = kBf16Bytes * tokens * plan.sequence_gpus() * shape.kv_heads * shape.head_dim,
                   .op = "all_gather",
                   .gpus = plan.sequence.ring,
                   .nodes = nodes_of_group(plan.sequence.ring, stride, gpus_per_node),
                   .stride = stride,
                   .backward_only = again};
    LayerOp copy = gather;
    copy.kind = LayerOp::Kind::copy;
    copy.op = {};
    if (!again) {
      add(gather);
      add(copy);
      return;
    }
    // The list is in forward order, and a reduce-scatter's gradient is an all-gather.
    gather.op = "reduce_scatter";
    add(copy);
    add(gather);
  }

  // Sends tokens to the GPUs of their experts, or back: a copy that sorts them by GPU, the all-to-all and, if
  // a GPU has several experts, a copy that sorts them by expert. GPUs that have parts of the same experts
  // gather each other's tokens before they are sorted by expert, and scatter the sums.
  void expert_exchange(const LayerPart& part) {
    const double token_bytes = 1.0 * kBf16Bytes * static_cast<double>(tokens * part.width.whole);
    const int nodes = nodes_of_group(plan.ep_degree, plan.tp_degree, gpus_per_node);
    const auto copy = [&](double bytes) {
      add({.kind = LayerOp::Kind::copy, .cause = Cause::expert, .bytes = std::llround(bytes)});
    };
    const bool is_deduplicated = plan.expert_dispatch == ExpertDispatch::deduplicated;
    if (plan.ep_degree == 1 || !is_deduplicated) copy(token_bytes * part.per_token);
    const double routed_bytes = plan.expert_imbalance * token_bytes * part.per_token;
    if (plan.ep_degree > 1) {
      // No part gets a token more than once.
      const int n_parts = nodes > 1 ? nodes : plan.ep_degree;
      const double sent = is_deduplicated
                              ? std::min(plan.expert_imbalance * parts_with_experts(model.experts, n_parts),
                                         static_cast<double>(n_parts)) *
                                    token_bytes
                              : routed_bytes;
      exchange(Cause::expert, "all_to_all", std::llround(sent), plan.ep_degree, plan.tp_degree);
    }
    const int expert_tp = plan.expert_tp_degree();
    if (expert_tp > 1)
      exchange(Cause::tensor, part.kind == LayerPart::Kind::to_experts ? "all_gather" : "reduce_scatter",
               std::llround(expert_tp * routed_bytes), expert_tp, 1);
    ops.back().is_exposed = true;
    if (plan.ep_degree > 1 && model.experts.n_routed > plan.ep_degree) copy(expert_tp * routed_bytes);
  }

  // What a stack does beside the products, activations and exchanges of its experts.
  void choose_experts(const LayerPart& part) {
    const ExpertStyle& experts = *plan.execution.experts;
    const double n_local = n_local_experts();
    const Launches launches = experts.layer + experts.each * n_local;
    if (launches == Launches{}) return;
    launch(launches);
    const auto move = [&](double bytes, bool backward_only) {
      // A device copy reads and writes every byte.
      if (bytes > 0)
        add({.kind = LayerOp::Kind::copy, .bytes = std::llround(bytes / 2), .backward_only = backward_only});
    };
    const double values = static_cast<double>(tokens) * static_cast<double>(model.hidden_size);
    const double sent = values * part.per_token;
    move(sent * std::min(experts.forward_bytes, experts.backward_bytes), false);
    move(sent * (experts.backward_bytes - experts.forward_bytes) +
             values * n_local * experts.backward_bytes_each,
         true);
  }

  int64_t rows(LayerPart::Tokens kind) const {
    switch (kind) {
      case LayerPart::Tokens::own:
        return tokens;
      case LayerPart::Tokens::gathered:
        return gathered;
      case LayerPart::Tokens::sequence:
        return gathered * plan.sequence.ulysses;
      case LayerPart::Tokens::routed:
        break;
    }
    // Every GPU of the expert-parallel group sends equally many tokens to every expert; the fullest GPU gets
    // expert_imbalance times as many.
    const Experts& experts = model.experts;
    const int64_t even =
        (tokens * plan.expert_tp_degree() * experts.per_token * plan.ep_degree + experts.n_routed - 1) /
        experts.n_routed;
    return std::llround(std::ceil(plan.expert_imbalance * static_cast<double>(even)));
  }

  bool is_adapted_as(const LayerPart& one, const LayerPart& other) const {
    return plan.lora_targets.adapts(one.linear.name) == plan.lora_targets.adapts(other.linear.name);
  }

  // How many of `copies` equal layers or activations this GPU has.
  int n_local(int copies) const { return copies > 1 ? copies / plan.ep_degree : 1; }
  int n_local_experts() const { return n_local(model.experts.n_routed); }
  // How many products or activations of experts one launch does.
  double per_launch(int copies, int n_alike = 1) const {
    return copies > 1 && plan.execution.experts->is_grouped ? 1.0 * n_alike * n_local(copies) : 1;
  }

  // Parts of the sequence that the MLP takes one after another, and the rows of one.
  int64_t n_tiles(const LayerPart& part) const {
    return part.modules.has(LayerModule::mlp) ? std::min<int64_t>(plan.mlp_tiles, rows(part.tokens)) : 1;
  }
  int64_t tile_rows(const LayerPart& part) const {
    return (rows(part.tokens) + n_tiles(part) - 1) / n_tiles(part);
  }

  void linear(const LayerPart& part, int n_alike, bool shares_input) {
    const LinearLayer& layer = part.linear;
    // All tokens of the sequence go through the heads that the GPU has.
    const int shares = part.tokens == LayerPart::Tokens::sequence ? plan.sequence.ulysses : 1;
    LayerOp product{.kind = LayerOp::Kind::linear,
                    .count = 1.0 * n_alike * n_local(layer.copies) * static_cast<double>(n_tiles(part)),
                    .rows = tile_rows(part),
                    .out = layer.out_width().on_gpu(plan.split_degree(layer.copies)) / shares,
                    .in = layer.in_width().on_gpu(plan.split_degree(layer.copies)),
                    .per_launch = per_launch(layer.copies, n_alike)};
    if (is_narrow(plan.precision) && part.tokens != LayerPart::Tokens::own) {
      quantise(product, shares_input ? 0 : n_local(layer.copies));
    } else if (casts_in_passes(plan)) {
      autocast(product, layer, n_alike);
    }
    // A device copy reads and writes every byte.
    if (plan.frozen_weights->is_packed())
      product.casts.weight =
          std::llround(plan.frozen_weights->made_bytes / 2 * static_cast<double>(product.out * product.in));
    // Routed experts get their tokens from the exchange, in one tensor.
    if (layer.copies == 1) add_input_gradients(product.rows, product.in, n_alike + (shares_input ? 1 : 0));
    linear(product, plan.lora_targets.adapts(layer.name));
    if (layer.has_bias && plan.lora_rank == 0) trained_bias(product);
  }

  // Backward, the gradient of the product's output is summed up. Under autocast the bias is cast like a
  // weight.
  void trained_bias(const LayerOp& product) {
    if (!style().sums_bias_gradients) return;
    // A device copy reads and writes every byte; the sum reads bf16 and writes next to nothing.
    add({.kind = LayerOp::Kind::copy,
         .count = product.count,
         .bytes = product.rows * product.out * kBf16Bytes / 2,
         .backward_only = true});
    if (casts_in_passes(plan))
      add({.kind = LayerOp::Kind::copy, .count = product.count, .bytes = kCastCopyBytes * product.out});
  }

  // Fused kernels read and write their slices where they are.
  void slices(const LayerPart& part) {
    const PartStyle& kernels = style().*part.style;
    if (kernels.backward.bytes == 0) return;
    elementwise("slices", kernels, tile_rows(part), part.width.on_gpu(plan.tp_degree),
                static_cast<double>(n_tiles(part)));
    ops.back().backward_only = kernels.forward.launches == 0;
  }

  // Backward, the gradients of queries and keys are copied into the layout of the products.
  void attention() {
    const AttentionShape shape = attention_shape(model, plan);
    const double values =
        style().query_copy_bytes * shape.heads + style().key_value_copy_bytes * 2 * shape.kv_heads;
    if (values > 0) {
      constexpr int kCopies = 2;
      const double bytes = values * shape.head_dim * static_cast<double>(gathered * plan.sequence.ulysses);
      // A device copy reads and writes every byte.
      add({.kind = LayerOp::Kind::copy,
           .count = kCopies,
           .bytes = std::llround(bytes / 2 / kCopies),
           .backward_only = true});
    }
    add({.kind = LayerOp::Kind::attention, .cause = Cause::attention});
  }

  void launch(const Launches& launches) {
    if (launches != Launches{}) add({.kind = LayerOp::Kind::launches, .launches = launches});
  }

  // A weight in fp32 becomes bf16 and its gradient fp32, and so do the input where it is in fp32, which comes
  // from a norm, and its gradient.
  void autocast(LayerOp& product, const LinearLayer& layer, int n_alike) const {
    const int64_t input = layer.splits_in ? 0 : kCastCopyBytes * n_alike * product.rows * product.in;
    product.casts = {
        .input = input, .weight = kCastCopyBytes * product.out * product.in, .gradient = input / n_alike};
  }

  // n_inputs: number of inputs that the product casts.
  void quantise(LayerOp& product, int n_inputs) const {
    const PrecisionKind& kind = precision_kind(plan.precision);
    product.dtype = kind.dtype;
    // A device copy reads and writes every byte.
    const auto copy_bytes = [&](std::int64_t values) { return kind.cast_bytes * values / 2; };
    product.casts = {.input = n_inputs * copy_bytes(product.rows * product.in),
                     .weight = casts_weights_in_passes(plan) ? copy_bytes(product.out * product.in) : 0,
                     .gradient = copy_bytes(product.rows * product.out)};
  }

  // n_alike: linear layers of the same shape that run one after another. shares_input: whether a linear layer
  // has the same input as the linear layer before it.
  void add_part(const LayerPart& part, int n_alike, bool shares_input) {
    const int64_t width = part.width.on_gpu(plan.split_degree(part.copies));
    switch (part.kind) {
      case LayerPart::Kind::norm:
        return elementwise("rms_norm", norm_style(), rows(part.tokens) * width / part.norm_values,
                           part.norm_values);
      case LayerPart::Kind::linear:
        return linear(part, n_alike, shares_input);
      case LayerPart::Kind::slices:
        return slices(part);
      case LayerPart::Kind::rope:
        return elementwise("rope", style().rope, rows(part.tokens), width);
      case LayerPart::Kind::attention:
        return attention();
      case LayerPart::Kind::activation:
        elementwise("swiglu", style().activation, tile_rows(part), width,
                    n_local(part.copies) * static_cast<double>(n_tiles(part)));
        ops.back().per_launch = per_launch(part.copies);
        return;
      case LayerPart::Kind::residual_add:
        return elementwise("residual_add", style().residual_add, rows(part.tokens), width);
      case LayerPart::Kind::gather_tokens:
        return tensor_exchange("all_gather");
      case LayerPart::Kind::scatter_tokens:
        return tensor_exchange("reduce_scatter");
      case LayerPart::Kind::tokens_to_heads:
      case LayerPart::Kind::heads_to_tokens:
        return head_exchange(part);
      case LayerPart::Kind::gather_latents:
        return exchange(Cause::sequence, "all_gather", kBf16Bytes * rows(part.tokens) * width,
                        plan.sequence.ulysses, plan.tp_degree);
      case LayerPart::Kind::gather_keys:
        return gather_keys(false);
      case LayerPart::Kind::gather_keys_again:
        return gather_keys(true);
      case LayerPart::Kind::to_experts:
      case LayerPart::Kind::from_experts:
        return expert_exchange(part);
      case LayerPart::Kind::choose_experts:
        return choose_experts(part);
      case LayerPart::Kind::weigh_shared:
        return;
    }
  }
};

OpList op_list(const Transformer& model, const ParallelPlan& plan, int gpus_per_node, int64_t tokens) {
  return {.model = model,
          .plan = plan,
          .gpus_per_node = gpus_per_node,
          .tokens = tokens,
          .gathered = tokens * plan.tp_degree};
}

std::vector<LayerOp> ops_of(const std::vector<LayerPart>& parts, OpList list) {
  for (std::size_t i = 0; i < parts.size();) {
    const LayerPart& first = parts[i];
    const bool shares_input =
        i > 0 && parts[i - 1].kind == LayerPart::Kind::linear && parts[i - 1].linear.in == first.linear.in;
    int n_alike = 1;
    while (++i < parts.size() && parts[i].linear.is_like_previous && list.is_adapted_as(first, parts[i]))
      ++n_alike;
    list.add_part(first, n_alike, shares_input);
  }
  return list.ops;
}

// The backward pass needs nothing of the last product's output, unless that is normed.
void stop_early(const Transformer& model, std::vector<LayerOp>& ops) {
  const auto ends_with = [&](const auto& is_such) { return !ops.empty() && is_such(ops.back()); };
  if (ends_with([](const LayerOp& op) { return op.op == "residual_add"; })) ops.pop_back();
  if (model.output_norms) return;
  if (ends_with([](const LayerOp& op) { return op.op == "reduce_scatter"; })) ops.pop_back();
  if (ends_with([](const LayerOp& op) { return op.kind == LayerOp::Kind::linear; })) ops.pop_back();
}

}  // namespace

std::vector<LayerOp> layer_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                   LayerKind kind, int64_t tokens) {
  return ops_of(layer_parts(model, kind, sends_latents(model, plan)),
                op_list(model, plan, gpus_per_node, tokens));
}

std::vector<LayerOp> layer_recompute(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                     LayerKind kind, int64_t tokens) {
  std::vector<LayerOp> ops =
      ops_of(recomputed_parts(plan, layer_parts(model, kind, sends_latents(model, plan))),
             op_list(model, plan, gpus_per_node, tokens));
  if (plan.execution.recompute_stops_early && kind == LayerKind::dense) stop_early(model, ops);
  std::erase_if(ops, [](const LayerOp& op) { return op.backward_only; });
  for (LayerOp& op : ops) {
    if (op.cause == Cause::linear || op.cause == Cause::attention) op.cause = Cause::recompute;
  }
  return ops;
}

std::vector<LayerOp> tiled_mlp_again(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                     LayerKind kind, int64_t tokens) {
  if (plan.mlp_tiles == 1) return {};
  std::vector<LayerPart> parts = layer_parts(model, kind, sends_latents(model, plan));
  std::erase_if(parts, [](const LayerPart& part) {
    const bool computes = part.kind == LayerPart::Kind::linear || part.kind == LayerPart::Kind::slices ||
                          part.kind == LayerPart::Kind::activation;
    return !computes || !part.modules.has(LayerModule::mlp);
  });
  std::vector<LayerOp> ops = ops_of(parts, op_list(model, plan, gpus_per_node, tokens));
  std::erase_if(ops, [](const LayerOp& op) { return op.backward_only; });
  for (LayerOp& op : ops) op.cause = Cause::recompute;
  return ops;
}

std::vector<LayerOp> embedding_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                       int64_t tokens) {
  OpList list = op_list(model, plan, gpus_per_node, tokens);
  list.elementwise("embedding", list.style().embedding, list.gathered, model.hidden_size);
  list.tensor_exchange("reduce_scatter");
  return list.ops;
}

std::vector<LayerOp> head_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                  int64_t tokens) {
  OpList list = op_list(model, plan, gpus_per_node, tokens);
  const int64_t vocabulary = (model.vocab_size + plan.tp_degree - 1) / plan.tp_degree;
  list.elementwise("rms_norm", list.norm_style(), tokens, model.hidden_size);
  list.tensor_exchange("all_gather");
  list.add({.kind = LayerOp::Kind::linear,
            .rows = list.gathered,
            .out = vocabulary,
            .in = model.hidden_size,
            .frozen = plan.lora_rank > 0});
  list.elementwise("cross_entropy", plan.execution.loss->kernels, list.gathered, vocabulary);
  return list.ops;
}

AttentionShape attention_shape(const Transformer& model, const ParallelPlan& plan) {
  const HeadShares shares = head_shares(model, plan);
  return {.heads = shares.heads,
          .kv_heads = shares.kv_heads,
          .head_dim = (model.head_dim + model.value_head_dim()) / 2};
}

double gathering_layers(const Transformer& model, const ParallelPlan& plan) {
  if (plan.sequence.ring == 1) return 0;
  return plan.gathers_keys() ? 1 : model.windowed_layers();
}

bool sends_latents(const Transformer& model, const ParallelPlan& plan) {
  return model.has_latent_attention() && plan.latent_exchange && plan.sequence.ulysses > 1;
}

}  // namespace packsim
