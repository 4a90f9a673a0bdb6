#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "models/kernels/make_case.hpp"
#include "models/step/attention_pricer.hpp"
#include "models/step/step_pricer.hpp"
#include "tests/models/attention_profile.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Lengths = std::vector<std::int32_t>;

KernelTime as_kernel(const HardwareProfile& profile, const std::string& pass, const AttentionShape& shape,
                     const Lengths& lengths) {
  Documents documents;
  for (const std::int32_t length : lengths) documents.runs.push_back({1, length});
  return kernel_time(profile, attention_case(pass, documents, shape.heads, shape.kv_heads, shape.head_dim));
}

Lengths random_pack(std::mt19937& generator) {
  Lengths lengths(1 + generator() % 30);
  const std::uint32_t longest = 1U << (4 + generator() % 14);
  for (std::int32_t& length : lengths) length = static_cast<std::int32_t>(1 + generator() % longest);
  return lengths;
}

}  // namespace

TEST_CASE("A pack's attention is that of the kernel, with its error and evidence") {
  const HardwareProfile profile = attention_profile({"bwd", "fwd"});
  std::mt19937 generator(1);
  // With a curve of their own, without, other head_dims, far outside.
  const std::vector<AttentionShape> shapes = {{32, 8, 128}, {16, 16, 128}, {20, 4, 128},
                                              {16, 16, 64}, {8, 8, 160},   {256, 2, 128}};
  for (const AttentionShape& shape : shapes) {
    for (const std::string pass : {"fwd", "bwd"}) {
      AttentionPricer pricer(profile, pass, shape);
      for (int i = 0; i < 200; ++i) {
        const Lengths pack = random_pack(generator);
        const KernelTime expected = as_kernel(profile, pass, shape, pack);
        const TimeEstimate price = pricer.pack(pack);
        REQUIRE(price.time_s == Approx(expected.time_s).epsilon(1e-12));
        REQUIRE(price.error_s == Approx(expected.time_s * expected.relative_error).epsilon(1e-12));
        REQUIRE(price.evidence == expected.evidence);
        REQUIRE(pricer.pack(pack, {.tokens = 1 << 20}).time_s ==
                price.time_s);  // no document is longer than the window
      }
    }
  }
}

TEST_CASE("With all keys and values, a GPU computes its share of the pairs of each document") {
  const HardwareProfile profile = attention_profile({"bwd", "fwd"});
  AttentionPricer pricer(profile, "fwd", {32, 8, 128});
  const Lengths pack = {65536, 8192, 300};
  const double launch_s = pricer.parts().launch_s;
  const double longest_s = 65536 * pricer.parts().longest_s_per_token;
  double work_s = 0;
  for (const std::int32_t length : pack) work_s += pricer.document_s(length);
  // One of 8 GPUs does an eighth of the work, and waits for the longest document's last block as before.
  const double expected_s = launch_s + std::pow(std::pow(longest_s, 4) + std::pow(work_s / 8, 4), 0.25);
  CHECK(pricer.shared(pack, 1.0 / 8).time_s == Approx(expected_s).epsilon(1e-12));
  CHECK(pricer.shared(pack, 1).time_s == Approx(pricer.pack(pack).time_s).epsilon(1e-12));
}

TEST_CASE("Where packs are cut into chunks, the GPU whose queries have most pairs is waited for") {
  const HardwareProfile profile = attention_profile({"bwd", "fwd"});
  AttentionPricer pricer(profile, "fwd", {32, 8, 128});
  const auto gathered_s = [&](const Lengths& pack, int gpus) {
    return pricer.slowest_chunk(pack, gpus).time_s;
  };
  const auto share_s = [&](std::int32_t length, double share) {
    return pricer.shared(Lengths{length}, share).time_s;
  };
  // A document alone: the last of 4 GPUs has 1 - (3/4)^2 = 7/16 of its pairs.
  CHECK(gathered_s({65536}, 4) == Approx(share_s(65536, 7.0 / 16)).epsilon(1e-12));
  // A document on each GPU: nobody waits, in whichever order longer packs repeat them.
  CHECK(gathered_s({8192, 8192, 8192, 8192}, 4) == Approx(share_s(8192, 1)).epsilon(1e-12));
  CHECK(gathered_s({4096, 4096}, 2) == gathered_s({4096, 4096, 4096}, 3));
  // Random packs against a count of every token's pairs.
  std::mt19937 generator(3);
  for (int i = 0; i < 50; ++i) {
    const int gpus = 2 + static_cast<int>(generator() % 7);
    Lengths pack = random_pack(generator);
    const std::int64_t tokens = std::reduce(pack.begin(), pack.end(), std::int64_t{0});
    if (tokens % gpus != 0) pack.push_back(static_cast<std::int32_t>(gpus - tokens % gpus));
    const std::int64_t chunk = (tokens + gpus - 1) / gpus;
    std::vector<std::map<std::size_t, double>> pairs(static_cast<std::size_t>(gpus));
    std::int64_t token = 0;
    for (std::size_t document = 0; document < pack.size(); ++document) {
      // Those up to a token are half of its square, as in the times of documents.
      for (std::int32_t before = 0; before < pack[document]; ++before, ++token)
        pairs[static_cast<std::size_t>(token / chunk)][document] += before + 0.5;
    }
    double most_s = 0;
    for (const auto& of_gpu : pairs) {
      double work_s = 0;
      for (const auto& [document, n] : of_gpu) {
        const double length = pack[document];
        work_s += pricer.document_s(pack[document]) * n / (length * length / 2);
      }
      most_s = std::max(most_s, work_s);
    }
    // The slowest GPU's work is in its time, beside a launch and the end of a long document.
    CAPTURE(i, gpus);
    CHECK(gathered_s(pack, gpus) >= most_s + pricer.parts().launch_s - 1e-12);
    const double longest_s = pricer.parts().longest_s_per_token * *std::ranges::max_element(pack);
    CHECK(gathered_s(pack, gpus) <= most_s + longest_s + pricer.parts().launch_s + 1e-12);
  }
}

TEST_CASE("A window leaves the pairs that can be counted") {
  for (std::int64_t length = 1; length <= 40; ++length) {
    for (std::int64_t window = 1; window <= 45; ++window) {
      int seen = 0;
      for (std::int64_t token = 0; token < length; ++token) {
        for (std::int64_t before = 0; before <= token; ++before) seen += token - before < window ? 1 : 0;
      }
      const double all = static_cast<double>(length * (length + 1)) / 2;
      REQUIRE(windowed_share(length, {.tokens = window}) == Approx(seen / all).epsilon(1e-15));
    }
    REQUIRE(windowed_share(length, {}) == 1);
  }
}

// Of each GPU of a ring, the pairs of its queries with the keys that TransformerEngine hands to each of its
// chunks: from a window before the chunk up to its end.
std::vector<double> pairs_of_gpus(int length, int window, int ring, RingLayout layout) {
  const bool is_zigzag = layout == RingLayout::zigzag;
  const int n_chunks = is_zigzag ? 2 * ring : ring;
  const int chunk_tokens = length / n_chunks;
  std::vector<double> pairs(static_cast<std::size_t>(ring), 0.0);
  for (int chunk = 0; chunk < n_chunks; ++chunk) {
    const int gpu = chunk < ring ? chunk : 2 * ring - 1 - chunk;
    const int first = chunk * chunk_tokens;
    const int end = first + chunk_tokens;
    for (int query = first; query < end; ++query) {
      for (int key = std::max(0, first - (window - 1)); key < end; ++key)
        pairs[static_cast<std::size_t>(gpu)] += key <= query && query - key < window ? 1 : 0;
    }
  }
  return pairs;
}

TEST_CASE("A ring's slowest GPU computes the pairs of its queries that can be counted, and no others") {
  for (const RingLayout layout : {RingLayout::zigzag, RingLayout::contiguous}) {
    for (const int ring : {1, 2, 3, 4}) {
      for (int length = 2 * ring; length <= 48; length += 2 * ring) {
        const std::vector<double> whole = pairs_of_gpus(length, length, ring, layout);
        for (int window = 1; window <= length + 2; ++window) {
          const std::vector<double> seen = pairs_of_gpus(length, window, ring, layout);
          // No pair is lost, and none is computed twice.
          REQUIRE(std::accumulate(seen.begin(), seen.end(), 0.0) == causal_pairs(length, window));
          const double share = windowed_share(length, {.tokens = window, .ring = ring, .layout = layout});
          REQUIRE(share == Approx(std::ranges::max(seen) / std::ranges::max(whole)).epsilon(1e-12));
          if (window >= length) REQUIRE(share == 1);
        }
      }
    }
  }
}

TEST_CASE("Windowed documents take their share of the work, and of the longest one's tail") {
  const HardwareProfile profile = attention_profile({"fwd"});
  AttentionPricer pricer(profile, "fwd", {32, 8, 128});
  const double launch_s = 9e-6;
  const double whole_s = pricer.pack(Lengths{8192}).time_s - launch_s;
  const double share = windowed_share(8192, {.tokens = 1000});
  CHECK(pricer.pack(Lengths{8192}, {.tokens = 1000}).time_s ==
        Approx(launch_s + share * whole_s).epsilon(1e-12));
  CHECK(pricer.pack(Lengths{8192, 500}, {.tokens = 1000}).time_s < pricer.pack(Lengths{8192, 500}).time_s);
}

TEST_CASE("A ring computes each document in parts, one launch each") {
  const HardwareProfile profile = attention_profile({"bwd", "fwd"});
  const Lengths pack = {8192, 640, 1000};
  const Lengths parts = {2048, 160, 250};
  for (const RingLayout layout : {RingLayout::zigzag, RingLayout::contiguous}) {
    const ParallelPlan plan{.n_gpus = 4, .sequence = {.ring = 4}, .ring_layout = layout};
    StepPricer pricer(kLlama8b, example_cluster(), plan, profile, {});
    // 4 steps on equal halves, or 3 with all pairs of two parts, each as many as twice the causal ones, and
    // one with its own.
    const int n = layout == RingLayout::zigzag ? 4 : 7;
    const double forward_s = AttentionPricer(profile, "fwd", {32, 8, 128}).pack(parts).time_s;
    CHECK(pricer.attention(pack).forward.all.time_s == Approx(n * forward_s));
  }
}

TEST_CASE("A hop of a ring joins results and takes halves of blocks") {
  const HardwareProfile profile = attention_profile({"bwd", "fwd"});
  const ParallelPlan plan{.n_gpus = 8, .sequence = {.ulysses = 2, .ring = 4}};
  StepPricer pricer(kLlama8b, example_cluster(), plan, profile, {});
  // 1000 tokens on each of two GPUs have 2000 of the sequence, with 16 of 32 heads and 4 of 8 key-value
  // heads. Forward, half of the hops have all queries: 6 bytes a value of the output, or of half of it, and 4
  // for half of the queries, or of the keys and values.
  const double queries = 2000.0 * 16 * 128;
  const double keys_and_values = 2000.0 * 2 * 4 * 128;
  const double forward_bytes = queries * (6 * 0.75 + 0.5 * 0.5 * 4) + keys_and_values * 0.5 * 0.5 * 4;
  // Backward, gradients of queries, or of half of them, are added up, and so are those of keys and values.
  // The halves are of queries, outputs and their gradients.
  const double backward_bytes =
      queries * (6 * 0.75 + 3 * 0.5 * 0.5 * 4) + keys_and_values * (6 * 0.75 + 0.5 * 0.5 * 4);
  for (const bool is_backward : {false, true}) {
    const KernelPricer::Use copies = pricer.hop_copies(1000, is_backward);
    CHECK(2 * copies.count * static_cast<double>(copies.kernel->kernel.integer("bytes")) ==
          Approx(is_backward ? backward_bytes : forward_bytes));
  }
}

TEST_CASE("Where a pass was not measured, the other one stands in: missing, at the ratio of their flop") {
  const AttentionShape shape{32, 8, 128};
  const Lengths pack = {100, 4000, 20000};
  const HardwareProfile forward = attention_profile({"fwd"});
  const TimeEstimate known = AttentionPricer(forward, "fwd", shape).pack(pack);
  const TimeEstimate other = AttentionPricer(forward, "bwd", shape).pack(pack);
  CHECK(other.time_s == Approx(2.5 * known.time_s));
  CHECK(other.evidence == Evidence::missing);
  CHECK(other.error_s > 0.3 * other.time_s);
  const HardwareProfile backward = attention_profile({"bwd"});
  CHECK(AttentionPricer(backward, "fwd", shape).pack(pack).time_s ==
        Approx(AttentionPricer(backward, "bwd", shape).pack(pack).time_s / 2.5));
}

TEST_CASE("Without any attention its flop have a price") {
  const HardwareProfile nothing;
  AttentionPricer forward(nothing, "fwd", {32, 8, 128});
  // 2 products of 2 flop over half of the square, 32 heads of 128, at 400 TFLOP/s.
  const double flop = 2.0 * 32 * 128 * (4000.0 * 4000 + 100.0 * 100);
  CHECK(forward.pack(Lengths{4000, 100}).time_s == Approx(flop / 400e12));
  CHECK(forward.pack(Lengths{4000, 100}).evidence == Evidence::missing);
  AttentionPricer backward(nothing, "bwd", {32, 8, 128});
  CHECK(backward.pack(Lengths{4000, 100}).time_s == Approx(2.5 * flop / 400e12));
}

TEST_CASE("A pack without documents takes no time") {
  const HardwareProfile profile = attention_profile({"fwd"});
  CHECK(AttentionPricer(profile, "fwd", {32, 8, 128}).pack({}).time_s == 0);
}
