#include <catch2/catch.hpp>

#include "scenario_text.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

Scenario load_with(const std::string& members) {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  const std::string strategy = R"({"strategy": "isf", "capacity_tokens": 131072})";
  return load_scenario(folder.write("test.json", scenario_text(strategy, members + ", ")),
                       packsim_test::kData);
}

FailureModel failures_of(const std::string& members, const std::string& before = "") {
  return load_with(before + R"("failures": {)" + members + "}").failures.value();
}

const std::string kRestart = R"("restart": {"detection_s": 60, "reschedule_s": 300, "load_s": 90})";

TEST_CASE("without the sections all GPUs are the same, and nothing fails") {
  const Scenario scenario = load_with(R"("seed": 7)");
  CHECK(scenario.variability == Variability{});
  CHECK_FALSE(scenario.failures);
  // An empty section says no more.
  CHECK_FALSE(load_with(R"("variability": {})").variability.any());
}

TEST_CASE("every member of variability is read; the seed is the scenario's unless it says its own") {
  const std::string members = R"("rank_spread": 0.02, "kernel_spread": 0.05,
      "slow_ranks": [{"rank": 31, "factor": 1.15}, {"rank": 0, "factor": 0.5}])";
  const Variability expected{
      .rank_spread = 0.02, .kernel_spread = 0.05, .slow_ranks = {{31, 1.15}, {0, 0.5}}, .seed = 77};
  CHECK(load_with(R"("seed": 77, "variability": {)" + members + "}").variability == expected);
  CHECK(load_with(R"("variability": {"seed": 77, )" + members + "}").variability == expected);
}

TEST_CASE("every member of failures is read") {
  CHECK(failures_of(R"("mtbf_hours": 50000, "unit": "gpu",
      "checkpoint": {"write_s": 40, "blocking_fraction": 0.25, "interval_s": 1800},
      "spares": {"units": 3, "repair_hours": 12}, )" +
                    kRestart) == FailureModel{.unit_mtbf_h = 50000,
                                              .unit_gpus = 1,
                                              .checkpoint_interval_s = 1800.0,
                                              .checkpoint_write_s = 40,
                                              .checkpoint_blocking_fraction = 0.25,
                                              .detection_s = 60,
                                              .reschedule_s = 300,
                                              .load_s = 90,
                                              .spares = SparePool{.n_units = 3, .repair_s = 43200}});
}

TEST_CASE("what failures leave out: the best interval, a write that the run waits for, spares at hand") {
  const FailureModel model =
      failures_of(R"("mtbf_hours": 5000, "unit": "node", "checkpoint": {"write_s": 40}, )" + kRestart);
  CHECK(model.unit_gpus == 8);
  CHECK_FALSE(model.checkpoint_interval_s);
  CHECK(model.checkpoint_blocking_fraction == 1);
  CHECK_FALSE(model.spares);
}

TEST_CASE("a published rate says how often, and whether a GPU or a node") {
  for (const PublishedMtbf& published : kPublishedMtbfs) {
    const FailureModel model = failures_of(R"("published": ")" + std::string(published.name) +
                                           R"(", "checkpoint": {"write_s": 40}, )" + kRestart);
    CHECK(model.unit_mtbf_h == published.unit_mtbf_h);
    CHECK(model.unit_gpus == published.unit_gpus);
  }
}

TEST_CASE("a checkpoint's size follows from the model, and its times from a bandwidth") {
  const std::string rate = R"("published": "rsc1-a100", )";
  const std::string restart = R"("restart": {"detection_s": 60, "reschedule_s": 300})";
  const auto model = [&](const std::string& checkpoint, const std::string& before = "") {
    return failures_of(
        rate + R"("checkpoint": {"bandwidth_bytes_per_s": 1e10)" + checkpoint + "}, " + restart, before);
  };
  // LLaMA-3.1-8B has 8 030 261 248 parameters, and saves 14 bytes of each.
  CHECK(model("").checkpoint_write_s == Approx(8030261248.0 * 14 / 1e10).epsilon(1e-15));
  // Read as fast as written.
  CHECK(model("").load_s == model("").checkpoint_write_s);
  CHECK(model(R"(, "bytes_per_parameter": 16)").checkpoint_write_s == Approx(8030261248.0 * 16 / 1e10));
  CHECK(model(R"(, "size_bytes": 5e10)").checkpoint_write_s == 5);
  // Of adapters alone: each of 32 layers has r (in + out) for q and o (4096 + 4096), k and v (4096 + 1024),
  // gate, up and down (4096 + 14336).
  const double adapters = 32 * 16.0 * (2 * 8192 + 2 * 5120 + 3 * 18432);
  CHECK(model("", R"("parallelism": {"lora_rank": 16}, )").checkpoint_write_s ==
        Approx(adapters * 14 / 1e10).epsilon(1e-12));
  // The size is the model's, however it is cut up.
  CHECK(model("", R"("parallelism": {"tp_degree": 8, "pp_degree": 4}, )").checkpoint_write_s ==
        model("").checkpoint_write_s);
  // What loading takes may be said all the same.
  CHECK(failures_of(rate + R"("checkpoint": {"bandwidth_bytes_per_s": 1e10}, )" + kRestart).load_s == 90);
}

TEST_CASE("what a run takes beside its steps is read, and nothing is assumed") {
  CHECK_FALSE(load_with(R"("seed": 7)").beside_steps);
  const BesideSteps none = load_with(R"("beside_steps": {})").beside_steps.value();
  CHECK(none.startup_s + none.first_steps_s + none.data_wait_s + none.finish_s == 0);
  CHECK_FALSE(none.evaluation);
  CHECK_FALSE(none.checkpoints);
  const BesideSteps all = load_with(R"("beside_steps": {"startup_s": 1, "first_steps_s": 2, "data_wait_s": 3,
      "finish_s": 4, "evaluation": {"every_iterations": 5, "tokens": 6},
      "checkpoint": {"every_iterations": 7, "write_s": 80, "blocking_fraction": 0.1}})")
                              .beside_steps.value();
  CHECK(all.startup_s == 1);
  CHECK(all.first_steps_s == 2);
  CHECK(all.data_wait_s == 3);
  CHECK(all.finish_s == 4);
  CHECK(all.evaluation->every_iterations == 5);
  CHECK(all.evaluation->tokens == 6);
  CHECK_FALSE(all.evaluation->duration_s);
  CHECK(all.checkpoints->every_iterations == 7);
  CHECK(all.checkpoints->blocking_s == Approx(8));  // a tenth of 80
}

TEST_CASE("spot nodes are taken back on top of failures, or alone") {
  const std::string rest = R"(, "checkpoint": {"write_s": 20}, )" + kRestart;
  const FailureModel alone = failures_of(R"("spot_mtbf_hours": 24)" + rest);
  CHECK(alone.unit_mtbf_h == Approx(24));
  CHECK(alone.unit_gpus == 8);
  // A node of 8 GPUs fails every 800 / 8 = 100 h, and is taken back every 25: 1/100 + 1/25 = 1/20.
  const FailureModel both = failures_of(R"("mtbf_hours": 800, "unit": "gpu", "spot_mtbf_hours": 25)" + rest);
  CHECK(both.unit_mtbf_h == Approx(20));
  CHECK(both.unit_gpus == 8);
  const FailureModel node = failures_of(R"("mtbf_hours": 100, "unit": "node", "spot_mtbf_hours": 25)" + rest);
  CHECK(node.unit_mtbf_h == Approx(20));
}

}  // namespace
}  // namespace packsim
