#include "models/kernels/plan_cases.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/kernels/linear_layers.hpp"
#include "models/kernels/make_case.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kGiB = kKiB * kKiB * kKiB;

// ---- gemm

void add_products(const AddCase& add, int level, const std::string& section, std::int64_t tokens,
                  std::int64_t out, std::int64_t in) {
  add(level, section, forward_gemm(tokens, out, in));
  add(level, section, input_gradient_gemm(tokens, out, in));
  add(level, section, weight_gradient_gemm(tokens, out, in));
}

void add_model_gemms(const Transformer& model, int level, std::int64_t tokens, const AddCase& add) {
  const std::string section = "gemm: layers and head of the models";
  for (const LinearLayer& layer : linear_layers(model))
    add_products(add, level, section, tokens, layer.out, layer.in);
  const LinearLayer head = head_layer(model);
  add_products(add, level, section, tokens, head.out, head.in);
}

void add_tensor_parallel_gemms(const Transformer& model, int level, std::int64_t tokens, const AddCase& add) {
  std::vector<LinearLayer> layers = linear_layers(model);
  layers.push_back(head_layer(model));
  for (const int tp : {2, 4, 8}) {
    if (model.n_heads % tp != 0 || model.n_kv_heads % tp != 0) continue;
    for (const LinearLayer& layer : layers) {
      const std::int64_t out = layer.splits_in ? layer.out : layer.out / tp;
      const std::int64_t in = layer.splits_in ? layer.in / tp : layer.in;
      add_products(add, level, "gemm: under tensor parallelism of 2, 4, 8", tokens, out, in);
    }
  }
}

// ---- attention

struct HeadShape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
};

// Heads of one GPU; nothing where the degree cannot be.
bool has_head_shape(const Transformer& model, int sp, HeadShape& shape) {
  const bool possible = model.n_heads % sp == 0 && (model.n_kv_heads % sp == 0 || sp % model.n_kv_heads == 0);
  if (possible) shape = {model.n_heads / sp, std::max(1, model.n_kv_heads / sp), model.head_dim};
  return possible;
}

void add_attention_case(const AddCase& add, int level, const std::string& section, const HeadShape& shape,
                        const Documents& documents) {
  for (const std::string_view pass : {"fwd", "bwd"})
    add(level, section, attention_case(pass, documents, shape.heads, shape.kv_heads, shape.head_dim));
}

// Documents of one length that fill `tokens`; one longer document where it does not fit.
void add_uniform(const AddCase& add, int level, const HeadShape& shape, std::int64_t length,
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

void add_shape(const AddCase& add, const HeadShape& shape, int level) {
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
void add_document_counts(const AddCase& add, const HeadShape& shape) {
  for (std::int64_t length = 128; length <= 8192; length *= 4) {
    for (const std::int64_t tokens : {length, std::int64_t{4096}, std::int64_t{65536}})
      add_uniform(add, 4, shape, length, tokens);
  }
}

void add_drawn_packs(const AddCase& add, std::span<const LengthSet> sets, const HeadShape& shape, int sp) {
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

struct ElementwiseWidth {
  std::string op;
  std::int64_t cols = 0;
};

std::vector<ElementwiseWidth> elementwise_widths(const Transformer& model) {
  const std::int64_t head_dim = model.head_dim;
  return {{"rms_norm", model.hidden_size},
          {"residual_add", model.hidden_size},
          {"swiglu", model.ffn_size},
          {"rope", model.n_heads * head_dim},
          {"rope", model.n_kv_heads * head_dim},
          {"cross_entropy", model.vocab_size},
          {"embedding", model.hidden_size}};
}

void add_elementwise(const AddCase& add, int level, const Transformer& model, std::int64_t rows,
                     bool hot = false) {
  for (const ElementwiseWidth& width : elementwise_widths(model)) {
    for (const std::string_view pass : {"fwd", "bwd"}) {
      const KernelCase kernel = elementwise_case(width.op, pass, rows, width.cols);
      add(level, hot ? "elementwise: hot cache" : "elementwise", hot ? kernel.with("cache", "hot") : kernel);
    }
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
    for (const std::string_view op : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce"})
      add(size_level(size_bytes), section, collective_case(op, group.gpus, group.nodes, size_bytes));
    if (group.gpus == 2)
      add(size_level(size_bytes), section, collective_case("send_recv", 2, group.nodes, size_bytes));
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

}  // namespace

void plan_launch_gap(const AddCase& add) {
  add(1, "launch gap", KernelCase::of("launch_gap", {}));
}

void plan_gemms(std::span<const Transformer> models, const AddCase& add) {
  // The library's ceiling, which every other product is seen against.
  const KernelCase ceiling = forward_gemm(8192, 8192, 8192);
  add(1, "gemm: ceiling", ceiling.with("cache", "hot"));
  add(1, "gemm: ceiling", ceiling);
  for (std::size_t i = 0; i < models.size(); ++i) {
    add_model_gemms(models[i], 1, 4096, add);
    for (const std::int64_t tokens : {1024, 16384}) add_model_gemms(models[i], i < 2 ? 1 : 2, tokens, add);
    for (const std::int64_t tokens : {2048, 8192}) add_model_gemms(models[i], 3, tokens, add);
    for (const std::int64_t tokens : {256, 32768}) add_model_gemms(models[i], i < 2 ? 3 : 5, tokens, add);
  }
  for (const std::int64_t tokens : {4096, 16384, 1024}) {
    for (const Transformer& model : models)
      add_tensor_parallel_gemms(model, tokens == 1024 ? 5 : 4, tokens, add);
  }
  // Between the powers of two, where waves of tiles are not full.
  const std::size_t n_small = std::min<std::size_t>(models.size(), 2);
  for (const Transformer& model : models.first(n_small)) {
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

void plan_attention(std::span<const Transformer> models, std::span<const LengthSet> length_sets,
                    const AddCase& add) {
  for (const int sp : {1, 8, 2, 4, 16, 32, 64}) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      HeadShape shape;
      if (!has_head_shape(models[i], sp, shape)) continue;
      add_shape(add, shape, shape_level(i, sp));
      if (i > 1 || (sp != 1 && sp != 8)) continue;
      add_document_counts(add, shape);
      add_drawn_packs(add, length_sets, shape, sp);
    }
  }
}

void plan_elementwise(std::span<const Transformer> models, const AddCase& add) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const std::int64_t rows : {4096, 16384, 1024})
      add_elementwise(add, i > 0 ? 3 : rows == 1024 ? 2 : 1, models[i], rows);
    for (const std::int64_t rows : {256, 65536}) add_elementwise(add, i > 0 ? 5 : 3, models[i], rows);
    if (i < 2) {
      for (const std::int64_t rows : {1024, 4096, 16384})
        add_elementwise(add, i == 0 ? 3 : 5, models[i], rows, true);
    }
  }
}

void plan_copies(const AddCase& add) {
  for (std::int64_t size_bytes = kKiB; size_bytes <= kGiB; size_bytes *= 4) {
    for (const char* kind : {"device", "host_to_device", "device_to_host"})
      add(size_level(size_bytes), "copies", copy_case(kind, size_bytes));
    // Beyond that nothing stays in a cache.
    if (size_bytes <= kGiB / 64) add(4, "copies", copy_case("device", size_bytes, "hot"));
  }
}

void plan_adamw(const AddCase& add) {
  for (std::int64_t n = std::int64_t{1} << 20; n <= std::int64_t{1} << 31; n *= 2) {
    const bool coarse = n == 1 << 22 || n == 1 << 26 || n == 1 << 29;
    add(coarse ? 1 : 3, "adamw", adamw_case(n));
  }
}

void plan_collectives(int n_gpus, int gpus_per_node, const AddCase& add) {
  const std::vector<GpuGroup> groups = gpu_groups(n_gpus, gpus_per_node);
  for (const GpuGroup& group : groups) add_group(add, group);
  const int in_node = std::min(n_gpus, gpus_per_node);
  for (const GpuGroup& group : groups) {
    if (group.gpus == in_node || 2 * group.gpus > n_gpus) add_overlap(add, group);
  }
}

}  // namespace packsim
