#include "models/layers/trained_tensors.hpp"

#include "models/layers/layer_parts.hpp"

namespace packsim {

double trained_tensors(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  double tensors = 0;
  for (const LayerPart& part : layer_parts(model, kind)) {
    if (part.kind == LayerPart::Kind::norm && plan.lora_rank == 0) ++tensors;
    if (part.kind != LayerPart::Kind::linear) continue;
    const double n_local = part.linear.copies > 1 ? 1.0 * part.linear.copies / plan.ep_degree : 1;
    if (plan.lora_rank == 0) {
      tensors += n_local * (part.linear.has_bias ? 2 : 1);
    } else if (plan.lora_targets.adapts(part.linear.name)) {
      tensors += n_local * 2;
    }
  }
  return tensors;
}

}  // namespace packsim
