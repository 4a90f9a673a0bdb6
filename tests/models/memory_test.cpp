#include "models/memory.hpp"

#include <catch2/catch.hpp>

#include "llama_8b.hpp"

using namespace packsim;
using packsim_test::kLlama8b;

namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

}  // namespace

TEST_CASE("Model states follow the ZeRO stage") {
  // 8.03 G parameters on 32 GPUs: 18, 6 + 12/32, 2 + 14/32 and 16/32 bytes a parameter.
  CHECK(model_state_bytes(kLlama8b, 0, 32) / kGibibyte == Approx(134.6).margin(0.1));
  CHECK(model_state_bytes(kLlama8b, 1, 32) / kGibibyte == Approx(47.7).margin(0.1));
  CHECK(model_state_bytes(kLlama8b, 2, 32) / kGibibyte == Approx(18.2).margin(0.1));
  CHECK(model_state_bytes(kLlama8b, 3, 32) / kGibibyte == Approx(3.7).margin(0.1));
}

TEST_CASE("An unfused LLaMA-8B layer keeps 209 KB of a token for the backward pass") {
  // Norms 2 x 8 h = 65 536; queries, keys, values, output twice 2 (3 x 4096 + 2 x 1024) = 28 672; MLP 8 x 14
  // 336.
  CHECK(activation_bytes_per_token(kLlama8b) == 65536 + 28672 + 114688);
}

TEST_CASE("The fewest checkpointed layers that fit are found, and one fewer does not fit") {
  const Cluster cluster{.name = "",
                        .source = "",
                        .gpu = "",
                        .nodes = 4,
                        .gpus_per_node = 8,
                        .gpu_memory_bytes = static_cast<std::int64_t>(79.6 * kGibibyte)};
  FrameworkProfile profile;
  profile.reserved_bytes = 11 * kGibibyte;
  profile.logits_bytes_per_vocab_entry = 4;
  for (const double tokens : {1024.0, 4096.0, 8192.0, 16384.0}) {
    const int layers = fewest_gc_layers(kLlama8b, cluster, profile, 1, tokens);
    REQUIRE(layers >= 0);
    const auto limit = static_cast<double>(cluster.gpu_memory_bytes);
    CHECK(peak_memory(kLlama8b, cluster, profile, 1, tokens, layers).total_bytes() <= limit);
    if (layers > 0)
      CHECK(peak_memory(kLlama8b, cluster, profile, 1, tokens, layers - 1).total_bytes() > limit);
  }
  CHECK(fewest_gc_layers(kLlama8b, cluster, profile, 1, 1024) == 0);
  CHECK(fewest_gc_layers(kLlama8b, cluster, profile, 1, 32768) == -1);
}
