#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/messages.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;
const std::string kPlace = "p.json: ";

nlohmann::json example() {
  nlohmann::json covariance = nlohmann::json::array();
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 6; ++column) covariance.push_back(row == column ? 0.01 : -0.001);
  return {
      {"format", 3},
      {"name", "p"},
      {"gpu", "GPU"},
      {"hardware", "h100-sxm-public"},
      {"fitted_on", {{"models", {"llama3.1-8b"}}, {"n_gpus", {8, 16}}, {"traits", {"zero_3", "ulysses"}}}},
      {"source", "made up"},
      {"plan",
       {{"fp32_gradients", true},
        {"overlaps_states", false},
        {"recompute_stops_early", true},
        {"bucket_elements", 1000}}},
      {"fitted",
       {{"linear_factor", 1.1},
        {"attention_factor", 1.2},
        {"exchange_in_node_factor", 1.3},
        {"exchange_between_factor", 1.4},
        {"micro_batch_s", 0.5},
        {"step_s", 0.6},
        {"reserved_bytes", 7},
        {"logits_bytes_per_vocab_entry", 8}}},
      {"standard_error", {{"linear_factor", 0.01}, {"reserved_bytes", 1}}},
      {"log_covariance", covariance},
      {"left_out_error", 0.03},
      {"left_out_groups", 4},
      {"provenance", {{"anything", "goes"}}}};
}

FrameworkProfile read(const nlohmann::json& json) {
  const TempFolder folder;
  return load_profile(folder.write("p.json", json.dump()), kData);
}

std::vector<std::string> mistakes(const nlohmann::json& json) {
  const TempFolder folder;
  const std::string path = folder.write("p.json", json.dump());
  std::vector<std::string> messages = messages_of([&] { load_profile(path, kData); });
  for (std::string& message : messages) {
    if (message.starts_with(path)) message = message.substr(path.size() + 2);
  }
  return messages;
}

}  // namespace

TEST_CASE("A framework profile reads as it is written") {
  const FrameworkProfile profile = read(example());
  CHECK(profile.name == "p");
  CHECK(profile.gpu == "GPU");
  CHECK(profile.hardware == "h100-sxm-public");
  CHECK(profile.fitted_on.models == std::vector<std::string>{"llama3.1-8b"});
  CHECK(profile.source == "made up");
  CHECK(profile.fitted_on.least_gpus == 8);
  CHECK(profile.fitted_on.most_gpus == 16);
  CHECK(profile.fitted_on.traits == std::vector<PlanTrait>{PlanTrait::ulysses, PlanTrait::zero_3});
  CHECK(profile.execution.fp32_gradients);
  CHECK_FALSE(profile.execution.overlaps_states);
  CHECK(profile.execution.recompute_stops_early);
  CHECK(profile.execution.bucket_elements == 1000);
  CHECK(profile.factors.linear_factor == 1.1);
  CHECK(profile.factors.attention_factor == 1.2);
  CHECK(profile.factors.exchange_in_node_factor == 1.3);
  CHECK(profile.factors.exchange_between_factor == 1.4);
  CHECK(profile.factors.micro_batch_s == 0.5);
  CHECK(profile.factors.step_s == 0.6);
  CHECK(profile.factors.reserved_bytes == 7);
  CHECK(profile.factors.logits_bytes_per_vocab_entry == 8);
  REQUIRE(profile.log_covariance.size() == 36);
  CHECK(profile.log_covariance[7] == 0.01);
  CHECK(profile.log_covariance[6] == -0.001);
  CHECK(profile.left_out_error == 0.03);
  CHECK(profile.left_out_groups == 4);
}

TEST_CASE("A framework launches kernels as PyTorch does, unless its profile says otherwise") {
  CHECK(read(example()).execution.launch_s == kTorchLaunch_s);
  nlohmann::json json = example();
  json["plan"]["launch_s"] = 0;
  CHECK(read(json).execution.launch_s == 0);
  json["plan"]["launch_s"] = -1;
  CHECK(mistakes(json) ==
        std::vector<std::string>{"/plan/launch_s: expected number in 0..1, got -1 (number)"});
}

TEST_CASE("How well the numbers are known need not be told") {
  nlohmann::json json = example();
  for (const char* key : {"standard_error", "log_covariance", "left_out_error", "left_out_groups"})
    json.erase(key);
  const FrameworkProfile profile = read(json);
  CHECK(profile.log_covariance.empty());
  CHECK_FALSE(profile.left_out_error.has_value());
  CHECK(profile.left_out_groups == 0);
}

TEST_CASE("An older profile is refused in one line that says how to make a new one") {
  nlohmann::json json = {{"format", 1},
                         {"name", "old"},
                         {"fitted", {{"linear_flop_per_s", 4e14}, {"iteration_s", 0.1}}},
                         {"provenance", nlohmann::json::object()}};
  CHECK(mistakes(json) == std::vector<std::string>{
                              "/format: expected 3: factors on a hardware profile, and what they were "
                              "fitted on; make a new one of the same measured steps with "
                              "packsim calibrate fit STEPS --on HARDWARE --framework FILE, got 1 (number)"});
  json["format"] = 2;
  CHECK(mistakes(json).size() == 1);
  CHECK(mistakes({{"format", 4}}).front() == "/format: expected 3, got 4 (number)");
}

TEST_CASE("What a profile was fitted on is checked") {
  nlohmann::json json = example();
  json["fitted_on"] = {{"models", "llama"}, {"n_gpus", {16, 8}}, {"traits", {"tensor", "tensr"}}};
  CHECK(mistakes(json) ==
        std::vector<std::string>{
            "/fitted_on/models: expected array of texts, got \"llama\" (string)",
            "/fitted_on/n_gpus: expected [fewest, most] GPUs of the steps, got [16,8] (array)",
            "/fitted_on/traits: expected some of tensor, ulysses, ring, gathered_keys, pipeline, zero_2, zero_3, "
            "hybrid_sharding, checkpointing, selective_checkpointing, operation_checkpointing, "
            "module_checkpointing, experts, lora, offload, fp8, qlora, tiles, got \"tensr\""});
}

TEST_CASE("Every mistake of a framework profile is reported") {
  nlohmann::json json = example();
  json.erase("hardware");
  json["plan"].erase("overlaps_states");
  json["plan"]["bucket_elements"] = 0;
  json["fitted"]["attention_factor"] = 0;
  json["fitted"]["iteration_s"] = 0.1;
  json["standard_error"]["step_s"] = -1;
  json["standard_error"]["steps"] = 1;
  json["left_out_error"] = "3 %";
  json["left_out_groups"] = 0;
  CHECK(mistakes(json) ==
        std::vector<std::string>{
            "/hardware: expected string of at least one character, got nothing",
            "/plan/overlaps_states: expected true or false, got nothing",
            "/plan/bucket_elements: expected integer in 1..1000000000000, got 0 (number)",
            "/fitted/attention_factor: expected number > 0, got 0 (number)",
            "/fitted/iteration_s: expected no such key (known: linear_factor, attention_factor, "
            "exchange_in_node_factor, exchange_between_factor, micro_batch_s, step_s, reserved_bytes, "
            "logits_bytes_per_vocab_entry), got 0.1 (number)",
            "/standard_error/step_s: expected number >= 0, got -1 (number)",
            "/standard_error/steps: expected no such key (did you mean step_s?), got 1 (number)",
            "/left_out_error: expected number >= 0, got \"3 %\" (string)",
            "/left_out_groups: expected integer in 1..1000000, got 0 (number)"});
}

TEST_CASE("A covariance is a symmetric square") {
  const std::string expected =
      "/log_covariance: expected 36 numbers, a symmetric 6 x 6 matrix with a diagonal of at least 0, got ";
  const auto refused = [&](const nlohmann::json& covariance) {
    nlohmann::json json = example();
    json["log_covariance"] = covariance;
    const std::vector<std::string> messages = mistakes(json);
    return messages.size() == 1 && messages[0].starts_with(expected);
  };
  const nlohmann::json good = example()["log_covariance"];
  CHECK_FALSE(refused(good));
  nlohmann::json bad = good;
  bad.erase(0);
  CHECK(refused(bad));
  bad = good;
  bad[1] = 0.5;  // and not bad[6]
  CHECK(refused(bad));
  bad = good;
  bad[14] = -0.01;
  CHECK(refused(bad));
  bad = good;
  bad[3] = "0";
  CHECK(refused(bad));
  CHECK(refused("none"));
}
