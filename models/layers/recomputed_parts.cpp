#include "models/layers/recomputed_parts.hpp"

#include <utility>

namespace packsim {
namespace {

// Which parts checkpointing by operation keeps, as torchtitan does it (parallelize_llama.py at 0596be3a): a
// list of operations whose outputs are saved, of matrix products every second one.
class KeptOperations {
 public:
  bool keeps(const LayerPart& part) {
    switch (part.kind) {
      case LayerPart::Kind::linear:
        // Experts' products are grouped ones, which are not on the list.
        return part.linear.copies == 1 && ++n_products_ % 2 == 1;
      case LayerPart::Kind::gather_keys:  // only attention needs them
      case LayerPart::Kind::attention:
      case LayerPart::Kind::scatter_tokens:
      case LayerPart::Kind::tokens_to_heads:
      case LayerPart::Kind::heads_to_tokens:
      case LayerPart::Kind::to_experts:
      case LayerPart::Kind::from_experts:
        return true;
      default:
        return false;
    }
  }

 private:
  int n_products_ = 0;
};

double product_flop(const std::vector<LayerPart>& parts) {
  double flop = 0;
  for (const LayerPart& part : parts) {
    if (part.kind == LayerPart::Kind::linear) flop += part.linear.flop_per_token();
  }
  return flop;
}

}  // namespace

std::vector<LayerPart> recomputed_parts(const ParallelPlan& plan, const std::vector<LayerPart>& parts) {
  if (plan.checkpointing == Checkpointing::full) return parts;
  KeptOperations kept;
  const auto is_recomputed = [&](const LayerPart& part) {
    if (plan.checkpointing == Checkpointing::operations) return !kept.keeps(part);
    if (plan.checkpointing == Checkpointing::modules) return part.modules.has_any_of(plan.recomputed_modules);
    return part.kind == LayerPart::Kind::attention || part.kind == LayerPart::Kind::gather_keys;
  };
  std::vector<LayerPart> recomputed;
  bool is_behind_previous = false;
  for (const LayerPart& part : parts) {
    const bool is_next = std::exchange(is_behind_previous, is_recomputed(part));
    if (!is_behind_previous) continue;
    recomputed.push_back(part);
    recomputed.back().linear.is_like_previous = part.linear.is_like_previous && is_next;
  }
  return recomputed;
}

double tiled_flop_per_token(const Transformer& model, const ParallelPlan& plan) {
  if (plan.mlp_tiles == 1 || model.n_layers_of(LayerKind::dense) == 0) return 0;
  std::vector<LayerPart> parts = layer_parts(model, LayerKind::dense);
  std::erase_if(parts, [](const LayerPart& part) { return !part.modules.has(LayerModule::mlp); });
  return model.n_layers_of(LayerKind::dense) * product_flop(parts);
}

double recomputed_product_share(const Transformer& model, const ParallelPlan& plan) {
  const std::vector<LayerPart> parts = layer_parts(model, model.main_kind());
  return product_flop(recomputed_parts(plan, parts)) / product_flop(parts);
}

}  // namespace packsim
