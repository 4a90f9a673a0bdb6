#include "models/memory/activations.hpp"

#include <algorithm>

#include "models/layers/head_shares.hpp"
#include "models/layers/layer_ops.hpp"
#include "models/layers/layer_parts.hpp"
#include "models/layers/recomputed_parts.hpp"
#include "models/memory/value_bytes.hpp"
#include "models/state_traffic.hpp"

namespace packsim {
namespace {

using Kind = LayerPart::Kind;

// Values of one token in all heads of a tensor-parallel and sequence group, with copies and padding.
struct AttentionWidths {
  int n_heads = 0;    // query heads of the model
  double padded = 1;  // factor of padding on queries and outputs
  double copies = 1;  // factor of copies on keys and values
  double query = 0;
  double key = 0;
  double value = 0;
  double output = 0;
  double output_copies = 1;  // of the kernel's output: as it is and, with Ulysses, after the all-to-all

  // What attention keeps that its backward pass makes anew without the kernel's output in the layout of
  // tokens.
  double sent_output_bytes() const { return kBf16 * (output_copies - 1) * output; }
};

AttentionWidths attention_widths(const Transformer& model, const ParallelPlan& plan) {
  const HeadShares shares = head_shares(model, plan);
  const double gpus = plan.tp_degree * plan.sequence.ulysses;
  const double copies = gpus * shares.kv_heads / model.n_kv_heads;
  const double padded = gpus * shares.heads / model.n_heads;
  return {.n_heads = model.n_heads,
          .padded = padded,
          .copies = copies,
          .query = model.query_width() * padded,
          .key = model.kv_width() * copies,
          .value = 1.0 * model.n_kv_heads * model.value_head_dim() * copies,
          .output = model.attention_width() * padded,
          .output_copies = plan.sequence.ulysses > 1 ? 2.0 : 1.0};
}

// Values of a part, for each token that the GPU has between the blocks. Inside the blocks a GPU has tp times
// as many tokens, each with a tp-th of the width if that is split.
double values_of(const LayerPart& part, const ParallelPlan& plan) {
  const auto width = static_cast<double>(part.width.whole);
  const bool is_inside =
      part.tokens == LayerPart::Tokens::gathered || part.tokens == LayerPart::Tokens::sequence;
  return is_inside && !part.width.is_split ? width * plan.tp_degree : width;
}

// Rows that a part has on the fullest GPU for each token between the blocks: one an expert of the token.
double routed_rows(const LayerPart& part, const ParallelPlan& plan) {
  const bool is_routed = part.tokens == LayerPart::Tokens::routed || part.kind == Kind::to_experts ||
                         part.kind == Kind::from_experts;
  return part.per_token * (is_routed ? plan.expert_imbalance : 1);
}

bool is_tiled(const LayerPart& part, const ParallelPlan& plan) {
  return part.kind == Kind::activation && part.modules.has(LayerModule::mlp) && plan.mlp_tiles > 1;
}

double norm_bytes(const LayerPart& part, const Transformer& model, const ParallelPlan& plan) {
  return plan.execution.kernels->kept_of_norm(model.output_norms) + (part.feeds_product ? kBf16 : 0);
}

// Bytes that autograd keeps of a part for each such token, without adapters.
double kept_bytes(const LayerPart& part, const AttentionWidths& attention, const Transformer& model,
                  const ParallelPlan& plan) {
  constexpr double kIndex = 8;  // int64
  const KernelStyle& style = *plan.execution.kernels;
  const double values = values_of(part, plan);
  switch (part.kind) {
    case Kind::norm:
      return norm_bytes(part, model, plan) * values;
    case Kind::linear:
      // Under autocast each product keeps its input in bf16, which others compute with in fp32.
      return casts_in_passes(plan) && part.linear.copies == 1 && !part.linear.splits_in
                 ? kBf16 * plan.tp_degree * part.linear.in_width().share(plan.tp_degree)
                 : 0;
    case Kind::attention:
      return kBf16 * (attention.query + attention.key + attention.value +
                      attention.output_copies * attention.output) +
             kFp32 * attention.n_heads * attention.padded;  // the logarithm of each row's sum
    case Kind::gather_latents:
      return kBf16 * plan.sequence.ulysses * values;
    case Kind::activation:
      return is_tiled(part, plan) ? 0 : style.activation_kept_bytes * routed_rows(part, plan) * values;
    case Kind::choose_experts:
      return kFp32 * values + (kFp32 + kIndex) * part.per_token;
    case Kind::to_experts:
      return kBf16 * plan.expert_tp_degree() * routed_rows(part, plan) * values;
    case Kind::from_experts:
      return kBf16 * routed_rows(part, plan) * values;
    case Kind::weigh_shared:
      return kBf16 * (values + 1);  // the shared experts' output and the gate's
    default:
      return 0;
  }
}

// The part of kept_bytes() that checkpointing by modules does not keep; 0 if it does not run the part again.
double dropped_bytes(const LayerPart& part, const AttentionWidths& attention, const Transformer& model,
                     const ParallelPlan& plan) {
  const LayerModules& modules = plan.recomputed_modules;
  if (part.kind == Kind::attention) {
    const bool makes_heads = modules.has(LayerModule::mla_up_proj);
    return (modules.has(LayerModule::core_attn) ? attention.sent_output_bytes() : 0) +
           (makes_heads ? kBf16 * (attention.query + attention.key + attention.value) : 0);
  }
  if (!part.modules.has_any_of(modules)) return 0;
  const double all = kept_bytes(part, attention, model, plan);
  if (part.kind == Kind::norm) return all - kBf16 * values_of(part, plan);
  const bool is_activation_alone = part.modules.has(LayerModule::moe_act) && !modules.has(LayerModule::moe);
  return is_activation_alone ? all - kBf16 * 2 * routed_rows(part, plan) * values_of(part, plan) : all;
}

// Bytes of a part's output, for the parts whose output checkpointing by operation may keep.
double output_bytes(const LayerPart& part, const AttentionWidths& attention, const ParallelPlan& plan) {
  switch (part.kind) {
    case Kind::linear: {
      const Width width = part.linear.out_width();
      return kBf16 * plan.tp_degree * width.share(plan.tp_degree);
    }
    case Kind::attention:
      return kBf16 * attention.output;
    case Kind::scatter_tokens:
      return plan.tp_degree > 1 ? kBf16 * static_cast<double>(part.width.whole) : 0;
    case Kind::tokens_to_heads:
      if (plan.sequence.ulysses == 1) return 0;
      return kBf16 * values_of(part, plan) *
             (part.heads == attention.n_heads ? attention.padded : attention.copies);
    case Kind::heads_to_tokens:
      return plan.sequence.ulysses > 1 ? kBf16 * values_of(part, plan) : 0;
    case Kind::to_experts:
    case Kind::from_experts:
      return plan.ep_degree > 1 ? kBf16 * routed_rows(part, plan) * values_of(part, plan) : 0;
    default:
      return 0;
  }
}

// What a layer that is checkpointed by operation keeps beside its input.
double kept_outputs_bytes(const std::vector<LayerPart>& parts, const AttentionWidths& attention,
                          const ParallelPlan& plan) {
  const auto sum = [&](const std::vector<LayerPart>& some) {
    double bytes = 0;
    for (const LayerPart& part : some) bytes += output_bytes(part, attention, plan);
    return bytes;
  };
  return sum(parts) - sum(recomputed_parts(plan, parts));
}

// The narrow tensor between the two matrices of every adapter.
double adapter_bytes(const std::vector<LayerPart>& parts, const ParallelPlan& plan) {
  double tokens = 0;
  for (const LayerPart& part : parts) {
    if (part.kind != Kind::linear || !plan.lora_targets.adapts(part.linear.name)) continue;
    const LinearLayer& layer = part.linear;
    tokens += layer.copies * layer.token_share() * plan.split_degree(layer.copies);
  }
  return kBf16 * plan.lora_rank * tokens;
}

// A tiled MLP has the tensors of one part of the sequence at a time in its backward pass.
double tile_bytes(const std::vector<LayerPart>& parts, const ParallelPlan& plan) {
  double bytes = 0;
  for (const LayerPart& part : parts) {
    if (is_tiled(part, plan))
      bytes += plan.execution.kernels->activation_kept_bytes * values_of(part, plan) / plan.mlp_tiles;
  }
  return bytes;
}

// Width of the widest MLP, over all experts of a token; a tiled one counts one part of the sequence.
double mlp_width(const std::vector<LayerPart>& parts, const ParallelPlan& plan) {
  double width = 0;
  for (const LayerPart& part : parts) {
    if (part.kind == Kind::activation)
      width = std::max(width, routed_rows(part, plan) * static_cast<double>(part.width.whole) /
                                  (is_tiled(part, plan) ? plan.mlp_tiles : 1));
  }
  return width;
}

double exchange_bytes(const std::vector<LayerPart>& parts, const AttentionWidths& attention,
                      const Transformer& model, const ParallelPlan& plan) {
  double largest = 0;
  // What Ulysses sends is copied into the order of the all-to-all; what it receives counts in kept_bytes().
  double sent = attention.query + attention.key + attention.value;
  for (const LayerPart& part : parts) {
    const double values = values_of(part, plan);
    // The gathered input, and the partial sums on their way to the reduce-scatter.
    if (part.kind == Kind::gather_tokens && plan.tp_degree > 1)
      largest = std::max(largest, kBf16 * 2 * values);
    // Tokens sent to their experts, and those received back.
    const int expert_tp = plan.expert_tp_degree();
    if (part.kind == Kind::to_experts && plan.ep_degree * expert_tp > 1)
      largest = std::max(largest, kBf16 * 2 * expert_tp * routed_rows(part, plan) * values);
    if (part.kind == Kind::gather_latents) sent = attention.query + values;
  }
  if (plan.sequence.ulysses > 1) largest = std::max(largest, kBf16 * sent);
  // Keys and values at work and those arriving, and as many of their gradients, which add up in fp32.
  if (plan.sequence.ring > 1 && !plan.gathers_keys())
    largest = std::max(largest, 2 * (kBf16 + kFp32) * (attention.key + attention.value));
  // Layers that gather hold keys and values of all GPUs and as many gradients, and one of these tensors a
  // second time while it is reordered.
  if (gathering_layers(model, plan) > 0)
    largest = std::max(
        largest, kBf16 * plan.sequence.ring *
                     (2 * (attention.key + attention.value) + std::max(attention.key, attention.value)));
  // Activations arrive from the previous stage and gradients from the next.
  if (plan.pp_degree > 1) largest += kBf16 * 2 * model.hidden_size;
  return largest;
}

}  // namespace

LayerActivations layer_activations(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  const double h = model.hidden_size;
  const std::vector<LayerPart> parts = layer_parts(model, kind, sends_latents(model, plan));
  const AttentionWidths attention = attention_widths(model, plan);
  double kept = 0;
  double dropped = 0;
  for (const LayerPart& part : parts) {
    kept += kept_bytes(part, attention, model, plan);
    dropped += dropped_bytes(part, attention, model, plan);
  }
  kept += adapter_bytes(parts, plan);
  if (plan.lora_rank > 0 && plan.execution.kernels->adapter_input.forward.launches > 0)
    kept += kBf16 * (h + attention.query);
  const double input = casts_in_passes(plan) ? kFp32 * h : kBf16 * h;
  double checkpointed = input;
  double recomputed = kept;
  if (plan.checkpointing == Checkpointing::operations) {
    const double outputs = kept_outputs_bytes(parts, attention, plan);
    checkpointed = input + outputs;
    recomputed = std::max(0.0, kept - outputs);
  } else if (plan.checkpointing != Checkpointing::full) {
    recomputed = plan.checkpointing == Checkpointing::modules ? dropped : attention.sent_output_bytes();
    checkpointed = kept - recomputed;
  }
  return {.kept_bytes = kept,
          .checkpointed_bytes = checkpointed,
          .recomputed_bytes = recomputed,
          // Gradients of the residual stream and the layer's output, and of the MLP's activated gate, up and
          // their product, less the product itself, which is freed by then.
          .gradient_bytes = kBf16 * (2 * h + 2 * mlp_width(parts, plan)) + tile_bytes(parts, plan),
          .exchange_bytes = exchange_bytes(parts, attention, model, plan)};
}

}  // namespace packsim
