#include "models/coverage/list_cases.hpp"
#include "models/kernels/collectives.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "models/kernels/make_case.hpp"
#include "models/layers/layer_ops.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kGiB = kKiB * kKiB * kKiB;

// ---- gemm

// What the layers of both kinds, the embedding and the head run on `tokens` tokens.
std::vector<LayerOp> model_ops(const Transformer& model, const ParallelPlan& plan, std::int64_t tokens) {
  constexpr int kGpusPerNode = 8;  // matters for exchanges alone
  std::vector<LayerOp> ops = embedding_forward(model, plan, kGpusPerNode, tokens);
  const auto append = [&ops](const std::vector<LayerOp>& more) {
    ops.insert(ops.end(), more.begin(), more.end());
  };
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    if (model.n_layers_of(kind) > 0) append(layer_forward(model, plan, kGpusPerNode, kind, tokens));
  }
  append(head_forward(model, plan, kGpusPerNode, tokens));
  return ops;
}

void add_both_passes(const AddCase& add, int level, const std::string& section, const LayerOp& op) {
  for (const CountedKernel& counted : forward_kernels(op)) add(level, section, counted.kernel);
  for (const CountedKernel& counted : backward_kernels(op)) add(level, section, counted.kernel);
}

// Experts see few tokens each where one GPU has them all; more where they are spread over up to eight.
std::array<int, 2> expert_degrees(const Transformer& model) {
  return {model.has_experts() ? std::gcd(8, model.experts.n_routed) : 1, 1};
}

void add_model_gemms(const Transformer& model, int level, std::int64_t tokens, const AddCase& add) {
  for (const int ep : expert_degrees(model)) {
    for (const LayerOp& op : model_ops(model, {.n_gpus = ep, .ep_degree = ep}, tokens)) {
      if (op.kind == LayerOp::Kind::linear)
        add_both_passes(add, level, "gemm: layers and head of the models", op);
    }
  }
}

bool can_split(const Transformer& model, int tp) {
  return model.n_heads % tp == 0 && model.n_kv_heads % tp == 0 && model.ffn_size % tp == 0 &&
         model.experts.shared_ffn_size % tp == 0;
}

void add_tensor_parallel_gemms(const Transformer& model, int level, std::int64_t tokens, const AddCase& add) {
  for (const int tp : {2, 4, 8}) {
    if (!can_split(model, tp)) continue;
    for (const LayerOp& op : model_ops(model, {.n_gpus = tp, .tp_degree = tp}, tokens / tp)) {
      // Routers and experts are not split and see the GPU's own tokens.
      if (op.kind == LayerOp::Kind::linear && op.rows == tokens)
        add_both_passes(add, level, "gemm: under tensor parallelism of 2, 4, 8", op);
    }
  }
}

// ---- attention

// Heads of one GPU; nothing where the degree cannot be.
bool has_head_shape(const Transformer& model, int sp, AttentionShape& shape) {
  const bool possible = model.n_heads % sp == 0 && (model.n_kv_heads % sp == 0 || sp % model.n_kv_heads == 0);
  if (possible) shape = attention_shape(model, {.n_gpus = sp, .sequence = {.ulysses = sp}});
  return possible;
}

void add_attention_case(const AddCase& add, int level, const std::string& section,
                        const AttentionShape& shape, const Documents& documents) {
  for (const std::string_view pass : {"fwd", "bwd"})
    add(level, section, attention_case(pass, documents, shape.heads, shape.kv_heads, shape.head_dim));
}

// Documents of one length that fill `tokens`; one longer document where it does not fit.
void add_uniform(const AddCase& add, int level, const AttentionShape& shape, std::int64_t length,
                 std::int64_t tokens) {
  add_attention_case(add, level, "attention: documents of one length", shape,
                     {{{std::max<std::int64_t>(1, tokens / length), length}}});
}

// The level of a head shape: SP 1 and 8 of the smaller models matter most.
int shape_level(std::size_t model_index, int sp) {
  if (model_index < 2 && sp == 1) return 1;
  if (model_index < 2 && sp == 8) return 2;
  return sp == 1 ? 3 : 4;
}

void add_shape(const AddCase& add, const AttentionShape& shape, int level) {
  constexpr std::int64_t kPackTokens = 16384;
  for (std::int64_t length = 128; length <= kPackTokens; length *= 2) {
    const bool coarse =
        length == 128 || length == 512 || length == 2048 || length == 8192 || length == kPackTokens;
    add_uniform(add, coarse ? level : std::max(level, 3), shape, length, kPackTokens);
  }
  for (std::int64_t length = 32768; length <= 131072; length *= 2)
    add_uniform(add, length == 65536 ? std::max(level, 3) : std::max(level, 2), shape, length, length);
}

// How much the number of documents matters beside their length.
void add_document_counts(const AddCase& add, const AttentionShape& shape) {
  for (std::int64_t length = 128; length <= 8192; length *= 4) {
    for (const std::int64_t tokens : {length, std::int64_t{4096}, std::int64_t{65536}})
      add_uniform(add, 4, shape, length, tokens);
  }
}

void add_drawn_packs(const AddCase& add, std::span<const LengthSet> sets, const AttentionShape& shape,
                     int sp) {
  constexpr std::array<double, 4> kFractions = {0.3, 0.7, 0.1, 0.5};
  const std::vector<std::int64_t> capacities =
      sp == 1 ? std::vector<std::int64_t>{16384, 4096, 32768} : std::vector<std::int64_t>{131072, 65536};
  for (std::size_t c = 0; c < capacities.size(); ++c) {
    for (std::size_t i = 0; i < kFractions.size(); ++i) {
      for (const LengthSet& set : sets) {
        const Documents documents = drawn_pack(set, capacities[c], kFractions[i]);
        // A pack that is half empty says nothing about this capacity.
        if (2 * documents.tokens() < capacities[c]) continue;
        add_attention_case(add,
                           i == 0 && c == 0 ? 2
                           : i < 2          ? 3
                                            : 5,
                           "attention: packs of real lengths", shape, documents);
      }
    }
  }
}

// ---- elementwise

void add_elementwise(const AddCase& add, int level, const Transformer& model, std::int64_t rows) {
  for (const LayerOp& op : model_ops(model, {}, rows)) {
    if (op.kind == LayerOp::Kind::elementwise) add_both_passes(add, level, "elementwise", op);
  }
}

// ---- collectives

struct GpuGroup {
  int gpus = 0;
  int nodes = 0;
};

// Powers of two, on as few nodes as can be, and with one GPU a node.
std::vector<GpuGroup> gpu_groups(int n_gpus, int gpus_per_node) {
  std::vector<GpuGroup> groups;
  for (int gpus = 2; gpus <= n_gpus; gpus *= 2)
    groups.push_back({gpus, (gpus + gpus_per_node - 1) / gpus_per_node});
  if (gpus_per_node == 1) return groups;  // the same
  for (int nodes = 2; nodes <= n_gpus / gpus_per_node; nodes *= 2) groups.push_back({nodes, nodes});
  return groups;
}

// 1 KiB, 16 KiB, ... 1 GiB in the quick plan; those in between in the full one.
int size_level(std::int64_t size_bytes) {
  std::int64_t step = kKiB;
  while (step < size_bytes) step *= 16;
  return step == size_bytes || size_bytes == kGiB ? 2 : 3;
}

void add_group(const AddCase& add, const GpuGroup& group) {
  const std::string section = "collectives";
  for (std::int64_t size_bytes = kKiB; size_bytes <= kGiB; size_bytes *= 4) {
    for (const CollectiveKind& kind : kCollectiveKinds) {
      if (group.gpus > kind.algorithm.most_gpus) continue;
      add(size_level(size_bytes), section, collective_case(kind.name, group.gpus, group.nodes, size_bytes));
    }
  }
  for (const std::int64_t size_bytes : {kGiB / 1024, kGiB / 64, kGiB / 4}) {
    for (const char* imbalance : {"1.25", "1.5", "2"}) {
      add(3, "collectives: uneven all-to-alls",
          collective_case("all_to_all", group.gpus, group.nodes, size_bytes, imbalance));
    }
  }
}

void add_overlap(const AddCase& add, const GpuGroup& group) {
  for (const char* op : {"all_to_all", "all_gather", "reduce_scatter"}) {
    for (const std::int64_t size_bytes : {kGiB / 64, kGiB / 4}) {
      const int level = size_bytes == kGiB / 4 && std::string_view(op) != "all_to_all" ? 2 : 4;
      add(level, "overlap: a matrix product beside a collective",
          KernelCase::of("overlap", {"4096", "14336", "4096", op, std::to_string(group.gpus),
                                     std::to_string(group.nodes), std::to_string(size_bytes)}));
    }
  }
}

// Experts are spread over neighbours: GPUs on as few nodes as can be.
void add_expert_exchange(const AddCase& add, const Transformer& model, int ep, int gpus_per_node) {
  for (const std::int64_t tokens : {4096, 16384, 1024}) {
    for (const LayerOp& op :
         layer_forward(model, {.n_gpus = ep, .ep_degree = ep}, gpus_per_node, LayerKind::expert, tokens)) {
      if (op.kind != LayerOp::Kind::exchange || op.cause != Cause::expert) continue;
      for (const CountedKernel& counted : forward_kernels(op))
        add(tokens == 4096 ? 2 : 3, "collectives: tokens to their experts", counted.kernel);
    }
  }
}

}  // namespace

void list_launch_gap(const AddCase& add) {
  add(1, "launch gap", KernelCase::of("launch_gap", {}));
}

void list_gemms(std::span<const Transformer> models, const AddCase& add) {
  constexpr std::size_t kSmall = 2;  // the first models, which are measured more closely
  // The library's ceiling, which every other product is seen against.
  const KernelCase ceiling = forward_gemm(8192, 8192, 8192);
  add(1, "gemm: ceiling", ceiling.with("cache", "hot"));
  add(1, "gemm: ceiling", ceiling);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const bool is_small = i < kSmall;
    // So many shapes that they would take the place of other kernels.
    const bool has_most_shapes = models[i].has_experts() && !is_small;
    add_model_gemms(models[i], is_small ? 1 : 2, 4096, add);
    for (const std::int64_t tokens : {1024, 16384})
      add_model_gemms(models[i], is_small ? 1 : has_most_shapes ? 3 : 2, tokens, add);
    for (const std::int64_t tokens : {2048, 8192})
      add_model_gemms(models[i], has_most_shapes ? 5 : 3, tokens, add);
    for (const std::int64_t tokens : {256, 32768}) add_model_gemms(models[i], is_small ? 3 : 5, tokens, add);
  }
  for (const std::int64_t tokens : {4096, 16384, 1024}) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      const bool is_last = tokens == 1024 || (models[i].has_experts() && i >= kSmall);
      add_tensor_parallel_gemms(models[i], is_last ? 5 : 4, tokens, add);
    }
  }
  // Waves of tiles are not full between the powers of two.
  for (const Transformer& model : models.first(std::min(models.size(), kSmall))) {
    for (const std::int64_t tokens : {512, 1536, 3072, 6144, 12288, 24576, 65536})
      add_model_gemms(model, 5, tokens, add);
    for (const std::int64_t tokens : {1024, 4096, 16384}) {
      add_model_gemms(model, &model == models.data() ? 3 : 5, tokens,
                      [&](int level, const std::string&, const KernelCase& kernel) {
                        add(level, "gemm: hot cache", kernel.with("cache", "hot"));
                      });
    }
  }
}

void list_attention(std::span<const Transformer> models, std::span<const LengthSet> length_sets,
                    const AddCase& add) {
  for (const int sp : {1, 8, 2, 4, 16, 32, 64}) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      AttentionShape shape;
      if (!has_head_shape(models[i], sp, shape)) continue;
      add_shape(add, shape, shape_level(i, sp));
      if (i > 1 || (sp != 1 && sp != 8)) continue;
      add_document_counts(add, shape);
      add_drawn_packs(add, length_sets, shape, sp);
    }
  }
}

void list_elementwise(std::span<const Transformer> models, const AddCase& add) {
  const AddCase hot = [&](int level, const std::string& section, const KernelCase& kernel) {
    add(level, section + ": hot cache", kernel.with("cache", "hot"));
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    // Profiles tell their sizes apart, not their widths: those of many models add little.
    for (const std::int64_t rows : {4096, 16384, 1024})
      add_elementwise(add, i > 1 ? 4 : i > 0 ? 3 : rows == 1024 ? 2 : 1, models[i], rows);
    for (const std::int64_t rows : {256, 65536}) add_elementwise(add, i > 0 ? 5 : 3, models[i], rows);
    if (i < 2) {
      for (const std::int64_t rows : {1024, 4096, 16384})
        add_elementwise(hot, i == 0 ? 3 : 5, models[i], rows);
    }
  }
}

void list_copies(const AddCase& add) {
  for (std::int64_t size_bytes = kKiB; size_bytes <= kGiB; size_bytes *= 4) {
    const bool is_end = size_bytes == kKiB || size_bytes == kGiB;
    for (const char* kind : {"device", "host_to_device", "device_to_host"})
      add(is_end ? 1 : size_level(size_bytes), "copies", copy_case(kind, size_bytes));
    // Beyond that nothing stays in a cache.
    if (size_bytes <= kGiB / 64) add(4, "copies", copy_case("device", size_bytes, "hot"));
  }
}

void list_adamw(const AddCase& add) {
  for (std::int64_t n = std::int64_t{1} << 20; n <= std::int64_t{1} << 31; n *= 2) {
    const bool coarse = n == 1 << 22 || n == 1 << 26 || n == 1 << 29;
    add(coarse ? 1 : 3, "adamw", adamw_case(n));
  }
}

void list_collectives(std::span<const Transformer> models, int n_gpus, int gpus_per_node,
                      const AddCase& add) {
  const std::vector<GpuGroup> groups = gpu_groups(n_gpus, gpus_per_node);
  for (const GpuGroup& group : groups) add_group(add, group);
  const int in_node = std::min(n_gpus, gpus_per_node);
  for (const GpuGroup& group : groups) {
    if (group.gpus == in_node || 2 * group.gpus > n_gpus) add_overlap(add, group);
  }
  for (const Transformer& model : models) {
    if (!model.has_experts()) continue;
    for (int ep = 2; ep <= n_gpus; ep *= 2) {
      if (model.experts.n_routed % ep == 0) add_expert_exchange(add, model, ep, gpus_per_node);
    }
  }
}

}  // namespace packsim
