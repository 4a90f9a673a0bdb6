#include "models/step/step_pricer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernels/make_case.hpp"
#include "models/pipeline_chunks.hpp"
#include "models/state_traffic.hpp"
#include "models/step/pass/pass_time.hpp"
#include "models/step/tensor_overlap.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

const std::vector<KernelPricer::Use> kNoKernels;

// The grid point at or below a token count, and the one at or above it.
std::pair<std::int64_t, std::int64_t> grid_around(std::int64_t tokens) {
  constexpr double kStepsPerOctave = 64;
  const auto point = [](double index) { return std::llround(std::exp2(index / kStepsPerOctave)); };
  double index = std::floor(std::log2(static_cast<double>(tokens)) * kStepsPerOctave);
  // Rounding may have put the point on the other side.
  while (point(index) > tokens) --index;
  while (point(index + 1) <= tokens) ++index;
  return {point(index), point(index) == tokens ? tokens : point(index + 1)};
}

// Interpolates times and bytes: (1 - part) of a and part of b.
PricedPhase between(const PricedPhase& a, const PricedPhase& b, double part) {
  PricedPhase phase;
  phase.segments.reserve(a.segments.size());
  const auto mix = [part](std::int64_t low, std::int64_t high) {
    return low + std::llround(part * static_cast<double>(high - low));
  };
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    PassSegment segment = a.segments[i];
    segment.time_ns = mix(a.segments[i].time_ns, b.segments[i].time_ns);
    segment.bytes = mix(a.segments[i].bytes, b.segments[i].bytes);
    phase.add(segment);
  }
  return phase;
}

TokenPrices between(const TokenPrices& a, const TokenPrices& b, double part) {
  TokenPrices prices;
  for (std::size_t kind = 0; kind < prices.layers.size(); ++kind) {
    prices.layers[kind] = {between(a.layers[kind].forward, b.layers[kind].forward, part),
                           between(a.layers[kind].recompute, b.layers[kind].recompute, part),
                           between(a.layers[kind].backward, b.layers[kind].backward, part)};
  }
  prices.embedding_forward = between(a.embedding_forward, b.embedding_forward, part);
  prices.head_forward = between(a.head_forward, b.head_forward, part);
  prices.head_backward = between(a.head_backward, b.head_backward, part);
  prices.embedding_backward = between(a.embedding_backward, b.embedding_backward, part);
  prices.below_tokens = a.below_tokens;
  prices.above_tokens = b.below_tokens;
  prices.part_above = part;
  return prices;
}

AttentionPricer& attention_of(PriceStore& store, std::string_view pass, const Transformer& model,
                              const ParallelPlan& plan) {
  return store.attention_of(pass, attention_shape(model, plan), plan.gathers_keys() ? 1 : plan.sequence.ring);
}

}  // namespace

StepPricer::StepPricer(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                       const HardwareProfile& profile, const FrameworkFactors& factors,
                       std::shared_ptr<PriceStore> store)
    : model_(model),
      cluster_(cluster),
      profile_(profile),
      plan_(plan),
      factors_(factors),
      store_(store ? std::move(store) : std::make_shared<PriceStore>(profile, cluster)),
      kernels_(&store_->kernels()),
      attention_forward_(attention_of(*store_, "fwd", model, plan)),
      attention_backward_(attention_of(*store_, "bwd", model, plan)),
      grid_(store_->grid_of(model, plan)) {}

// known: the time of all `count` runs together.
void StepPricer::book(PriceAccount& account, Cause cause, const PricedKernel& kernel,
                      const TimeEstimate& known, double count) const {
  account.add(cause, kernel.curve, known);
  if (keeps_kernels_) account.count(cause, kernel.kernel, count);
}

double StepPricer::factor_of(const LayerOp& op) const {
  if (op.cause == Cause::sequence)
    return op.nodes > 1 ? factors_.exchange_between_factor : factors_.exchange_in_node_factor;
  return op.kind == LayerOp::Kind::exchange ? 1 : factors_.linear_factor;
}

double StepPricer::time_s(const std::vector<CountedKernel>& kernels, double factor) {
  double time_s = 0;
  for (const CountedKernel& use : kernels) time_s += use.count * factor * kernels_->time(use.kernel).time_s;
  return time_s;
}

// The part of its time that an op adds to computation.
double StepPricer::exposed_part(const std::vector<LayerOp>& ops, std::size_t at, bool is_backward) {
  const LayerOp& op = ops[at];
  if (op.kind != LayerOp::Kind::exchange || op.cause != Cause::tensor || op.is_exposed) return 1;
  if (factors_.free_exchange.has(op.cause)) return 1;
  double exchange_s = 0;
  for (const KernelPricer::Use& use : kernels_->uses(op, is_backward))
    exchange_s += use.count * use.kernel->time_s;
  const ProductsBeside beside = products_beside(ops, at, is_backward);
  const double factor = factors_.linear_factor;
  return added_time_s(beside, exchange_s, time_s(beside.whole, factor), time_s(beside.piece, factor)) /
         exchange_s;
}

void StepPricer::add_op(PricedPhase& phase, const LayerOp& op, bool is_backward, double part,
                        PriceAccount* account) {
  double time_s = 0;
  double n_kernels = 0;
  // A free exchange stays a segment that takes no time: what it waits for is the same.
  const bool is_free = factors_.free_exchange.has(op.cause);
  for (const KernelPricer::Use& use : is_free ? kNoKernels : kernels_->uses(op, is_backward)) {
    const TimeEstimate known = use.kernel->estimate(part * use.count, factor_of(op));
    time_s += known.time_s;
    if (op.style == nullptr) n_kernels += use.count;
    if (account != nullptr) book(*account, op.cause, *use.kernel, known, use.count);
  }
  if (op.style != nullptr) n_kernels = op.count * op.style->of(!is_backward).launches;
  n_kernels /= op.per_launch;
  if (op.kind == LayerOp::Kind::launches)
    n_kernels = is_backward ? op.launches.backward : op.launches.forward;
  const std::int64_t time_ns = nanoseconds(time_s);
  const bool is_exchange = op.kind == LayerOp::Kind::exchange;
  phase.add({.kind = is_exchange ? PassSegment::Kind::exchange : PassSegment::Kind::compute,
             .cause = op.cause,
             .time_ns = time_ns,
             .n_kernels = n_kernels,
             .n_host_waits = is_backward ? 0 : op.launches.waits,
             .op = op.op,
             .gpus = op.gpus,
             .stride = op.stride,
             .bytes = std::llround(part * op.count * static_cast<double>(op.bytes))});
}

// Prices ops in the order of the pass. overlaps: whether tensor-parallel exchanges overlap with the products
// next to them.
PricedPhase StepPricer::price_phase(const std::vector<LayerOp>& ops, bool is_backward, bool overlaps,
                                    PriceAccount* account) {
  PricedPhase phase;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::size_t at = is_backward ? ops.size() - 1 - i : i;
    const LayerOp& op = ops[at];
    if (op.backward_only && !is_backward) continue;
    if (op.kind == LayerOp::Kind::attention) {
      const KernelStyle& style = *plan_.execution.kernels;
      // Where documents are cut into two chunks for each GPU, gathered keys are computed with twice.
      const bool is_twice = plan_.gathers_keys() && plan_.key_exchange == KeyExchange::all_gather &&
                            plan_.ring_layout == RingLayout::zigzag;
      phase.add({.kind = PassSegment::Kind::attention,
                 .cause = op.cause,
                 .n_kernels = (is_twice ? 2 : 1) *
                              (is_backward ? style.attention_backward_launches : style.attention_launches)});
      continue;
    }
    add_op(phase, op, is_backward, overlaps ? exposed_part(ops, at, is_backward) : 1, account);
  }
  return phase;
}

TokenPrices StepPricer::price_tokens(std::int64_t tokens_per_gpu, TokenAccounts* accounts) {
  TokenPrices prices;
  const bool overlaps = plan_.execution.overlaps_tensor && plan_.tp_degree > 1;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    if (model_.n_layers_of(kind) == 0) continue;
    const std::vector<LayerOp> forward =
        layer_forward(model_, plan_, cluster_.gpus_per_node, kind, tokens_per_gpu);
    LayerPrices& layer = prices.layers[static_cast<std::size_t>(kind)];
    TokenAccounts::Layer* const account =
        accounts == nullptr ? nullptr : &accounts->layers[static_cast<std::size_t>(kind)];
    PriceAccount* const passes = account == nullptr ? nullptr : &account->passes;
    layer.forward = price_phase(forward, false, overlaps, passes);
    layer.backward = price_phase(forward, true, overlaps, passes);
    for (const LayerOp& op : tiled_mlp_again(model_, plan_, cluster_.gpus_per_node, kind, tokens_per_gpu))
      add_op(layer.backward, op, false, 1, passes);
    layer.recompute =
        price_phase(layer_recompute(model_, plan_, cluster_.gpus_per_node, kind, tokens_per_gpu), false,
                    overlaps, account == nullptr ? nullptr : &account->recompute);
  }
  const std::vector<LayerOp> embedding =
      embedding_forward(model_, plan_, cluster_.gpus_per_node, tokens_per_gpu);
  const std::vector<LayerOp> head = head_forward(model_, plan_, cluster_.gpus_per_node, tokens_per_gpu);
  PriceAccount* const of_embedding = accounts == nullptr ? nullptr : &accounts->embedding;
  PriceAccount* const of_head = accounts == nullptr ? nullptr : &accounts->head;
  prices.embedding_forward = price_phase(embedding, false, false, of_embedding);
  // A frozen embedding has no gradient, and nothing is before it.
  if (plan_.lora_rank == 0) prices.embedding_backward = price_phase(embedding, true, false, of_embedding);
  prices.head_forward = price_phase(head, false, false, of_head);
  prices.head_backward = price_phase(head, true, false, of_head);
  prices.below_tokens = prices.above_tokens = tokens_per_gpu;
  return prices;
}

std::int64_t StepPricer::exact_tokens_up_to(std::int64_t tokens_per_gpu) {
  return grid_around(tokens_per_gpu).first;
}

const TokenPrices& StepPricer::tokens(std::int64_t tokens_per_gpu) {
  if (const auto known = tokens_.find(tokens_per_gpu); known != tokens_.end()) return known->second;
  const auto exact = [&](std::int64_t at) -> const TokenPrices& {
    const auto [place, is_new] = grid_->try_emplace(at);
    if (is_new) place->second = price_tokens(at);
    return place->second;
  };
  const auto [low, high] = grid_around(tokens_per_gpu);
  if (low == high) return exact(low);
  const double part = static_cast<double>(tokens_per_gpu - low) / static_cast<double>(high - low);
  const TokenPrices& below = exact(low);
  const TokenPrices& above = exact(high);
  return tokens_[tokens_per_gpu] = between(below, above, part);
}

const TokenAccounts& StepPricer::account(std::int64_t tokens_per_gpu) {
  const auto [place, is_new] = accounts_.try_emplace(tokens_per_gpu);
  if (is_new) price_tokens(tokens_per_gpu, &place->second);
  return place->second;
}

double StepPricer::attention_parts() const {
  // Zigzag: every GPU computes an equal part in each step. Contiguous: the last GPU sees all other chunks
  // whole, where half of its own is masked.
  const double n = plan_.sequence.ring;
  if (plan_.gathers_keys()) return attention_share();
  return plan_.ring_layout == RingLayout::zigzag ? n : 2 * n - 1;
}

double StepPricer::attention_share() const {
  const double n = plan_.sequence.ring;
  const bool is_even =
      plan_.ring_layout == RingLayout::zigzag || plan_.key_exchange == KeyExchange::all_gather_packs;
  return (is_even ? n : 2 * n - 1) / (n * n);
}

// How often what does not depend on the documents' work counts: launches, and the longest document's end.
double StepPricer::attention_calls() const {
  return plan_.gathers_keys() ? 1 : attention_parts();
}

AttentionWindow StepPricer::window() const {
  return {.tokens = model_.sliding_window_tokens, .ring = plan_.sequence.ring, .layout = plan_.ring_layout};
}

StepPricer::LayerAttention StepPricer::attention(AttentionPricer& pricer,
                                                 std::span<const std::int32_t> lengths_tokens) {
  const double scale = factors_.attention_factor * attention_calls();
  LayerAttention price;
  if (!plan_.gathers_keys()) {
    price.all = pricer.pack(lengths_tokens);
  } else if (plan_.key_exchange == KeyExchange::all_gather_packs) {
    price.all = pricer.slowest_chunk(lengths_tokens, plan_.sequence.ring);
  } else {
    price.all = pricer.shared(lengths_tokens, attention_share());
  }
  price.all.time_s *= scale;
  price.all.error_s *= scale;
  if (model_.has_windows()) {
    const TimeEstimate windowed = pricer.pack(lengths_tokens, window());
    const double part = model_.windowed_layers();
    const double windowed_scale = factors_.attention_factor * attention_share();
    price.all.time_s += part * (windowed_scale * windowed.time_s - price.all.time_s);
    price.all.error_s += part * (windowed_scale * windowed.error_s - price.all.error_s);
    price.windowed_s = part * windowed_scale * windowed.time_s;
  }
  return price;
}

double StepPricer::document_s(AttentionPricer& pricer, std::int32_t length_tokens) {
  double time_s = attention_parts() * pricer.document_s(length_tokens);
  if (model_.has_windows()) {
    const double windowed_s = attention_share() * pricer.document_s(length_tokens, window());
    time_s += model_.windowed_layers() * (windowed_s - time_s);
  }
  return factors_.attention_factor * time_s;
}

StepPricer::AttentionCost StepPricer::document_cost(std::int32_t length_tokens) {
  return {.forward_s = document_s(attention_forward_, length_tokens),
          .backward_s = document_s(attention_backward_, length_tokens)};
}

StepPricer::AttentionCost StepPricer::attention_launch() const {
  const double windowed = model_.windowed_layers();
  const double scale =
      factors_.attention_factor * (attention_calls() + windowed * (attention_share() - attention_calls()));
  return {.forward_s = scale * attention_forward_.parts().launch_s,
          .backward_s = scale * attention_backward_.parts().launch_s};
}

StepPricer::AttentionCost StepPricer::longest_cost_per_token() const {
  const double windowed = model_.windowed_layers();
  const double of_windowed = attention_share() * (plan_.gathers_keys() ? 1 : plan_.sequence.ring);
  const double scale =
      factors_.attention_factor * (attention_calls() + windowed * (of_windowed - attention_calls()));
  return {.forward_s = scale * attention_forward_.parts().longest_s_per_token,
          .backward_s = scale * attention_backward_.parts().longest_s_per_token};
}

int StepPricer::ring_nodes() const {
  const int stride = plan_.tp_degree * plan_.sequence.ulysses;
  return nodes_of_group(plan_.sequence.ring, stride, cluster_.gpus_per_node) > 1 ? 2 : 1;
}

std::vector<bool> StepPricer::sends_in_node() const {
  const int stage_gpus = plan_.n_gpus / plan_.pp_degree;
  const auto node = [&](int gpu) { return gpu % plan_.n_gpus / cluster_.gpus_per_node; };
  std::vector<bool> in_node;
  for (int stage = 0; stage < plan_.pp_degree; ++stage) {
    bool crosses = false;
    for (int gpu = stage * stage_gpus; gpu < (stage + 1) * stage_gpus; ++gpu)
      crosses = crosses || node(gpu) != node(gpu + stage_gpus);
    in_node.push_back(!crosses);
  }
  return in_node;
}

MicroBatchCurves StepPricer::micro_batch_curves() const {
  const AttentionShape shape = attention_shape(model_, plan_);
  const auto attention = [&](std::string_view pass) {
    return curve_name(attention_case(pass, {{{1, 1}}}, shape.heads, shape.kv_heads, shape.head_dim));
  };
  const auto send = [](int nodes) { return curve_name(collective_case("send_recv", 2, nodes, 1)); };
  return {.attention_forward = attention("fwd"),
          .attention_backward = attention("bwd"),
          .ring = send(ring_nodes()),
          .ring_copies = curve_name(copy_case("device", 1)),
          .stage_transfer = send(2),
          .stage_transfer_in_node = send(1)};
}

// All transfers of a ring take equally long.
StepPricer::AttentionCost StepPricer::ring_transfers(std::int64_t tokens) {
  const MicroBatchPrice price = micro_batch(tokens, {});
  const auto seconds = [](const RingPrice& ring) {
    return 1e-9 * (ring.steps - 1) * static_cast<double>(ring.transfer_ns);
  };
  return {.forward_s = seconds(price.attention_forward), .backward_s = seconds(price.attention_backward)};
}

// A GPU sends keys and values of its tokens, for its heads; in the backward pass also their gradients.
std::int64_t StepPricer::ring_bytes(std::int64_t tokens_per_gpu, bool is_backward) const {
  const AttentionShape shape = attention_shape(model_, plan_);
  const std::int64_t tokens = tokens_per_gpu * plan_.tp_degree * plan_.sequence.ulysses;
  const int tensors = is_backward ? 4 : 2;
  return kBf16Bytes * tensors * tokens * shape.kv_heads * shape.head_dim;
}

const PricedKernel& StepPricer::ring_send(std::int64_t tokens_per_gpu, bool is_backward) const {
  return kernels_->send(ring_nodes(), ring_bytes(tokens_per_gpu, is_backward));
}

const PricedKernel& StepPricer::stage_send(std::int64_t tokens_per_gpu, int nodes) const {
  return kernels_->send(nodes, kBf16Bytes * tokens_per_gpu * model_.hidden_size);
}

const PricedKernel& StepPricer::host_copy(std::int64_t tokens_per_gpu) const {
  return kernels_->copy("device_to_host", kBf16Bytes * tokens_per_gpu * model_.hidden_size);
}

// Layers that gather keys and values take no steps.
int StepPricer::ring_steps() const {
  return gathering_layers(model_, plan_) < 1 ? plan_.sequence.ring : 1;
}

KernelPricer::Use StepPricer::hop_copies(std::int64_t tokens_per_gpu, bool is_backward) const {
  const HopCopies& copies =
      is_backward ? plan_.execution.kernels->hop_backward : plan_.execution.kernels->hop_forward;
  const AttentionShape shape = attention_shape(model_, plan_);
  const double values = copies.query_bytes * shape.heads + copies.key_value_bytes * 2 * shape.kv_heads;
  const std::int64_t tokens = tokens_per_gpu * plan_.tp_degree * plan_.sequence.ulysses;
  const double bytes = values * shape.head_dim * static_cast<double>(tokens);
  // A device copy reads and writes every byte.
  const std::int64_t of_one = std::llround(bytes / 2 / copies.launches);
  return {&kernels_->copy("device", std::max<std::int64_t>(1, of_one)), copies.launches};
}

// What a ring does beside attention and transfers.
RingPrice StepPricer::ring_alone(std::int64_t tokens_per_gpu, bool is_backward) {
  RingPrice ring;
  ring.steps = ring_steps();
  if (ring.steps == 1) return ring;
  const KernelStyle& style = *plan_.execution.kernels;
  const double n_hops = ring.steps - 1;
  const KernelPricer::Use copies = hop_copies(tokens_per_gpu, is_backward);
  const Launches launched = style.ring + style.ring_hop * n_hops;
  ring.n_kernels = (is_backward ? launched.backward : launched.forward) + n_hops * copies.count;
  if (factors_.free_exchange.has(Cause::sequence)) return ring;
  const double n = (1 - model_.windowed_layers()) * n_hops * copies.count;
  ring.copied = copies.kernel->estimate(n, factors_.linear_factor);
  ring.copies_ns = nanoseconds(ring.copied.time_s);
  return ring;
}

void StepPricer::add_attention(RingPrice& ring, const LayerAttention& computed, std::int64_t tokens_per_gpu,
                               bool is_backward) {
  ring.computed = computed.all;
  if (ring.steps == 1) {
    ring.compute_ns = nanoseconds(computed.all.time_s);
    return;
  }
  const double stepping = 1 - model_.windowed_layers();
  ring.compute_ns = nanoseconds((computed.all.time_s - computed.windowed_s) / ring.steps);
  ring.windowed_ns = nanoseconds(computed.windowed_s);
  ring.stride = plan_.tp_degree * plan_.sequence.ulysses;
  if (factors_.free_exchange.has(Cause::sequence)) return;
  const PricedKernel& transfer = ring_send(tokens_per_gpu, is_backward);
  ring.bytes = std::llround(stepping * kernel_bytes(transfer.kernel));
  ring.transfer_ns = nanoseconds(stepping * transfer.time_s);
  ring.transfers = transfer.estimate(stepping * (ring.steps - 1));
}

StepPricer::PackAttention StepPricer::attention(std::span<const std::int32_t> lengths_tokens) {
  return {.forward = attention(attention_forward_, lengths_tokens),
          .backward = attention(attention_backward_, lengths_tokens),
          .is_varlen = lengths_tokens.size() > 1};
}

StepPricer::AttentionBasis StepPricer::attention_basis() const {
  AttentionBasis basis{.shape = attention_shape(model_, plan_),
                       .factor = factors_.attention_factor * attention_parts(),
                       .windowed_layers = model_.windowed_layers(),
                       .window = window(),
                       .key_exchange = plan_.gathers_keys() ? plan_.key_exchange : KeyExchange::ring,
                       .flop_per_s = reached_attention_flop_per_s(cluster_),
                       .curves = {},
                       .models = {}};
  for (const KernelCurve* curve : profile_.curves_of("attention ")) basis.curves.push_back(*curve);
  for (const KernelModel* model : profile_.models_of("attention ")) basis.models.push_back(*model);
  return basis;
}

MicroBatchPrice StepPricer::without_attention(std::int64_t tokens_per_gpu) {
  MicroBatchPrice price;
  price.tokens = &tokens(tokens_per_gpu);
  price.overhead_ns = nanoseconds(factors_.micro_batch_s / plan_.virtual_stages);
  price.attention_forward = ring_alone(tokens_per_gpu, false);
  price.attention_backward = ring_alone(tokens_per_gpu, true);
  return price;
}

MicroBatchPrice StepPricer::with_attention(std::int64_t tokens, const PackAttention& attention) {
  const int sequence_gpus = plan_.sequence_gpus();
  const std::int64_t tokens_per_gpu = std::max<std::int64_t>(1, (tokens + sequence_gpus - 1) / sequence_gpus);
  MicroBatchPrice price = without_attention(tokens_per_gpu);
  add_attention(price.attention_forward, attention.forward, tokens_per_gpu, false);
  add_attention(price.attention_backward, attention.backward, tokens_per_gpu, true);
  price.host = host_costs();
  if (!attention.is_varlen) price.host.attention_s = price.host.ring_reads = 0;
  if (plan_.offload.activations && !factors_.free_exchange.has(Cause::states))
    price_host_copies(price, tokens_per_gpu);
  if (plan_.pp_degree > 1 && !factors_.free_exchange.has(Cause::pipeline)) {
    const PricedKernel& between = stage_send(tokens_per_gpu, 2);
    price.stage_transfer_bytes = between.kernel.integer("bytes");
    price.stage_transfer_ns = nanoseconds(between.time_s);
    price.stage_transfer = between.estimate();
    const PricedKernel& inside = stage_send(tokens_per_gpu, 1);
    price.stage_transfer_in_node_ns = nanoseconds(inside.time_s);
    price.stage_transfer_in_node = inside.estimate();
  }
  return price;
}

HostCosts StepPricer::host_costs() const {
  const KernelStyle& style = *plan_.execution.kernels;
  const double launch_s = plan_.execution.launch_s;
  return {.launch_s = style.launch_cost * launch_s,
          .recomputed_launch_s = style.recomputed_launch_cost * launch_s,
          .layer_s = style.layer_launches * launch_s,
          .attention_s = style.varlen_launches * launch_s,
          .gather_s = gathers_every_pass(plan_) ? plan_.execution.shards->gather_launches * launch_s : 0,
          .reduce_s = travels_by_layer(plan_) && reduces_every_micro_batch(plan_)
                          ? plan_.execution.shards->reduce_launches * launch_s
                          : 0,
          .loss_reads = plan_.execution.loss_reads,
          .ring_reads = ring_steps() > 1 ? style.varlen_ring_reads : 0};
}

// Each copy runs beside the pass of its layer.
void StepPricer::price_host_copies(MicroBatchPrice& price, std::int64_t tokens_per_gpu) {
  static const CurveName kCopy = curve_name(copy_case("device_to_host", 1));
  const PricedKernel& kernel = host_copy(tokens_per_gpu);
  const std::int64_t copy_ns = nanoseconds(kernel.time_s);
  for (const LayerPhase behind : {LayerPhase::forward, LayerPhase::backward}) {
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
      if (model_.n_layers_of(kind) == 0) continue;
      const std::int64_t beside_ns = layer_time(price, {kind, true}, behind == LayerPhase::forward).total_ns;
      if (copy_ns <= beside_ns) continue;
      price.added.push_back({.layer = kind,
                             .behind = behind,
                             .of_checkpointed = true,
                             .segment = {.kind = PassSegment::Kind::host_copy,
                                         .cause = Cause::states,
                                         .time_ns = copy_ns - beside_ns},
                             .curve = &kCopy,
                             .estimate = kernel.estimate()});
    }
  }
}

ChunkShape StepPricer::chunk(int index) const {
  const PipelineChunk chunk = pipeline_chunks(model_, plan_)[static_cast<std::size_t>(index)];
  return {.n_dense = chunk.n_dense,
          .n_experts = chunk.n_layers - chunk.n_dense,
          .n_checkpointed = chunk.n_checkpointed,
          .recomputes_attention = plan_.recomputes_attention(),
          .has_embedding = index == 0,
          .has_head = index == plan_.n_chunks() - 1};
}

}  // namespace packsim
