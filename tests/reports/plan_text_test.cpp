#include "reports/text/plan_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "example_report.hpp"
#include "reports/formats/html_format.hpp"
#include "reports/formats/json_format.hpp"
#include "reports/formats/terminal_format.hpp"

using namespace packsim;
using namespace packsim::formats_detail;

namespace {

const std::string kRest = "gradients in bf16; gradients and weights travel beside computation";

}  // namespace

TEST_CASE("A plan in words: degrees, ZeRO, and how gradients and exchange go") {
  ParallelPlan plan;
  CHECK(plan_text(plan) == "no model parallelism; ZeRO 1; " + kRest);
  plan = {.tp_degree = 8,
          .pp_degree = 4,
          .virtual_stages = 2,
          .ep_degree = 16,
          .zero_stage = 0,
          .execution = {.fp32_gradients = true, .overlaps_states = false}};
  CHECK(plan_text(plan) ==
        "TP 8 x PP 4 x EP 16, 2 virtual stages each; ZeRO 0; gradients in fp32; "
        "computation waits for gradients and weights; products wait for tensor-parallel exchange");
  plan = {.tp_degree = 2, .execution = {.overlaps_tensor = true}};
  CHECK(plan_text(plan) == "TP 2; ZeRO 1; " + kRest + "; tensor-parallel exchange runs beside products");
  plan = {.pp_degree = 2,
          .chunk_layers = {20, 12},
          .execution = {.overlaps_gather = true},
          .checkpointing = Checkpointing::selective,
          .latent_exchange = true,
          .offload = {.optimizer = true},
          .lora_rank = 16};
  CHECK(plan_text(plan) ==
        "PP 2 of 20, 12 layers; ZeRO 1; LoRA of rank 16; selective checkpointing; optimizer in host memory; "
        "latents exchanged; " +
            kRest + "; updated weights are gathered in the next step");
  plan = {.zero_stage = 3, .offload = {.optimizer = true, .activations = true}};
  CHECK(plan_text(plan) == "no model parallelism; ZeRO 3; optimizer, activations in host memory; " + kRest);
  CHECK(zero_text({.zero_stage = 3}) == "ZeRO 3");
  CHECK(zero_text({.zero_stage = 3, .shard_degree = 8}) == "ZeRO 3 over 8 GPUs");
  plan = {.lora_rank = 8, .frozen_weights = FrozenWeights::nf4};
  plan.lora_targets.add(0);
  plan.lora_targets.add(2);
  CHECK(plan_text(plan) ==
        "no model parallelism; ZeRO 1; LoRA of rank 8 beside q_proj, v_proj; frozen weights in 4 bits; " +
            kRest);
  plan = {.precision = Precision::fp8_current, .fp8_gather = true};
  CHECK(plan_text(plan) ==
        "no model parallelism; ZeRO 1; products in fp8_current, weights gathered in fp8; " + kRest);
  plan = {.checkpointing = Checkpointing::operations};
  CHECK(plan_text(plan) == "no model parallelism; ZeRO 1; checkpointing by operation; " + kRest);
  plan = {.checkpointing = Checkpointing::modules,
          .recomputed_modules = LayerModules(LayerModule::moe_act, LayerModule::layernorm)};
  CHECK(plan_text(plan) ==
        "no model parallelism; ZeRO 1; checkpointed layers recompute layernorm, moe_act; " + kRest);
  CHECK(sequence_text({.ulysses = 8, .ring = 1}) == "8");
  CHECK(sequence_text({.ulysses = 2, .ring = 4}) == "2 x CP 4");
}

TEST_CASE("Every report has the plan that it is of") {
  Report report = example_report();
  report.manifest.plan = {.tp_degree = 4, .pp_degree = 2, .chunk_layers = {20, 12}, .zero_stage = 0};
  report.runs[0].groups[0].sequence.ulysses = 2;
  report.runs[0].groups[0].sequence.ring = 4;
  for (const std::string& text : {to_terminal(report, {.wide = true}), to_html(report)}) {
    CHECK(text.find("TP 4 x PP 2 of 20, 12 layers; ZeRO 0") != std::string::npos);
    CHECK(text.find("2 x CP 4") != std::string::npos);
  }
  const nlohmann::json plan = nlohmann::json::parse(to_json(report))["manifest"]["parallelism"];
  CHECK(plan["tp_degree"] == 4);
  CHECK(plan["chunk_layers"] == std::vector<int>{20, 12});
  CHECK(plan["zero_stage"] == 0);
  CHECK(plan["checkpointing"] == "full");
}
