#include "models/plan/plan_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "example_report.hpp"
#include "reports/formats/formats.hpp"
#include "reports/formats/terminal_format.hpp"
#include "reports/text/gpu_text.hpp"

using namespace packsim;
using namespace packsim::formats_detail;

namespace {

const std::string kRest = "gradients in bf16; gradients and weights travel beside computation";

// The plan of a framework that says nothing.
std::string words_of(ParallelPlan plan) {
  plan.execution.launch_s = kTorchLaunch_s;
  return plan_text(plan);
}

}  // namespace

TEST_CASE("A plan in words: degrees, ZeRO, and how gradients and exchange go") {
  CHECK(words_of({}) == "no model parallelism; ZeRO 1; " + kRest);
  CHECK(words_of({.tp_degree = 8,
                  .pp_degree = 4,
                  .virtual_stages = 2,
                  .ep_degree = 16,
                  .zero_stage = 0,
                  .execution = {.fp32_gradients = true, .overlaps_states = false}}) ==
        "TP 8; PP 4; 2 virtual stages each; EP 16; ZeRO 0; gradients in fp32; computation "
        "waits for gradients and weights");
  CHECK(words_of({.tp_degree = 2, .execution = {.overlaps_tensor = true}}) ==
        "TP 2; ZeRO 1; " + kRest + "; tensor-parallel exchange runs beside products");
  CHECK(words_of({.pp_degree = 2,
                  .chunk_layers = {20, 12},
                  .execution = {.bucket_elements = 1, .overlaps_gather = true},
                  .checkpointing = Checkpointing::selective,
                  .latent_exchange = true,
                  .offload = {.optimizer = true},
                  .lora_rank = 16}) ==
        "PP 2; chunks of 20 + 12 layers; ZeRO 1; checkpointing: selective; optimizer in host memory; LoRA of "
        "rank 16; latents exchanged; " +
            kRest + "; updated weights are gathered in the next step; buckets of 1 elements");
  ParallelPlan plan{.sequence = {.ulysses = 2, .ring = 4},
                    .zero_stage = 3,
                    .shard_degree = 8,
                    .gc_layers = 3,
                    .checkpointing = Checkpointing::modules,
                    .recomputed_modules = LayerModules(LayerModule::moe_act, LayerModule::layernorm),
                    .offload = {.optimizer = true, .activations = true},
                    .frozen_weights = &kNf4,
                    .precision = Precision::fp8_current,
                    .fp8_gather = true};
  plan.lora_targets.add(0);
  plan.lora_targets.add(2);
  CHECK(words_of(plan) ==
        "no model parallelism; SP 2; CP 4; GC 3; ZeRO 3; shards over 8 GPUs; checkpointing: layernorm + "
        "moe_act; optimizer + activations in host memory; adapters beside q_proj + v_proj; frozen weights in "
        "nf4; products in fp8_current; weights gathered in fp8; " +
            kRest);
  CHECK(plan_text({}).ends_with("; a kernel launch takes 0 s"));
  CHECK(sequence_text({.ulysses = 8, .ring = 1}) == "8");
  CHECK(sequence_text({.ulysses = 2, .ring = 4}) == "2 x CP 4");
}

TEST_CASE("Every report has the plan that it is of") {
  Report report = example_report();
  report.runs = {example_misfit("isf")};  // a best run says what to set
  report.manifest.plan = {.tp_degree = 4, .pp_degree = 2, .chunk_layers = {20, 12}, .zero_stage = 0};
  report.runs[0].groups[0].sequence.ulysses = 2;
  report.runs[0].groups[0].sequence.ring = 4;
  for (const std::string& text : {to_terminal(report, {.wide = true}), to_html(report)}) {
    CHECK(text.find("TP 4; PP 2; chunks of 20 + 12 layers; ZeRO 0") != std::string::npos);
    CHECK(text.find("2 x CP 4") != std::string::npos);
  }
  const nlohmann::json plan = nlohmann::json::parse(to_json(report))["manifest"]["parallelism"];
  CHECK(plan["tp_degree"] == 4);
  CHECK(plan["chunk_layers"] == std::vector<int>{20, 12});
  CHECK(plan["zero_stage"] == 0);
  CHECK(plan["checkpointing"] == "full");
}
