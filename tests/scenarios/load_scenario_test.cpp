#include "scenarios/loader/load_scenario.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "files/file_error.hpp"
#include "files/read_file.hpp"
#include "messages.hpp"
#include "scenario_text.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "temp_folder.hpp"
#include "tests/option_value.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using packsim_test::option;

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

using packsim_test::kData;

Scenario load_text(const TempFolder& folder, const std::string& text) {
  folder.write("lengths.csv", "tokens\n5\n");
  return load_scenario(folder.write("test.json", text), kData);
}

Scenario load_text(const std::string& text) {
  const TempFolder folder;
  return load_text(folder, text);
}

const std::string kIsf = R"({"strategy": "isf", "capacity_tokens": 131072})";

}  // namespace

TEST_CASE("strategies with mistakes can be left out where nothing else has any") {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  const auto load = [&](const std::string& strategies, const std::string& more = "",
                        const Messages& settings = {}) {
    return load_scenario(folder.write("test.json", scenario_text(strategies, more)), kData, settings,
                         MistakenStrategies::leave_out);
  };
  const std::string too_many =
      R"({"name": "wide", "strategy": "isf", "capacity_tokens": 131072, "sp_degree": 64})";
  const std::string ffd = R"({"strategy": "ffd", "capacity_tokens": 131072, "sp_degree": 8})";
  const std::string good = kIsf + ", " + too_many + ", " + ffd;
  const Scenario scenario = load(good, R"("baseline": "wide",)");
  REQUIRE(scenario.strategies.size() == 2);
  CHECK(scenario.strategies[1].name == "ffd");
  CHECK(scenario.baseline == "isf");
  REQUIRE(scenario.refused_strategies.size() == 1);
  CHECK(scenario.refused_strategies[0].name == "wide");
  CHECK(scenario.refused_strategies[0].messages ==
        Messages{folder.path() + "/test.json: /strategies/1/sp_degree: expected 1..32, got 64 (number)"});
  // What is left is the scenario that was read.
  CHECK(scenario.json->at("strategies").size() == 2);
  CHECK(load(good).scenario_hash == load(kIsf + ", " + ffd, "", {"name=test"}).scenario_hash);
  // A setting is named as one.
  const Scenario changed = load(kIsf + ", " + ffd, "", {"strategies.ffd.sp_degree=3"});
  REQUIRE(changed.refused_strategies.size() == 1);
  CHECK_THAT(changed.refused_strategies[0].messages[0],
             Catch::StartsWith("--set strategies.ffd.sp_degree: "));
  // All of them, or mistakes elsewhere: nothing is left out.
  CHECK_THROWS_AS(load(too_many), ScenarioError);
  CHECK_THROWS_AS(load(good, R"("seed": -1,)"), ScenarioError);
  CHECK_THROWS_AS(load_text(scenario_text(good)), ScenarioError);
}

TEST_CASE("a scenario with what is required has the documented defaults") {
  const Scenario scenario = load_text(scenario_text(kIsf));
  CHECK(scenario.name == "test");
  CHECK(scenario.description.empty());
  CHECK(scenario.seed == 1024);
  CHECK(scenario.model.n_layers == 32);
  CHECK(scenario.model.published_parameters == 8030261248.0);
  CHECK(scenario.cluster.n_gpus() == 32);
  CHECK(scenario.cluster.gpu.memory_bytes == 85520809984);
  CHECK(scenario.profile.name == "deepspeed-ulysses-h100");
  CHECK(scenario.training.tokens_per_iteration == 524288);
  CHECK(scenario.training.epochs == 1);
  CHECK(scenario.training.zero_stage == 1);
  // How the framework of the profile goes about a step.
  CHECK(scenario.hardware.name == "h100-sxm-public-fa2");
  CHECK(scenario.plan == ParallelPlan{.n_gpus = 32,
                                      .zero_stage = 1,
                                      .execution = {.fp32_gradients = true, .overlaps_states = false}});
  CHECK(scenario.lengths.mix.size() == 1);
  CHECK_FALSE(scenario.lengths.count);
  CHECK_FALSE(scenario.lengths.with_replacement);
  CHECK(scenario.lengths.shuffle);
  CHECK(scenario.baseline == "isf");

  REQUIRE(scenario.strategies.size() == 1);
  const StrategySpec& isf = scenario.strategies[0];
  CHECK(isf.name == "isf");
  CHECK(isf.strategy == "isf");
  REQUIRE(isf.groups.size() == 1);
  CHECK(isf.groups[0].capacity_tokens == 131072);
  CHECK(isf.groups[0].sequence.ulysses == 1);
  CHECK_FALSE(isf.groups[0].gc_layers);
  CHECK(option(isf.options, "seed") == OptionValue(1024));
  CHECK(option(isf.options, "rounds") == OptionValue(50));
  CHECK(isf.over_long == OverLong::error);
  CHECK(isf.empty == Empty::drop);
  CHECK(isf.window_samples == 0);
  CHECK(isf.padding == Padding::none);
  CHECK(isf.pad_multiple_tokens == 1);
  CHECK(isf.order == PackOrder::shuffled);
  CHECK(isf.last_iteration == LastIteration::repeat);
  CHECK(isf.curriculum_iterations == 0);
  CHECK_FALSE(isf.repack_each_epoch);
  CHECK_FALSE(isf.micro_batches_per_rank);
  CHECK_FALSE(scenario.cluster.gpu_hour_price);
}

TEST_CASE("Rows of a micro-batch are padded to the longest unless the scenario says otherwise") {
  const TempFolder folder;
  const auto padding = [&](const std::string& strategy, const std::string& said) {
    return load_text(folder, scenario_text(R"({"strategy": ")" + strategy +
                                           R"(", "capacity_tokens": 32768, "sp_degree": 1)" + said + "}"))
        .strategies.at(0)
        .padding;
  };
  for (const Strategy& strategy : strategies()) {
    if (strategy.takes_groups() || strategy.chooses_groups) continue;
    CAPTURE(strategy.name);
    const std::string name(strategy.name);
    CHECK(padding(name, "") == (name == "none" || name == "sorted" ? Padding::longest : Padding::none));
  }
  CHECK(padding("sorted", R"(, "padding": "none")") == Padding::none);
}

TEST_CASE("every member of a scenario is read") {
  const TempFolder folder;
  const std::string text = R"({
    "format": 1, "name": "all", "description": "of them", "seed": 4294967295,
    "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 2, "gpu_hour_price": 2.5},
    "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 1000, "epochs": 3, "zero_stage": 2},
    "hardware": "h100-sxm-public",
    "parallelism": {"tp_degree": 2, "bucket_elements": 1000, "fp32_gradients": false, "overlaps_states": true,
                    "checkpointing": "selective", "recompute_stops_early": true, "ring_layout": "contiguous",
                    "offload": "optimizer", "lora_rank": 16},
    "lengths": {"mix": [{"source": "lengths.csv", "weight": 1}], "count": 3,
                "with_replacement": true, "shuffle": false},
    "baseline": "two",
    "strategies": [
      {"name": "one", "strategy": "isf", "capacity_tokens": 4096, "sp_degree": 8, "gc_layers": 28,
       "seed": 5, "shuffle": false, "rounds": 7, "threshold_tokens": 4000,
       "order": "neighbours", "over_long": "truncate",
       "empty": "keep", "window_samples": 100, "padding": "multiple", "pad_multiple_tokens": 64,
       "last_iteration": "drop", "curriculum_iterations": 9, "repack_each_epoch": true,
       "micro_batches_per_rank": 2},
      {"name": "two", "strategy": "hbp", "packer": "lpfhp", "greedy_fill": false, "max_samples_per_pack": 6,
       "balance": false,
       "groups": [{"capacity_tokens": 2048, "gc_layers": 0}, {"capacity_tokens": 4096, "sp_degree": 4}]}
    ]
  })";
  const Scenario scenario = load_text(folder, text);
  CHECK(scenario.description == "of them");
  CHECK(scenario.seed == 4294967295U);
  CHECK(scenario.cluster.gpu_hour_price == 2.5);
  CHECK(scenario.training.epochs == 3);
  CHECK(scenario.training.zero_stage == 2);
  CHECK(scenario.hardware.name == "h100-sxm-public");
  CHECK(scenario.plan == ParallelPlan{.n_gpus = scenario.cluster.n_gpus(),
                                      .tp_degree = 2,
                                      .zero_stage = 2,
                                      .execution = {.bucket_elements = 1000,
                                                    .fp32_gradients = false,
                                                    .overlaps_states = true,
                                                    .recompute_stops_early = true},
                                      .checkpointing = Checkpointing::selective,
                                      .ring_layout = RingLayout::contiguous,
                                      .offload = {.optimizer = true},
                                      .lora_rank = 16});
  CHECK(scenario.lengths.mix[0].weight == 1.0);
  CHECK(scenario.lengths.mix[0].source == "lengths.csv");
  CHECK(scenario.lengths.mix[0].path == folder.path() + "/lengths.csv");
  CHECK(scenario.lengths.count == 3);
  CHECK(scenario.lengths.with_replacement);
  CHECK_FALSE(scenario.lengths.shuffle);
  CHECK(scenario.baseline == "two");
  CHECK(scenario.path == folder.path() + "/test.json");
  CHECK(scenario.scenario_hash == hash_of(text));
  const std::string profile =
      packsim_test::source_dir() + "/calibration/profiles/deepspeed-ulysses-h100.json";
  CHECK(scenario.profile_hash == hash_of(read_file(profile)));

  const StrategySpec& one = scenario.strategies.at(0);
  CHECK(one.groups[0].sequence.ulysses == 8);
  CHECK(one.groups[0].gc_layers == 28);
  CHECK(option(one.options, "seed") == OptionValue(5));
  CHECK(option(one.options, "shuffle") == OptionValue(false));
  CHECK(option(one.options, "rounds") == OptionValue(7));
  CHECK(option(one.options, "threshold_tokens") == OptionValue(4000));
  CHECK(one.order == PackOrder::neighbours);
  CHECK(one.over_long == OverLong::truncate);
  CHECK(one.empty == Empty::keep);
  CHECK(one.window_samples == 100);
  CHECK(one.padding == Padding::multiple);
  CHECK(one.pad_multiple_tokens == 64);
  CHECK(one.last_iteration == LastIteration::drop);
  CHECK(one.curriculum_iterations == 9);
  CHECK(one.repack_each_epoch);
  CHECK(one.micro_batches_per_rank == 2);

  const StrategySpec& two = scenario.strategies.at(1);
  CHECK(option(two.options, "packer") == OptionValue("lpfhp"));
  CHECK(option(two.options, "greedy_fill") == OptionValue(false));
  CHECK(option(two.options, "max_samples_per_pack") == OptionValue(6));
  CHECK(two.order == PackOrder::shuffled);
  REQUIRE(two.groups.size() == 2);
  CHECK(two.groups[0].sequence.ulysses == 1);
  CHECK(two.groups[0].gc_layers == 0);
  CHECK(two.groups[1].capacity_tokens == 4096);
  CHECK(two.groups[1].sequence.ulysses == 4);
  CHECK_FALSE(two.groups[1].gc_layers);
}

TEST_CASE("A strategy that is named after a tool packs in the tool's window unless the scenario names one") {
  const auto window_of = [](const std::string& strategy) {
    return load_text(scenario_text(strategy)).strategies.at(0).window_samples;
  };
  CHECK(window_of(R"({"strategy": "trl_bfd", "capacity_tokens": 1000})") == 1000);
  CHECK(window_of(R"({"strategy": "axolotl_multipack", "capacity_tokens": 1000})") == 100'000);
  CHECK(window_of(R"({"strategy": "trl_bfd", "capacity_tokens": 1000, "window_samples": 7})") == 7);
  CHECK(window_of(R"({"strategy": "trl_bfd", "capacity_tokens": 1000, "window_samples": 0})") == 0);
  CHECK(window_of(R"({"strategy": "bfd", "capacity_tokens": 1000})") == 0);
}

TEST_CASE("Options of the rivals are read, and groups where a strategy mixes them") {
  const Scenario scenario = load_text(scenario_text(R"(
      {"strategy": "wlb", "capacity_tokens": 1000, "linear_weight_tokens": 0, "outlier_queues": 3,
       "outlier_threshold_tokens": 500, "micro_batch_tokens": 800},
      {"strategy": "megatron_hybrid_cp",
       "groups": [{"capacity_tokens": 1000}, {"capacity_tokens": 2000, "sp_degree": 2}]})"));
  const OptionValues& wlb = scenario.strategies.at(0).options;
  CHECK(option(wlb, "linear_weight_tokens") == OptionValue(0));
  CHECK(option(wlb, "outlier_queues") == OptionValue(3));
  CHECK(option(wlb, "outlier_threshold_tokens") == OptionValue(500));
  CHECK(option(wlb, "micro_batch_tokens") == OptionValue(800));
  CHECK(scenario.strategies.at(1).groups.size() == 2);
}

TEST_CASE("A plan that cannot exist is refused where a group or its defaults can be put right") {
  // 8 key-value heads: 5 neither divides them nor is a multiple; nor does it divide 32 GPUs or heads.
  CHECK_THROWS_WITH(
      load_text(scenario_text(R"({"strategy": "isf", "capacity_tokens": 1000, "sp_degree": 5})")),
      Catch::Contains("/strategies/0/sp_degree: expected a divisor of"));
}

TEST_CASE("What is wrong with the plan of all groups is said once, where it can be put right") {
  const auto messages = [](const std::string& parallelism, const std::string& training = "") {
    const TempFolder folder;
    const std::string path = folder.path() + "/test.json: ";
    const std::string groups =
        R"({"strategy": "hbp", "groups": [{"capacity_tokens": 2048}, {"capacity_tokens": 4096, "sp_degree": 2}]})";
    const std::string text =
        scenario_text(kIsf + ", " + groups, R"("parallelism": {)" + parallelism + "}, ", training);
    Messages all = messages_of([&] { load_text(folder, text); });
    for (std::string& message : all) {
      if (message.starts_with(path)) message = message.substr(path.size());
    }
    return all;
  };
  CHECK(messages(R"("virtual_stages": 2)") ==
        Messages{"/parallelism/virtual_stages: expected 1 without a pipeline, got 2 (number)"});
  CHECK(messages(R"("lora_rank": 4097)") ==
        Messages{"/parallelism/lora_rank: expected 0..4096, got 4097 (number)"});
  // What can be told of a section that could not be read is no more than that.
  CHECK(messages(R"("pp_degree": "4", "virtual_stages": 2)") ==
        Messages{"/parallelism/pp_degree: expected integer in 1..4096, got \"4\" (string)"});
  CHECK(messages(R"("offload": "optimizer")", R"(, "zero_stage": 4)") ==
        Messages{"/training/zero_stage: expected integer in 0..3, got 4 (number)"});
}

TEST_CASE("What overlaps is the framework profile's, unless the scenario says otherwise") {
  const auto plan_of = [](const std::string& keys) { return load_text(scenario_text(kIsf, keys)).plan; };
  CHECK_FALSE(plan_of("").execution.overlaps_gather);
  CHECK_FALSE(plan_of("").execution.overlaps_tensor);
  const ParallelPlan both = plan_of(R"("parallelism": {"overlaps_gather": true, "overlaps_tensor": true}, )");
  CHECK(both.execution.overlaps_gather);
  CHECK(both.execution.overlaps_tensor);
}

TEST_CASE("A model is the profile's by its sizes, whatever it is called") {
  const TempFolder folder;
  const std::string llama = read_file(kData.root + "/models/architectures/llama3.1-8b.json");
  const auto is_known = [&](const std::string& from, const std::string& to) {
    std::string model = llama;
    model.replace(model.find(from), from.size(), to);
    folder.write("own.json", model);
    std::string text = scenario_text(kIsf);
    const std::string name = "\"llama3.1-8b\"";
    text.replace(text.find(name), name.size(), "\"own.json\"");
    return load_text(folder, text).is_model_of_profile;
  };
  CHECK(load_text(scenario_text(kIsf)).is_model_of_profile);
  CHECK(is_known("\"name\": \"llama3.1-8b\"", "\"name\": \"ours\""));
  // The name of the fitted one, and other layers.
  CHECK_FALSE(is_known("\"ffn_size\": 14336", "\"ffn_size\": 8192"));
  CHECK_FALSE(is_known("\"layers\": 32", "\"layers\": 16"));
}

TEST_CASE("Layers of uneven stages are read, and refused where they are no numbers of layers") {
  const auto text = [](const std::string& layers) {
    return scenario_text(kIsf, R"("parallelism": {"pp_degree": 2, "chunk_layers": )" + layers + "}, ");
  };
  CHECK(load_text(text("[15, 17]")).plan.chunk_layers == std::vector<int>{15, 17});
  CHECK(load_text(scenario_text(kIsf)).plan.chunk_layers.empty());
  for (const char* layers : {"17", "[15, 17.0]", "[-1, 33]", "[\"15\", 17]"}) {
    CHECK_THROWS_WITH(load_text(text(layers)),
                      Catch::Contains("/parallelism/chunk_layers: expected array of integers in 0..4096"));
  }
  CHECK_THROWS_WITH(load_text(text("[15, 16]")),
                    Catch::Contains("chunk_layers: expected the model's 32 layers in all, got 31"));
}

TEST_CASE("packing gives defaults to every strategy, whose own values go first") {
  const Scenario scenario = load_text(scenario_text(
      R"({"strategy": "isf"}, {"strategy": "ffd", "capacity_tokens": 8192, "sp_degree": 1,
          "order": "as_packed"},
         {"strategy": "hbp", "groups": [{"capacity_tokens": 2048},
                                        {"capacity_tokens": 4096, "sp_degree": 2}]})",
      R"("packing": {"capacity_tokens": 4096, "sp_degree": 8, "gc_layers": 3, "rounds": 9, "seed": 77,
                     "packer": "ffd",
                     "balance": true, "over_long": "drop", "micro_batches_per_rank": 4},)"));
  const StrategySpec& isf = scenario.strategies[0];
  CHECK(isf.groups[0].capacity_tokens == 4096);
  CHECK(isf.groups[0].sequence.ulysses == 8);
  CHECK(isf.groups[0].gc_layers == 3);
  CHECK(option(isf.options, "rounds") == OptionValue(9));
  CHECK(option(isf.options, "seed") == OptionValue(77));
  CHECK(isf.order == PackOrder::balanced);
  CHECK(isf.over_long == OverLong::drop);
  CHECK(isf.micro_batches_per_rank == 4);
  const StrategySpec& ffd = scenario.strategies[1];
  CHECK(ffd.groups[0].capacity_tokens == 8192);
  CHECK(ffd.groups[0].sequence.ulysses == 1);
  CHECK(ffd.order == PackOrder::as_packed);
  const StrategySpec& hbp = scenario.strategies[2];
  CHECK(hbp.groups[0].sequence.ulysses == 8);
  CHECK(hbp.groups[0].gc_layers == 3);
  CHECK(hbp.groups[1].sequence.ulysses == 2);
  CHECK(option(hbp.options, "packer") == OptionValue("ffd"));
}

TEST_CASE("attention across samples is for strategies whose packs are one row and formed before iterations") {
  const Scenario scenario = load_text(scenario_text(
      R"({"strategy": "isf"}, {"name": "within", "strategy": "isf", "attention": "within_samples"},
         {"strategy": "sorted"}, {"strategy": "wlb"})",
      R"("packing": {"capacity_tokens": 4096, "attention": "across_samples"},)"));
  CHECK(scenario.strategies[0].attention == Attention::across_samples);
  CHECK(scenario.strategies[1].attention == Attention::within_samples);
  // These ignore what packing says.
  CHECK(scenario.strategies[2].attention == Attention::within_samples);
  CHECK(scenario.strategies[3].attention == Attention::within_samples);
  CHECK_THROWS_WITH(load_text(scenario_text(
                        R"({"strategy": "none", "capacity_tokens": 4096, "attention": "across_samples"})")),
                    Catch::Contains("/strategies/0/attention: expected within_samples for strategy none, "
                                    "which gives every sample a row "
                                    "of its own, got \"across_samples\""));
  CHECK_THROWS_WITH(
      load_text(scenario_text(R"({"strategy": "planner", "attention": "across_samples"})")),
      Catch::Contains("expected within_samples for strategy planner, which plans iterations by"));
  CHECK_THROWS_WITH(
      load_text(scenario_text(R"({"strategy": "isf", "capacity_tokens": 4096, "attention": "none"})")),
      Catch::Contains("/strategies/0/attention: expected one of within_samples, across_samples"));
}

TEST_CASE("\"auto\" takes a default number of checkpointed layers back") {
  const Scenario scenario =
      load_text(scenario_text(R"({"strategy": "isf", "capacity_tokens": 4096, "gc_layers": "auto"})",
                              R"("packing": {"gc_layers": 3},)"));
  CHECK_FALSE(scenario.strategies[0].groups[0].gc_layers);
}

TEST_CASE("A plan is searched where the scenario says so, for one strategy or for all") {
  const Scenario scenario = load_text(scenario_text(
      R"({"strategy": "isf"}, {"name": "own", "strategy": "isf", "plan": "given", "sp_degree": 4},
         {"strategy": "hbp", "capacity_tokens": 16384, "zero_stages": [3]}, {"strategy": "planner"},
         {"strategy": "none"})",
      R"("packing": {"plan": "auto", "capacity_tokens": 65536, "zero_stages": [1, 2]},)"));
  const StrategySpec& isf = scenario.strategies[0];
  CHECK(isf.searches_plan);
  CHECK(isf.groups.empty());
  CHECK(isf.longest_tokens == 65536);
  CHECK(isf.zero_stages == std::vector<int>{1, 2});
  CHECK_FALSE(scenario.strategies[1].searches_plan);
  CHECK(scenario.strategies[1].groups.front().sequence.ulysses == 4);
  CHECK_FALSE(scenario.strategies[1].longest_tokens);
  CHECK(scenario.strategies[2].longest_tokens == 16384);
  CHECK(scenario.strategies[2].zero_stages == std::vector<int>{3});
  CHECK(scenario.strategies[3].searches_plan);
  // So many that iterations get the size asked for.
  CHECK_FALSE(scenario.strategies[4].micro_batches_per_rank);
}

TEST_CASE("A strategy's own stage and parallelism change the scenario's plan, and nothing else") {
  const Scenario scenario = load_text(scenario_text(R"({"strategy": "isf", "capacity_tokens": 131072},
         {"name": "own", "strategy": "isf", "capacity_tokens": 131072, "zero_stage": 3,
          "parallelism": {"tp_degree": 2}})"));
  CHECK(base_plan(scenario, scenario.strategies[0]) == scenario.plan);
  ParallelPlan own = scenario.plan;
  own.zero_stage = 3;
  own.tp_degree = 2;
  own.execution.overlaps_states = true;  // as every framework does in stage 3
  CHECK(base_plan(scenario, scenario.strategies[1]) == own);
}

TEST_CASE("strategies over groups balance by default, the others shuffle") {
  const Scenario scenario =
      load_text(scenario_text(R"({"strategy": "hbp", "groups": [{"capacity_tokens": 2048}]},
                                 {"strategy": "ffd", "capacity_tokens": 2048},
                                 {"name": "balanced", "strategy": "ffd", "capacity_tokens": 2048,
                                  "balance": true})"));
  CHECK(scenario.strategies[0].order == PackOrder::balanced);
  CHECK(scenario.strategies[1].order == PackOrder::shuffled);
  CHECK(scenario.strategies[2].order == PackOrder::balanced);
}

TEST_CASE("batches of a fixed number of rows come one a rank and step unless the scenario says otherwise") {
  const auto micro_batches = [](const std::string& more) {
    return load_text(scenario_text(R"({"capacity_tokens": 2048, )" + more + "}"))
        .strategies[0]
        .micro_batches_per_rank;
  };
  CHECK(micro_batches(R"("strategy": "none")") == 1);
  CHECK(micro_batches(R"("strategy": "none", "batch_samples": 4)") == 1);
  CHECK(micro_batches(R"("strategy": "none", "micro_batches_per_rank": 3)") == 3);
  CHECK(micro_batches(R"("strategy": "sorted", "batch_samples": 4)") == 1);
  CHECK(micro_batches(R"("strategy": "sorted", "batch_samples": 0)") == std::nullopt);
  CHECK(micro_batches(R"("strategy": "ffd")") == std::nullopt);
}

TEST_CASE("the strategies of a scenario shuffle with its seed unless they have their own") {
  const Scenario scenario = load_text(scenario_text(
      R"({"strategy": "isf", "capacity_tokens": 2048},
         {"strategy": "bfs", "capacity_tokens": 2048, "seed": 8})",
      R"("seed": 7,)"));
  CHECK(option(scenario.strategies[0].options, "seed") == OptionValue(7));
  CHECK(option(scenario.strategies[1].options, "seed") == OptionValue(8));
}

TEST_CASE("files are found beside the scenario before anywhere else") {
  const TempFolder folder;
  folder.write("sub/lengths.csv", "tokens\n1\n2\n");
  std::string text = scenario_text(kIsf);
  text.replace(text.find("llama3.1-8b"), 11, "own.json");
  folder.write("sub/own.json",
               R"({"format": 1, "name": "own", "source": "made up", "layers": 2, "hidden_size": 64,
    "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn_size": 128, "vocab_size": 100, "tied_embeddings": true,
    "qkv_bias": true, "published_parameters": 0})");
  const Scenario scenario = load_scenario(folder.write("sub/test.json", text), kData);
  CHECK(scenario.model.name == "own");
  CHECK(scenario.model.tied_embeddings);
  CHECK(scenario.model.qkv_bias);
  CHECK(scenario.lengths.mix[0].path == folder.path() + "/sub/lengths.csv");
  CHECK(draw_lengths(scenario.lengths, scenario.seed).lengths_tokens.size() == 2);
}

TEST_CASE("shipped lengths are found by file name") {
  const TempFolder folder;
  std::string text = scenario_text(kIsf);
  text.replace(text.find("lengths.csv"), 11, "qmsum.csv");
  const Scenario scenario = load_scenario(folder.write("test.json", text), kData);
  CHECK(scenario.lengths.mix[0].path == packsim_test::source_dir() + "/scenarios/lengths/qmsum.csv");
  CHECK(scenario.lengths.mix[0].source == "qmsum.csv");
}

TEST_CASE("a profile of another GPU loads: how far to trust it is not the loader's to say") {
  std::string text = scenario_text(kIsf);
  text.replace(text.find("h100-sxm-80gb"), 13, "h200-sxm-141gb");
  const Scenario scenario = load_text(text);
  CHECK(scenario.cluster.gpu.driver_name != scenario.profile.gpu);
}

TEST_CASE("What a profile does with experts is no part of a dense model's plan") {
  const auto plan_of = [](const std::string& model) {
    std::string text = scenario_text(kIsf);
    text.replace(text.find("llama3.1-8b"), 11, model);
    const std::string profile = R"("profile": ")";
    const std::size_t at = text.find(profile) + profile.size();
    text.replace(at, text.find('"', at) - at, "transformers-h100");
    return load_text(text).plan;
  };
  CHECK(plan_of("qwen3-30b-a3b").execution.experts == &kGroupedExperts);
  CHECK(plan_of("llama3.1-8b").execution.experts == ExecutionStyle{}.experts);
}

TEST_CASE("A factor that stands for FlashAttention-2 is another one on GPUs that this kernel was made for") {
  const TempFolder folder;
  const auto factor_on = [&](const std::string& cluster) {
    return load_scenario(
               folder.write("s.json", R"({"format": 1, "name": "s", "model": "llama3.1-8b", "cluster":
        {"type": ")" + cluster + R"(", "nodes": 1}, "profile": "transformers-h100", "training":
        {"tokens_per_iteration": 65536}, "lengths": {"mix": [{"source": "l.csv"}]}, "strategies":
        [{"strategy": "ffd", "capacity_tokens": 8192}]})"),
               packsim_test::kData)
        .profile.factors.attention_factor;
  };
  folder.write("l.csv", "tokens\n100\n");
  const double on_h100 = factor_on("h100-sxm-80gb");
  CHECK(on_h100 == load_profile("transformers-h100", packsim_test::kData).factors.attention_factor);
  // Kernels of the H100 reach 0.59 of what they were made for, on an A100 all of it.
  CHECK(factor_on("a100-sxm-80gb") == Approx(0.59 * on_h100));
  CHECK(factor_on("h200-sxm-141gb") == Approx(on_h100));
}

TEST_CASE("a mistake in a scenario of another folder has its path in front") {
  const TempFolder folder;
  const std::string path = folder.write("test.json", "{} {}");
  CHECK(messages_of([&] { load_scenario(path, kData); }) ==
        Messages{path + ": line 1, column 4: expected valid JSON, got '{' while parsing value"});
}

TEST_CASE("a scenario that does not exist is the machine's error by path and the user's by name") {
  CHECK_THROWS_WITH(load_scenario("/no/such.json", kData), "/no/such.json: No such file or directory");
  CHECK_THROWS_AS(load_scenario("/no/such.json", kData), FileError);
  const TempFolder root;
  root.write("scenarios/hbp_8b.json", "{}");
  CHECK(
      messages_of([&] { load_scenario("hbp_8", {.root = root.path()}); }) ==
      Messages{
          "scenario: expected the name of a scenario (did you mean hbp_8b?) or the path of a .json file, got "
          "\"hbp_8\" (string)"});
}

TEST_CASE("damaged scenarios are refused or read, and nothing else happens") {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  const std::string text = scenario_text(
      R"({"strategy": "hbp", "groups": [{"capacity_tokens": 2048, "sp_degree": 8, "gc_layers": "auto"}]})");
  // Every character in turn becomes one that JSON knows.
  int refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = "0-\"{}[],:x"[i % 10];
    try {
      load_scenario(folder.write("test.json", damaged), kData);
    } catch (const ScenarioError& error) {
      ++refused;
      CHECK_FALSE(error.messages().empty());
    }
  }
  CHECK(refused > static_cast<int>(text.size()) / 2);
}

TEST_CASE("The file of a cluster's GPU may name the hardware profile of jobs that name none") {
  const auto job = [](const std::string& cluster, const std::string& hardware) {
    return R"({"format": 1, "name": "job", "model": "llama3.1-8b", "profile": "any-framework-h100",
      "cluster": {"type": ")" +
           cluster + R"(", "nodes": 1}, )" + hardware + R"("training": {"tokens_per_iteration": 1000},
      "lengths": {"mix": [{"source": "lengths.csv"}]}, "strategies": [)" +
           kIsf + "]}";
  };
  const KernelCase product = KernelCase::parse("gemm m=8192 n=4096 k=4096 layout=tn cache=hot");
  const KernelCase norm =
      KernelCase::parse("elementwise op=rms_norm pass=fwd rows=8192 cols=4096 cache=cold");
  const Scenario own = load_text(job("mi300x-192gb", ""));
  CHECK(own.hardware.name == "mi300x-public");
  CHECK_FALSE(own.is_hardware_of_profile);
  CHECK(kernel_time(own.hardware, product).evidence < Evidence::transferred);
  CHECK(kernel_time(own.hardware, norm).evidence == Evidence::transferred);
  const Scenario scaled = load_text(job("mi300x-192gb", R"("hardware": "h100-sxm-public", )"));
  CHECK(scaled.hardware.name == "h100-sxm-public");
  CHECK(scaled.is_hardware_of_profile);
  CHECK(kernel_time(scaled.hardware, product).evidence == Evidence::transferred);
  CHECK(load_text(job("h100-sxm-80gb", "")).is_hardware_of_profile);

  SECTION("unless the framework profile was fitted to steps of this GPU on other kernels") {
    const TempFolder folder;
    std::string profile =
        read_file(packsim_test::source_dir() + "/calibration/profiles/any-framework-h100.json");
    const std::string h100 = "NVIDIA H100 80GB HBM3";
    profile.replace(profile.find(h100), h100.size(), own.cluster.gpu.driver_name);
    folder.write("p.json", profile);
    std::string text = job("mi300x-192gb", "");
    text.replace(text.find("any-framework-h100"), 18, "./p.json");
    const Scenario fitted = load_text(folder, text);
    CHECK(fitted.hardware.name == "h100-sxm-public");
    CHECK(fitted.is_hardware_of_profile);
  }

  SECTION("which may be that of another GPU with the same chips") {
    const Scenario relative = load_text(job("mi325x-256gb", ""));
    CHECK(relative.hardware.name == "mi300x-public");
    const KernelTime transferred = kernel_time(relative.hardware, product);
    CHECK(transferred.evidence == Evidence::transferred);
    CHECK(transferred.time_s == Approx(kernel_time(own.hardware, product).time_s).epsilon(0.05));
  }

  SECTION("which goes with framework profiles on the kernels that it was measured like") {
    const auto with_profile = [&](const std::string& profile) {
      std::string text = job("h200-sxm-141gb", "");
      text.replace(text.find("any-framework-h100"), 18, profile);
      return load_text(text);
    };
    const Scenario measured = with_profile("pytorch-h100");
    CHECK(measured.hardware.name == "h200-measured");
    CHECK(measured.is_hardware_of_profile);
    CHECK(kernel_time(measured.hardware, product).evidence < Evidence::transferred);
    const Scenario published = with_profile("any-framework-h100");
    CHECK(published.hardware.name == "h100-sxm-public");
    CHECK(kernel_time(published.hardware, product).evidence == Evidence::transferred);
  }

  SECTION("which must be a shipped one") {
    const TempFolder folder;
    std::string gpu = read_file(packsim_test::source_dir() + "/models/gpus/mi300x-192gb.json");
    gpu.replace(gpu.find("mi300x-public"), 13, "mi300y-public");
    folder.write("g.json", gpu);
    folder.write("c.json",
                 R"({"format": 1, "name": "c", "source": "s", "gpu": "./g.json", "gpus_per_node": 8})");
    const Messages messages = messages_of([&] { load_text(folder, job("./c.json", "")); });
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].find("/cluster: expected a GPU whose hardware is the name of a hardware profile (did "
                           "you mean mi300x-public?)") != std::string::npos);
    CHECK(messages[0].find("mi300y-public") != std::string::npos);
  }
}

}  // namespace packsim
