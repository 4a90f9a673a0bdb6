#include "models/layers/linear_layers.hpp"

#include "models/layers/layer_parts.hpp"

namespace packsim {

std::vector<LinearLayer> linear_layers(const Transformer& model, LayerKind kind) {
  std::vector<LinearLayer> layers;
  for (const LayerPart& part : layer_parts(model, kind))
    if (part.kind == LayerPart::Kind::linear) layers.push_back(part.linear);
  return layers;
}

std::vector<LinearLayer> linear_layers(const Transformer& model) {
  return linear_layers(model, model.main_kind());
}

}  // namespace packsim
