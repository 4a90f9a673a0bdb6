#include "experiment/costs/utilisation.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

// 64 samples of 8 192 tokens, one in each pack, two epochs.
StrategyResult run_with(const std::string& model, const std::string& group, const std::string& members = "") {
  const TempFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 64; ++i) lengths += "8192\n";
  folder.write("lengths.csv", lengths);
  const Scenario scenario =
      load_scenario(folder.write("job.json", R"({"format": 1, "name": "job", "model": ")" + model + R"(",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 2}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 131072, "epochs": 2, "zero_stage": 3},
    )" + members + R"("lengths": {"mix": [{"source": "lengths.csv"}]},
    "strategies": [{"strategy": "bfd", )" + group +
                                                 "}]}"),
                    packsim_test::kData);
  return compare_strategies(scenario).runs.front();
}

constexpr double kPeakFlopPerS = 989.4e12;

}  // namespace

TEST_CASE("MFU is the model's flop over the GPUs' peak, and HFU adds what is computed again or for padding") {
  const StrategyResult run = run_with("llama3.1-8b", R"("capacity_tokens": 8192, "gc_layers": 16)");
  REQUIRE(run.times);
  const Utilisation& used = run.times->utilisation;
  const double gpu_s = 86400 * run.times->gpu_days;
  const double tokens = 2.0 * 64 * 8192;
  CHECK(used.tokens_per_s_per_gpu == Approx(tokens / gpu_s));
  CHECK(used.samples_per_s == Approx(2 * 64 / (3600 * run.times->wall_hours)));
  // LLaMA-3.1-8B: 32 layers of 4096 x (4096 x 2 + 1024 x 2 + 3 x 14336) weights, a head of 4096 x 128256, and
  // attention of 2 products of 4096 x 2 flop over half of the square.
  const double layers = 2.0 * 32 * 4096 * (4096 * 2 + 1024 * 2 + 3 * 14336) * tokens;
  const double head = 2.0 * 4096 * 128256 * tokens;
  const double attention = 32 * 2 * 2 * 4096 * (8192.0 / 2) * tokens;
  CHECK(used.model_flop_per_s_per_gpu == Approx(3 * (layers + head + attention) / gpu_s).epsilon(1e-3));
  REQUIRE(used.mfu_fraction);
  CHECK(*used.mfu_fraction == Approx(used.model_flop_per_s_per_gpu / kPeakFlopPerS));
  CHECK(*used.hfu_fraction ==
        Approx((3 * head + 3.5 * (layers + attention)) / gpu_s / kPeakFlopPerS).epsilon(1e-3));

  // Tiled MLPs run their three products once more, checkpointed or not; the loss runs nothing twice.
  const double mlp = 2.0 * 32 * 4096 * 3 * 14336 * tokens;
  const StrategyResult tiled = run_with("llama3.1-8b", R"("capacity_tokens": 8192, "gc_layers": 16)",
                                        R"("parallelism": {"mlp_tiles": 4, "loss_tiles": 4}, )");
  REQUIRE(tiled.times);
  CHECK(*tiled.times->utilisation.hfu_fraction / *tiled.times->utilisation.mfu_fraction ==
        Approx((3 * head + 3.5 * (layers + attention) + mlp) / (3 * (layers + head + attention)))
            .epsilon(1e-3));

  const StrategyResult padded = run_with("llama3.1-8b", R"("capacity_tokens": 10240, "padding": "capacity")");
  REQUIRE(padded.times);
  const Utilisation& with_padding = padded.times->utilisation;
  // 2 048 tokens of padding in each pack are one more document.
  const double pairs = (8192.0 * 8192 + 2048.0 * 2048) / (8192.0 * 8192);
  const double model_flop = 3 * (layers + head + attention);
  const double recomputed = padded.groups.front().gc_layers / 32.0;
  const double computed_flop = 3 * 1.25 * head + (3 + recomputed) * (1.25 * layers + pairs * attention);
  CHECK(*with_padding.hfu_fraction / *with_padding.mfu_fraction ==
        Approx(computed_flop / model_flop).epsilon(1e-3));
}

TEST_CASE("No run uses its GPUs beyond their peak") {
  for (const char* model : {"llama3.1-8b", "qwen2.5-7b"}) {
    CAPTURE(model);
    const StrategyResult run = run_with(model, R"("capacity_tokens": 16384)");
    REQUIRE(run.times);
    CHECK(*run.times->utilisation.mfu_fraction > 0.1);
    CHECK(*run.times->utilisation.hfu_fraction >= *run.times->utilisation.mfu_fraction);
    CHECK(*run.times->utilisation.hfu_fraction < 0.9);
  }
}

TEST_CASE("A sample that is cut is one sample, and a repeated one counts again") {
  // Packs of 6 000 tokens: 64 samples of 8 192 tokens are 64 pieces of 6 000 and 64 of 2 192, in some packs.
  const StrategyResult cut = run_with(
      "llama3.1-8b", R"("capacity_tokens": 6000, "over_long": "split", "last_iteration": "shorten")");
  REQUIRE(cut.times);
  CHECK(cut.counts.split_samples == 64);
  CHECK(cut.times->utilisation.samples_per_s == Approx(2 * 64 / (3600 * cut.times->wall_hours)));
  // 64 packs of one sample, 24 in an iteration: the third of an epoch repeats 8 of them.
  const StrategyResult repeated = run_with("llama3.1-8b", R"("capacity_tokens": 8192, "sp_degree": 2,
      "micro_batches_per_rank": 3, "last_iteration": "repeat")");
  REQUIRE(repeated.times);
  CHECK(repeated.counts.repeated_tokens == 2 * 8 * 8192);
  CHECK(repeated.times->utilisation.samples_per_s ==
        Approx(2 * (64 + 8) / (3600 * repeated.times->wall_hours)));
}
