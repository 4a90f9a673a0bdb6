#include <fmt/format.h>

#include "scenarios/loader/read_hf_config.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {

Transformer read_model(JsonReader reader) {
  if (is_hf_config(reader)) return read_hf_config(std::move(reader));
  // Wide enough for every published model, narrow enough that no product of two sizes leaves 64 bits.
  constexpr int kMostLayers = 4096;
  constexpr int kWidest = 1 << 24;
  const std::size_t before = reader.n_problems();
  reader.integer("format", 1, 1);
  Transformer model{.name = reader.string("name"),
                    .source = reader.string("source"),
                    .n_layers = reader.integer("layers", 1, kMostLayers),
                    .hidden_size = reader.integer("hidden_size", 1, kWidest),
                    .n_heads = reader.integer("heads", 1, kWidest),
                    .n_kv_heads = reader.integer("kv_heads", 1, kWidest),
                    .head_dim = reader.integer("head_dim", 1, kWidest),
                    .ffn_size = reader.integer("ffn_size", 1, kWidest),
                    .vocab_size = reader.integer("vocab_size", 1, kWidest),
                    .tied_embeddings = reader.boolean("tied_embeddings"),
                    .qkv_bias = reader.boolean("qkv_bias"),
                    .published_parameters = reader.number("published_parameters", 0)};
  if (reader.n_problems() == before && model.n_heads % model.n_kv_heads != 0) {
    reader.refuse("kv_heads", fmt::format("a divisor of the {} heads", model.n_heads));
  }
  return model;
}

}  // namespace packsim
