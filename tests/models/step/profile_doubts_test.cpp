#include "models/step/profile_doubts.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

Cluster cluster_of(const std::string& gpu, int nodes) {
  return {.name = "", .source = "", .gpu = {.driver_name = gpu}, .nodes = nodes, .gpus_per_node = 8};
}

FrameworkProfile profile_of(std::vector<PlanTrait> traits) {
  FrameworkProfile profile;
  profile.name = "P";
  profile.gpu = "G";
  profile.fitted_on = {
      .models = {"m"}, .gpus = {"G"}, .least_gpus = 8, .most_gpus = 32, .traits = std::move(traits)};
  return profile;
}

std::vector<std::string> texts(const FrameworkProfile& profile, const Cluster& cluster,
                               const std::vector<ParallelPlan>& plans, const Transformer& model = kLlama8b) {
  std::vector<std::string> reasons;
  const std::vector<double> equal(plans.size(), 1.0 / static_cast<double>(plans.size()));
  for (const ProfileDoubt& doubt : profile_doubts(profile, model, cluster, plans, equal))
    reasons.push_back(doubt.reason);
  return reasons;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("A step like those of the fit leaves no doubt") {
  const ParallelPlan plan{.n_gpus = 16, .tp_degree = 2, .zero_stage = 3, .gc_layers = 4};
  CHECK(texts(profile_of({PlanTrait::tensor, PlanTrait::zero_3, PlanTrait::checkpointing}),
              cluster_of("G", 2), {plan})
            .empty());
}

TEST_CASE("Each trait that no step of the fit had is a doubt, once for all groups") {
  ParallelPlan ulysses{.n_gpus = 16};
  ulysses.sequence.ulysses = 4;
  ParallelPlan ring = ulysses;
  ring.sequence.ring = 2;
  ring.gc_layers = 3;
  ring.checkpointing = Checkpointing::selective;
  CHECK(texts(profile_of({PlanTrait::tensor}), cluster_of("G", 2), {ulysses, ring}) ==
        Texts{"no step of profile P had Ulysses sequence parallelism",
              "no step of profile P had ring attention", "no step of profile P had selective checkpointing"});
  const ParallelPlan by_operation{.n_gpus = 16, .gc_layers = 1, .checkpointing = Checkpointing::operations};
  CHECK(texts(profile_of({}), cluster_of("G", 2), {by_operation}) ==
        Texts{"no step of profile P had checkpointing by operation"});
  const ParallelPlan packed{.n_gpus = 16, .lora_rank = 8, .frozen_weights = &kNf4};
  CHECK(texts(profile_of({}), cluster_of("G", 2), {packed}) ==
        Texts{"no step of profile P had LoRA", "no step of profile P had frozen weights in 4 bits"});
  const ParallelPlan fp8{.n_gpus = 16, .precision = Precision::fp8_block};
  CHECK(texts(profile_of({}), cluster_of("G", 2), {fp8}) ==
        Texts{"no step of profile P had products in fp8"});
  const ParallelPlan by_module{.n_gpus = 16,
                               .gc_layers = 1,
                               .checkpointing = Checkpointing::modules,
                               .recomputed_modules = LayerModules(LayerModule::mlp)};
  CHECK(texts(profile_of({}), cluster_of("G", 2), {by_module}) ==
        Texts{"no step of profile P had recomputed modules"});
  const ParallelPlan rest{
      .n_gpus = 16, .pp_degree = 2, .zero_stage = 2, .offload = {.optimizer = true}, .lora_rank = 8};
  CHECK(texts(profile_of({}), cluster_of("G", 2), {rest}) ==
        Texts{"no step of profile P had a pipeline", "no step of profile P had ZeRO 2",
              "no step of profile P had LoRA", "no step of profile P had states in host memory"});
  Transformer with_experts = kLlama8b;
  with_experts.experts.n_routed = 8;
  CHECK(texts(profile_of({}), cluster_of("G", 2), {{.n_gpus = 16}}, with_experts) ==
        Texts{"no step of profile P had experts"});
}

TEST_CASE("What only some groups have is in doubt by their part of the tokens") {
  const std::vector<ParallelPlan> plans = {{.n_gpus = 16}, {.n_gpus = 16, .sequence = {.ring = 2}}};
  const FrameworkProfile profile = profile_of({});
  const auto doubts = profile_doubts(profile, kLlama8b, cluster_of("G", 2), plans, std::vector{0.9, 0.1});
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].relative_error == Approx(0.1 * plan_trait_kind(PlanTrait::ring).error));
}

TEST_CASE("Another GPU, and more or fewer GPUs than the fit had, are doubts") {
  CHECK(texts(profile_of({}), cluster_of("H", 2), {{.n_gpus = 16}}) ==
        Texts{"no step of profile P ran on H"});
  const FrameworkProfile profile = profile_of({});
  const ParallelPlan plan{.n_gpus = 256};
  const std::vector<ProfileDoubt> more = profile_doubts(profile, kLlama8b, cluster_of("G", 32), plan);
  REQUIRE(more.size() == 1);
  CHECK(more[0].reason == "no step of profile P ran on over 32 GPUs");
  CHECK(more[0].relative_error == Approx(0.05 * std::log(256 / 32)));
  Cluster few = cluster_of("G", 1);
  few.gpus_per_node = 2;
  CHECK(texts(profile, few, {{.n_gpus = 2}}) == Texts{"no step of profile P ran on fewer than 8 GPUs"});
}

TEST_CASE("The table of traits is in the order of the enumeration") {
  for (std::size_t i = 0; i < kPlanTraits.size(); ++i) {
    CHECK(kPlanTraits[i].trait == static_cast<PlanTrait>(i));
    CHECK(kPlanTraits[i].error > 0);
  }
}
