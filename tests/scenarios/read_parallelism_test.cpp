#include <catch2/catch.hpp>

#include "read_messages.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

// A framework that goes about a step in no way that is ParallelPlan's default.
FrameworkProfile unlike_the_default() {
  FrameworkProfile profile;
  profile.execution.launch_s = 0.25;
  profile.execution.fp32_gradients = true;
  profile.execution.overlaps_states = false;
  profile.execution.overlaps_gather = true;
  profile.execution.overlaps_tensor = true;
  profile.execution.recompute_stops_early = true;
  profile.execution.plain_gradients = true;
  profile.execution.bucket_elements = 12345;
  return profile;
}

// Of a section that says nothing.
const ParallelPlan kUnsaid{.execution = {.launch_s = 0.25,
                                         .bucket_elements = 12345,
                                         .fp32_gradients = true,
                                         .overlaps_states = false,
                                         .overlaps_gather = true,
                                         .overlaps_tensor = true,
                                         .recompute_stops_early = true,
                                         .plain_gradients = true}};

struct Read {
  ParallelPlan plan;
  Messages messages;
};

Read read(const std::string& members, const FrameworkProfile& profile = unlike_the_default()) {
  Read read;
  read.messages = read_messages(R"({"parallelism": {)" + members + "}}", [&](JsonReader& reader) {
    read.plan = read_parallelism(reader.optional_object("parallelism"), {.execution = profile.execution});
  });
  return read;
}

std::string member(const std::string& key, const std::string& value) {
  return "\"" + key + "\": " + value;
}

std::string refusal(const std::string& key, const std::string& expected, const std::string& got) {
  return "x.json: /parallelism/" + key + ": expected " + expected + ", got " + got;
}

struct Integer {
  std::string key;
  std::int64_t low;
  std::int64_t high;
  std::int64_t (*value)(const ParallelPlan&);
};

const std::vector<Integer> kIntegers = {
    {"tp_degree", 1, 1 << 20, [](const ParallelPlan& plan) -> std::int64_t { return plan.tp_degree; }},
    {"pp_degree", 1, 4096, [](const ParallelPlan& plan) -> std::int64_t { return plan.pp_degree; }},
    {"virtual_stages", 1, 4096, [](const ParallelPlan& plan) -> std::int64_t { return plan.virtual_stages; }},
    {"ep_degree", 1, 1 << 20, [](const ParallelPlan& plan) -> std::int64_t { return plan.ep_degree; }},
    {"shard_degree", 0, 1 << 20, [](const ParallelPlan& plan) -> std::int64_t { return plan.shard_degree; }},
    {"zero_stage", 0, 3, [](const ParallelPlan& plan) -> std::int64_t { return plan.zero_stage; }},
    {"mlp_tiles", 1, 65536, [](const ParallelPlan& plan) -> std::int64_t { return plan.mlp_tiles; }},
    {"loss_tiles", 1, 65536, [](const ParallelPlan& plan) -> std::int64_t { return plan.loss_tiles; }},
    {"lora_rank", 0, 65536, [](const ParallelPlan& plan) -> std::int64_t { return plan.lora_rank; }},
    {"bucket_elements", 1, 1'000'000'000'000,
     [](const ParallelPlan& plan) -> std::int64_t { return plan.execution.bucket_elements; }}};

struct Flag {
  std::string key;
  bool& (*of)(ParallelPlan&);
};

const std::vector<Flag> kFlags = {
    {"latent_exchange", [](ParallelPlan& plan) -> bool& { return plan.latent_exchange; }},
    {"uneven_heads", [](ParallelPlan& plan) -> bool& { return plan.uneven_heads; }},
    {"fp8_gather", [](ParallelPlan& plan) -> bool& { return plan.fp8_gather; }},
    {"overlaps_states", [](ParallelPlan& plan) -> bool& { return plan.execution.overlaps_states; }},
    {"overlaps_gather", [](ParallelPlan& plan) -> bool& { return plan.execution.overlaps_gather; }},
    {"overlaps_tensor", [](ParallelPlan& plan) -> bool& { return plan.execution.overlaps_tensor; }},
    {"fp32_gradients", [](ParallelPlan& plan) -> bool& { return plan.execution.fp32_gradients; }},
    {"recompute_stops_early",
     [](ParallelPlan& plan) -> bool& { return plan.execution.recompute_stops_early; }},
    {"plain_gradients", [](ParallelPlan& plan) -> bool& { return plan.execution.plain_gradients; }}};

// What no key takes, with how a message tells it.
const std::vector<std::pair<std::string, std::string>> kOtherKinds = {
    {"null", "null"}, {"{}", "{} (object)"}, {"0.5", "0.5 (number)"}, {"\"x\"", "\"x\" (string)"}};

}  // namespace

TEST_CASE("Unless a plan says otherwise, all is on one GPU and goes as the framework of the profile has it") {
  CHECK(read("").plan == kUnsaid);
  CHECK(read("").messages.empty());
  CHECK(read("", {}).plan == ParallelPlan{});
  // Without the section.
  Problems problems;
  const JsonDocument nothing{.file = "x.json", .hash = "", .root = nullptr};
  CHECK(read_parallelism(JsonReader(nothing, problems), {.execution = unlike_the_default().execution}) ==
        kUnsaid);
  CHECK(problems.size() == 0);
}

TEST_CASE("Integers of a plan are read up to both ends of their range, and no further") {
  for (const Integer& integer : kIntegers) {
    CAPTURE(integer.key);
    for (const std::int64_t value : {integer.low, integer.high}) {
      const Read good = read(member(integer.key, std::to_string(value)));
      CHECK(good.messages.empty());
      CHECK(integer.value(good.plan) == value);
    }
    const std::string expected =
        "integer in " + std::to_string(integer.low) + ".." + std::to_string(integer.high);
    for (const std::int64_t value : {integer.low - 1, integer.high + 1}) {
      const Read bad = read(member(integer.key, std::to_string(value)));
      CHECK(bad.messages == Messages{refusal(integer.key, expected, std::to_string(value) + " (number)")});
      CHECK(bad.plan == kUnsaid);
    }
    for (const auto& [value, got] : kOtherKinds) {
      const Read bad = read(member(integer.key, value));
      CHECK(bad.messages == Messages{refusal(integer.key, expected, got)});
      CHECK(bad.plan == kUnsaid);
    }
  }
}

TEST_CASE("The time of a launch is a number of seconds") {
  for (const double launch_s : {0.0, 7e-6, 1.0})
    CHECK(read(member("launch_s", std::to_string(launch_s))).plan.execution.launch_s == launch_s);
  for (const std::string value : {"-1e-6", "1.5", "null", "\"7 us\""}) {
    const Read bad = read(member("launch_s", value));
    REQUIRE(bad.messages.size() == 1);
    CHECK_THAT(bad.messages[0],
               Catch::StartsWith("x.json: /parallelism/launch_s: expected number in 0..1, got "));
  }
}

TEST_CASE("Flags of a plan are true or false") {
  for (const Flag& flag : kFlags) {
    CAPTURE(flag.key);
    for (const bool value : {false, true}) {
      const Read good = read(member(flag.key, value ? "true" : "false"));
      CHECK(good.messages.empty());
      ParallelPlan expected = kUnsaid;
      flag.of(expected) = value;
      CHECK(good.plan == expected);
    }
    for (const auto& [value, got] : kOtherKinds) {
      const Read bad = read(member(flag.key, value));
      CHECK(bad.messages == Messages{refusal(flag.key, "true or false", got)});
      CHECK(bad.plan == kUnsaid);
    }
  }
}

namespace {

const std::string kCheckpointings =
    "full, selective, operations, or an array of core_attn, layernorm, mla_up_proj, mlp, moe, moe_act";

}  // namespace

TEST_CASE("Choices of a plan are read by name, and other names refused with those that there are") {
  CHECK(read(R"("ring_layout": "contiguous")").plan.ring_layout == RingLayout::contiguous);
  CHECK(read(R"("ring_layout": "zigzag")").plan.ring_layout == RingLayout::zigzag);
  CHECK(read(R"("checkpointing": "full")").plan.checkpointing == Checkpointing::full);
  CHECK(read(R"("checkpointing": "selective")").plan.checkpointing == Checkpointing::selective);
  CHECK(read(R"("offload": "none")").plan.offload == Offload{});
  CHECK(read(R"("offload": "optimizer")").plan.offload == Offload{.optimizer = true});
  CHECK(read(R"("precision": "fp8_block")").plan.precision == Precision::fp8_block);
  CHECK(read(R"("precision": "bf16")").plan.precision == Precision::bf16);
  const std::vector<std::pair<std::string, std::string>> names = {
      {"ring_layout", "contiguous, zigzag"},
      {"frozen_weights", "bf16, nf4, gptq, awq"},
      {"precision", "bf16, fp8_delayed, fp8_current, fp8_block, mxfp8, nvfp4"},
      {"checkpointing", kCheckpointings}};
  for (const auto& [key, known] : names) {
    for (const auto& [value, got] : kOtherKinds) {
      const Read bad = read(member(key, value));
      CHECK(bad.messages == Messages{refusal(key, "one of " + known, got)});
      CHECK(bad.plan == kUnsaid);
    }
  }
}

TEST_CASE("What is offloaded is a name, or an array of names") {
  CHECK(read(R"("offload": "weights")").plan.offload == Offload{.weights = true});
  CHECK(read(R"("offload": [])").plan.offload == Offload{});
  CHECK(read(R"("offload": ["optimizer"])").plan.offload == Offload{.optimizer = true});
  CHECK(read(R"("offload": ["activations", "gradients", "weights", "optimizer"])").plan.offload ==
        Offload{.optimizer = true, .weights = true, .gradients = true, .activations = true});
  const std::string expected =
      "one of none, optimizer, weights, gradients, activations, or an array of optimizer, weights, "
      "gradients, "
      "activations";
  std::vector<std::pair<std::string, std::string>> others = kOtherKinds;
  others.emplace_back(R"(["optimizer", "none"])", R"(["optimizer","none"] (array))");
  others.emplace_back(R"(["optimizer", 1])", R"(["optimizer",1] (array))");
  for (const auto& [value, got] : others) {
    const Read bad = read(member("offload", value));
    CHECK(bad.messages == Messages{refusal("offload", expected, got)});
    CHECK(bad.plan == kUnsaid);
  }
}

TEST_CASE("Target modules of LoRA are PEFT's names or its word for all") {
  CHECK(read(R"("lora_rank": 8, "lora_target_modules": "all-linear")").plan.lora_targets.is_all());
  const Read some = read(R"("lora_rank": 8, "lora_target_modules": ["v_proj", "q_proj"])");
  CHECK(some.messages.empty());
  CHECK(some.plan.lora_targets.names() == std::vector<std::string_view>{"q_proj", "v_proj"});
  for (const std::string value : {"[]", "[\"proj\"]", "[1]", "\"all\"", "3"}) {
    const Read bad = read(member("lora_target_modules", value));
    REQUIRE(bad.messages.size() == 1);
    CHECK_THAT(
        bad.messages[0],
        Catch::StartsWith("x.json: /parallelism/lora_target_modules: expected all-linear, or an array of "
                          "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, "));
    CHECK(bad.plan == kUnsaid);
  }
  CHECK(read(R"("frozen_weights": "nf4")").plan.frozen_weights == &kNf4);
}

TEST_CASE("Checkpointing is a word, or an array of modules") {
  CHECK(read(R"("checkpointing": "operations")").plan.checkpointing == Checkpointing::operations);
  const Read modules = read(R"("checkpointing": ["moe_act", "layernorm"])");
  CHECK(modules.messages.empty());
  CHECK(modules.plan.checkpointing == Checkpointing::modules);
  CHECK(modules.plan.recomputed_modules == LayerModules(LayerModule::layernorm, LayerModule::moe_act));
  for (const std::string value : {"[]", "[\"mpl\"]", "[1]", "[\"mlp\", null]"}) {
    const Read bad = read(member("checkpointing", value));
    REQUIRE(bad.messages.size() == 1);
    CHECK_THAT(bad.messages[0],
               Catch::StartsWith("x.json: /parallelism/checkpointing: expected one of " + kCheckpointings));
    CHECK(bad.plan == kUnsaid);
  }
}

TEST_CASE("Layers of chunks are an array of whole numbers of layers") {
  CHECK(read(R"("chunk_layers": [0, 4096, 3])").plan.chunk_layers == std::vector<int>{0, 4096, 3});
  CHECK(read(R"("chunk_layers": [])").plan.chunk_layers.empty());
  const std::string expected = "array of integers in 0..4096";
  for (const auto& [value, got] : kOtherKinds) {
    CHECK(read(member("chunk_layers", value)).messages == Messages{refusal("chunk_layers", expected, got)});
  }
  for (const char* value : {"[4097]", "[-1]", "[1, 2.5]", "[\"1\"]"}) {
    const Read bad = read(member("chunk_layers", value));
    REQUIRE(bad.messages.size() == 1);
    CHECK_THAT(bad.messages[0], Catch::StartsWith("x.json: /parallelism/chunk_layers: expected " + expected));
    CHECK(bad.plan == kUnsaid);
  }
}

TEST_CASE("What is a group's is no key of a plan, and a slip of the pen is put right") {
  for (const char* key : {"sp_degree", "cp_degree", "gc_layers", "n_gpus"}) {
    const Read bad = read(member(key, "2"));
    CAPTURE(key);
    REQUIRE(bad.messages.size() == 1);
    CHECK_THAT(bad.messages[0],
               Catch::StartsWith("x.json: /parallelism/" + std::string(key) + ": expected no such key") &&
                   Catch::EndsWith("got 2 (number)"));
    CHECK(bad.plan == kUnsaid);
  }
  CHECK(read(R"("tp_degre": 2)").messages ==
        Messages{refusal("tp_degre", "no such key (did you mean tp_degree?)", "2 (number)")});
}

TEST_CASE("All mistakes of the section come at once, and do not touch what is right in it") {
  const Read bad = read(R"("tp_degree": 0, "pp_degree": 4, "offload": "cpu", "fp32_gradients": 1, "x": 1)");
  CHECK(bad.messages.size() == 4);
  ParallelPlan expected = kUnsaid;
  expected.pp_degree = 4;
  CHECK(bad.plan == expected);
}

}  // namespace packsim
