// Parameters and flop of a Transformer: sums over the parts of its layers.

#include <array>

#include "models/layers/layer_parts.hpp"

namespace packsim {
namespace {

constexpr std::array<LayerKind, 2> kLayerKinds = {LayerKind::dense, LayerKind::expert};

template <typename OfLinear>
double sum_over_products(const Transformer& model, LayerKind kind, OfLinear of_linear) {
  double sum = 0;
  for (const LayerPart& part : layer_parts(model, kind))
    if (part.kind == LayerPart::Kind::linear) sum += of_linear(part.linear);
  return sum;
}

}  // namespace

double Transformer::layer_matmul_parameters(LayerKind kind) const {
  return sum_over_products(*this, kind, [](const LinearLayer& layer) { return layer.parameters(); });
}

double Transformer::active_layer_matmul_parameters(LayerKind kind) const {
  return sum_over_products(*this, kind, [](const LinearLayer& layer) { return layer.active_parameters(); });
}

double Transformer::layer_norm_and_bias_parameters(LayerKind kind) const {
  double parameters = 0;
  for (const LayerPart& part : layer_parts(*this, kind)) {
    parameters += static_cast<double>(part.norm_values);
    if (part.linear.has_bias) parameters += static_cast<double>(part.linear.out);
  }
  return parameters;
}

double Transformer::layer_parameters(LayerKind kind) const {
  return layer_matmul_parameters(kind) + layer_norm_and_bias_parameters(kind);
}

double Transformer::parameters() const {
  const double embedding = static_cast<double>(vocab_size) * hidden_size;
  double parameters = (tied_embeddings ? 1 : 2) * embedding + hidden_size;
  for (const LayerKind kind : kLayerKinds)
    if (n_layers_of(kind) > 0) parameters += n_layers_of(kind) * layer_parameters(kind);
  return parameters;
}

double Transformer::active_parameters() const {
  constexpr LayerKind kExpert = LayerKind::expert;
  if (n_layers_of(kExpert) == 0) return parameters();
  return parameters() -
         n_layers_of(kExpert) * (layer_matmul_parameters(kExpert) - active_layer_matmul_parameters(kExpert));
}

double Transformer::layers_flop_per_token() const {
  double flop = 0;
  for (const LayerKind kind : kLayerKinds)
    if (n_layers_of(kind) > 0) flop += 2.0 * n_layers_of(kind) * active_layer_matmul_parameters(kind);
  return flop;
}

}  // namespace packsim
