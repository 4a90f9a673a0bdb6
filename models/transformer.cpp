#include "models/transformer.hpp"

namespace packsim {

double Transformer::layer_matmul_parameters() const {
  const double h = hidden_size;
  return 2 * h * query_width() + 2 * h * kv_width() + 3 * h * ffn_size;
}

double Transformer::layer_parameters() const {
  const double biases = qkv_bias ? query_width() + 2 * kv_width() : 0;
  return layer_matmul_parameters() + 2.0 * hidden_size + biases;
}

double Transformer::parameters() const {
  const double embedding = static_cast<double>(vocab_size) * hidden_size;
  return n_layers * layer_parameters() + (tied_embeddings ? 1 : 2) * embedding + hidden_size;
}

double Transformer::layers_flop_per_token() const {
  return 2.0 * n_layers * layer_matmul_parameters();
}

double Transformer::head_flop_per_token() const {
  return 2.0 * vocab_size * hidden_size;
}

double Transformer::attention_flop_per_pair() const {
  // Two products (scores, and scores times values) of 2 flop each over half of the square.
  return 2.0 * n_layers * query_width();
}

}  // namespace packsim
