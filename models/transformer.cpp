#include "models/transformer.hpp"

#include <algorithm>

namespace packsim {

int Transformer::n_layers_of(LayerKind kind) const {
  const int n_dense = has_experts() ? experts.n_dense_layers : n_layers;
  return kind == LayerKind::dense ? n_dense : n_layers - n_dense;
}

double Transformer::head_flop_per_token() const {
  return 2.0 * vocab_size * hidden_size;
}

double Transformer::layer_attention_flop_per_pair() const {
  // Two products (scores, and scores times values) of 2 flop each over half of the square.
  return query_width() + attention_width();
}

double Transformer::window_fraction(std::int64_t document_tokens) const {
  if (document_tokens <= 0) return 1;
  return causal_pairs(document_tokens, sliding_window_tokens) / causal_pairs(document_tokens, 0);
}

double Transformer::attention_flop(std::int64_t document_tokens) const {
  const auto length = static_cast<double>(document_tokens);
  const double layers = n_layers - n_windowed_layers + n_windowed_layers * window_fraction(document_tokens);
  return layers * layer_attention_flop_per_pair() * length * length;
}

double causal_pairs(std::int64_t document_tokens, std::int64_t window_tokens) {
  const auto n = static_cast<double>(document_tokens);
  const double window = window_tokens > 0 ? std::min(n, static_cast<double>(window_tokens)) : n;
  return window * (window + 1) / 2 + (n - window) * window;
}

}  // namespace packsim
