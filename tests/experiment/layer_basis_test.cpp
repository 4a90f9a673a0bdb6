#include "models/layers/layer_basis.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "models/plan/plan_key.hpp"
#include "models/step/step_pricer.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/models/attention_profile.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

bool same(const PricedPhase& one, const PricedPhase& other) {
  const auto same_segment = [](const PassSegment& a, const PassSegment& b) {
    return a.kind == b.kind && a.cause == b.cause && a.time_ns == b.time_ns && a.n_kernels == b.n_kernels &&
           a.n_host_waits == b.n_host_waits && a.op == b.op && a.gpus == b.gpus && a.stride == b.stride &&
           a.bytes == b.bytes;
  };
  return std::ranges::equal(one.segments, other.segments, same_segment);
}

bool same(const TokenPrices& one, const TokenPrices& other) {
  for (std::size_t kind = 0; kind < one.layers.size(); ++kind) {
    for (const LayerPhase phase : {LayerPhase::forward, LayerPhase::recompute, LayerPhase::backward}) {
      if (!same(one.layers[kind].of(phase), other.layers[kind].of(phase))) return false;
    }
  }
  return same(one.embedding_forward, other.embedding_forward) && same(one.head_forward, other.head_forward) &&
         same(one.head_backward, other.head_backward) &&
         same(one.embedding_backward, other.embedding_backward);
}

// Another value of the key, if it has one that is easy to make.
std::vector<PlanValue> others_of(const PlanKey& key, const PlanValue& value) {
  if (const auto* const flag = std::get_if<bool>(&value)) return {PlanValue(!*flag)};
  if (std::holds_alternative<std::int64_t>(value))
    return {PlanValue(std::int64_t{2}), PlanValue(std::int64_t{3})};
  if (std::holds_alternative<double>(value)) return {PlanValue(2.0)};
  std::vector<PlanValue> words;
  if (key.option.words != nullptr && !std::holds_alternative<std::vector<int>>(value)) {
    for (const std::string_view word : key.option.words()) words.emplace_back(std::string(word));
  }
  return words;
}

}  // namespace

// What is not in the basis must not change a price: pricers of plans with equal ones share theirs.
TEST_CASE("Plans with equal layers have equal prices of tokens, whatever key of the plan differs") {
  int n_equal = 0;
  int n_other = 0;
  for (const char* name : {"llama3.1-8b", "qwen3-30b-a3b", "deepseek-v2"}) {
    const Transformer model = load_model(name, packsim_test::kData);
    Cluster cluster = load_cluster_type("h100-sxm-80gb", packsim_test::kData);
    cluster.nodes = 2;
    const HardwareProfile profile = packsim_test::attention_profile({"bwd", "fwd"});
    for (const Precision precision : {Precision::bf16, Precision::fp8_block}) {
      for (const int zero_stage : {1, 3}) {
        const ParallelPlan plan{.n_gpus = 16,
                                .tp_degree = 2,
                                .sequence = {.ulysses = 2},
                                .zero_stage = zero_stage,
                                .precision = precision};
        StepPricer pricer(model, cluster, plan, profile, {});
        for (const PlanKey& key : plan_keys()) {
          for (const PlanValue& value : others_of(key, key.get(plan))) {
            ParallelPlan other = plan;
            key.set(other, value);
            if (other == plan || !(LayerBasis(model, other) == LayerBasis(model, plan))) {
              n_other += other == plan ? 0 : 1;
              continue;
            }
            CAPTURE(name, key.name(), plan_value_text(value));
            StepPricer of_other(model, cluster, other, profile, {});
            for (const std::int64_t tokens : {1, 777, 4096})
              CHECK(same(pricer.tokens(tokens), of_other.tokens(tokens)));
            ++n_equal;
          }
        }
      }
    }
  }
  CHECK(n_equal > 100);
  CHECK(n_other > 100);
}
