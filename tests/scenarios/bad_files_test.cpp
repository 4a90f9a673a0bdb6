// Files that scenarios and commands name, each with one mistake, and the exact message of it. bad_scenarios/
// has those of scenarios themselves.

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "files/read_file.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/scenarios/merged_json.hpp"
#include "tests/scenarios/messages.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

struct BadFile {
  std::string text;     // of the file, or members that stand in place of a good file's
  std::string message;  // without the path in front
};

// The messages of reading a file of that name, without the path of it and without the folder of the data.
std::vector<std::string> read_as(const std::string& name, const std::string& text,
                                 const std::function<void(const std::string&)>& read) {
  const TempFolder folder;
  const std::string path = folder.write(name, text);
  std::vector<std::string> messages = messages_of([&] { read(path); });
  for (std::string& message : messages) {
    REQUIRE(message.starts_with(path + ":"));
    message = message.substr(path.size() + 1 + (message[path.size() + 1] == ' ' ? 1 : 0));
  }
  return messages;
}

void check_lengths(const std::string& name, const std::vector<BadFile>& rows) {
  for (const BadFile& row : rows) {
    CAPTURE(name, row.text);
    CHECK(read_as(name, row.text, [](const std::string& path) { read_lengths(path); }) ==
          std::vector<std::string>{row.message});
  }
}

void check_merged(const std::string& base, const std::vector<BadFile>& rows,
                  const std::function<void(const std::string&)>& read) {
  REQUIRE(read_as("x.json", base, read).empty());
  for (const BadFile& row : rows) {
    CAPTURE(row.text);
    CHECK(read_as("x.json", merged_json(base, row.text), read) == std::vector<std::string>{row.message});
  }
}

std::string shipped(const std::string& path) {
  return read_file(packsim_test::source_dir() + "/" + path);
}

// A NumPy file of one int32, 5.
std::string npy(const std::string& dict, std::string_view version = {"\1\0", 2}) {
  return "\x93NUMPY" + std::string(version) + static_cast<char>(dict.size()) + std::string(1, '\0') + dict +
         std::string("\5\0\0\0", 4);
}

const std::string kRange = "integer in 0..16777216";

}  // namespace

TEST_CASE("A CSV file with one mistake is refused with its exact message") {
  check_lengths("x.csv",
                {{"tokens\n-1\n", "line 2: expected " + kRange + ", got \"-1\""},
                 {"tokens\n+1\n", "line 2: expected " + kRange + ", got \"+1\""},
                 {"tokens\n1.0\n", "line 2: expected " + kRange + ", got \"1.0\""},
                 {"tokens\n1e3\n", "line 2: expected " + kRange + ", got \"1e3\""},
                 {"tokens\n\n5\n", "line 2: expected " + kRange + ", got \"\""},
                 {"tokens\n16777217\n", "line 2: expected " + kRange + ", got \"16777217\""},
                 {"tokens\n5,6\n", "line 2: expected 1 field, got 2"},
                 {"a,tokens\n5\n", "line 2: expected 2 fields, got 1"},
                 {"tokens,tokens\n5,6\n",
                  "line 1: expected one column named tokens, or one named prompt and one named response, got "
                  "\"tokens,tokens\""},
                 {"prompt\n5\n",
                  "line 1: expected one column named tokens, or one named prompt and one named response, got "
                  "\"prompt\""},
                 {"prompt,response\n16777216,1\n",
                  "line 2: expected prompt + response an " + kRange + ", got 16777217"},
                 {"tokens\n\"5\n6\n", "line 2: expected a closing quote, got the end of the file"},
                 {"tokens\n\"5\"6\n",
                  "line 2: expected a comma or the end of the line behind a closing quote, got \"6\""}});
}

TEST_CASE("A JSONL file with one mistake is refused with its exact message") {
  check_lengths(
      "x.jsonl",
      {{"5\n-1\n", "line 2: expected " + kRange + " or an object, got -1 (number)"},
       {"5\n1.5\n", "line 2: expected " + kRange + " or an object, got 1.5 (number)"},
       {"5\n\"5\"\n", "line 2: expected " + kRange + " or an object, got \"5\" (string)"},
       {"5\nnull\n", "line 2: expected " + kRange + " or an object, got null"},
       {"5\n\n6\n", "line 2: expected valid JSON, got an empty line"},
       {"5\n{\"token\": 5}\n",
        "line 2: expected tokens, length, input_ids, or prompt and response, got {\"token\":5} (object)"},
       {"5\n{\"prompt\": 5}\n",
        "line 2: expected tokens, length, input_ids, or prompt and response, got {\"prompt\":5} (object)"},
       {"5\n{\"tokens\": \"5\"}\n", "line 2: /tokens: expected " + kRange + ", got \"5\" (string)"},
       {"5\n{\"prompt\": 5, \"response\": -1}\n",
        "line 2: /response: expected " + kRange + ", got -1 (number)"},
       {"5\n{\"tokens\": 5, \"tokens\": 6}\n", "line 2: /tokens: expected one value, got a second one"},
       {"5\n6 7\n", "line 2, column 3: expected valid JSON, got number literal while parsing value"},
       {"5\n" + std::string(100, '[') + "\n", "line 2: expected at most 64 levels of nesting, got more"}});
}

TEST_CASE("A NumPy file with one mistake is refused with its exact message") {
  const std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }";
  const TempFolder folder;
  REQUIRE(read_lengths(folder.write("good.npy", npy(good))) == std::vector<std::int32_t>{5});
  const std::string dict = "header: expected a dict of descr, fortran_order and shape, got ";
  check_lengths("x.npy",
                {{npy("{'descr': '<i4', 'shape': (1,), }"), dict + "\"{'descr': '<i4', 'shape': (1,), }\""},
                 {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'shape': (2,), }"),
                  dict + "\"{'descr': '<i4', 'fortran_order': False, 'shape': (1,), ..."},
                 {npy("x'descr': '<i4', 'fortran_order': False, 'shape': (1,), x"),
                  dict + "\"x'descr': '<i4', 'fortran_order': False, 'shape': (1,), x\""},
                 {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (), }"),
                  "header: expected a shape of one dimension, got \"()\""},
                 {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }"),
                  "header: expected a shape of one dimension, got \"(-1,)\""},
                 {npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }"),
                  "header: expected elements of type <i4, <i8, <u2, <u4 or <u8, got \"|b1\""},
                 {npy("{'descr': <i'4', 'fortran_order': False, 'shape': (1,), }"),
                  "header: expected elements of type <i4, <i8, <u2, <u4 or <u8, got \"<i'4'\""},
                 {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (18446744073709551615,), }"),
                  "data: expected 18446744073709551615 elements of 4 bytes, got 4 bytes"},
                 {npy(good) + "\1", "data: expected 1 elements of 4 bytes, got 5 bytes"},
                 {npy(good, {"\0\0", 2}), "header: expected version 1, 2 or 3, got 0"}});
}

TEST_CASE("A histogram with one mistake is refused with its exact message") {
  const auto file = [](const std::string& bins) { return R"({"format": 1, "histogram": )" + bins + "}"; };
  check_lengths(
      "x.json",
      {{file("5"), "/histogram: expected array or object of sample counts, got 5 (number)"},
       {file("{}"), "whole file: expected at least one length, got none"},
       {file(R"({"5 ": 1})"), "/histogram/5 : expected a length in 0..16777216 as key, got \"5 \""},
       {file(R"({"5": null})"), "/histogram/5: expected integer in 0..100000000, got null"},
       {file(R"({"5": 1e3})"), "/histogram/5: expected integer in 0..100000000, got 1000.0 (number)"},
       {file(R"({"5": 1, "5": 2})"), "/histogram/5: expected one value, got a second one"},
       {R"({"format": 2, "histogram": [1]})", "/format: expected 1, got 2 (number)"}});
}

TEST_CASE("A model with one mistake is refused with its exact message") {
  check_merged(
      shipped("models/architectures/llama3.1-8b.json"),
      {{R"("layers": 4097, )", "/layers: expected integer in 1..4096, got 4097 (number)"},
       {R"("heads": 1048576, "kv_heads": 1048576, )",
        "/heads: expected heads that are at most 16777216 wide together, got 1048576 of 128"},
       {R"("layers": 4096, "hidden_size": 16777216, "ffn_size": 16777216, )",
        "/hidden_size: expected at most 1000000000000000 parameters in all, got 3.46e+18"},
       {R"("hidden_size": 16777216, "layers": 1, "experts": {"routed": 512, "per_token": 512, "ffn_size": 1}, )",
        "/hidden_size: expected at most 4294967296 for all experts of a token together, got 16777216 for "
        "each "
        "of 512"},
       {R"("experts": {"routed": 4, "per_token": 5, "ffn_size": 8}, )",
        "/experts/per_token: expected at most the 4 routed experts, got 5 (number)"},
       {R"("sliding_window": {"tokens": 0, "layers": 4}, )",
        "/sliding_window/tokens: expected integer in 1..16777216, got 0 (number)"},
       {R"("sliding_window": {"tokens": 8, "layers": 33}, )",
        "/sliding_window/layers: expected integer in 1..32, got 33 (number)"},
       {R"("latent_attention": {"kv_lora_rank": 4, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 8}, )",
        "/kv_heads: expected the 32 heads, as latent attention has keys for each, got 8 (number)"}},
      [](const std::string& path) { load_model(path, packsim_test::kData); });
}

TEST_CASE("A Hugging Face config with one mistake is refused with its exact message") {
  check_merged(
      shipped("tests/scenarios/hf_configs/llama-2-7b.json"),
      {{R"("num_hidden_layers": 0, )", "/num_hidden_layers: expected integer in 1..4096, got 0 (number)"},
       {R"("num_key_value_heads": 5, )",
        "/num_key_value_heads: expected a divisor of the 32 heads, got 5 (number)"},
       {R"("num_attention_heads": 3, )",
        "/hidden_size: expected a multiple of the 3 heads, or a head_dim, got 4096 (number)"},
       {R"("hidden_act": "gelu", )", "/hidden_act: expected one of silu, swish, got \"gelu\" (string)"},
       {R"("mlp_bias": true, )",
        "/mlp_bias: expected none: biases of the MLP are not modelled, got true (boolean)"},
       {R"("num_experts": 8, )",
        "/num_experts: expected none: llama has no experts of that name, got 8 (number)"},
       {R"("sliding_window": 128, "use_sliding_window": true, )",
        "/sliding_window: expected none: llama has no sliding windows, got 128 (number)"},
       {R"("model_type": "gemma2", )",
        "/model_type: expected another type, as its scores are capped, got \"gemma2\" (string)"},
       {R"("text_config": {}, )",
        "/text_config: expected none: of models with several parts, give the text part alone, got a nested "
        "configuration"},
       {R"("vocab_size": "32000", )", "/vocab_size: expected integer in 1..16777216, got \"32000\" (string)"},
       {R"("head_dim": 16777216, )",
        "/num_attention_heads: expected heads that are at most 16777216 wide together, got 32 of 16777216"}},
      [](const std::string& path) { load_model(path, packsim_test::kData); });
}

TEST_CASE("A cluster with one mistake is refused with its exact message") {
  check_merged(
      shipped("models/clusters/h100-sxm-80gb.json"),
      {{R"("gpus_per_node": 1025, )", "/gpus_per_node: expected integer in 1..1024, got 1025 (number)"},
       {R"("host_memory_bytes": 0, )", "/host_memory_bytes: expected number > 0, got 0 (number)"},
       {R"("network": {"source": "s", "nics_per_node": 3, "nic_bytes_per_s": 1}, )",
        "/network/nics_per_node: expected a divisor or a multiple of the 8 gpus_per_node, got 3 (number)"},
       {R"("network": {"source": "s", "nics_per_node": 8, "nic_bytes_per_s": 1, "oversubscription": 0.5}, )",
        "/network/oversubscription: expected number >= 1, got 0.5 (number)"},
       {R"("network": [], )", "/network: expected object, got [] (array)"}},
      [](const std::string& path) { load_cluster_type(path, packsim_test::kData); });
}

TEST_CASE("A network with one mistake is refused with its exact message") {
  const std::string base =
      merged_json(shipped("models/clusters/h100-sxm-80gb.json"),
                  "\"network\": " + shipped("models/networks/rail-optimised.json") + ", ");
  const auto network = [](const std::string& vertices, const std::string& links) {
    return R"("network": {"format": 1, "name": "n", "source": "s", "vertices": [)" + vertices +
           R"(], "links": [)" + links + "]}, ";
  };
  const std::string gpu = R"({"name": "gpu", "kind": "gpu"})";
  const std::string nvs = R"({"name": "nvs", "kind": "nvswitch"})";
  const std::string link = R"({"from": "gpu", "to": "nvs", "bytes_per_s": "nvlink"})";
  check_merged(base,
               {{network(R"({"name": "gpu", "kind": "gpu", "count": 4}, )" + nvs, link),
                 "/network/vertices/0/count: expected 8, the GPUs of a node of the cluster, got 4"},
                {network(gpu + ", " + nvs, R"({"from": "gpu", "to": "nvs", "bytes_per_s": 0})"),
                 "/network/links/0/bytes_per_s: expected a number over 0, nvlink or pcie, got 0 (number)"},
                {network(gpu + ", " + nvs, R"({"from": "gpu", "to": "nvx", "bytes_per_s": 1})"),
                 "/network/links/0/to: expected one of gpu, nvs (did you mean nvs?), got \"nvx\" (string)"},
                {network(gpu + ", " + nvs, link + ", " + link),
                 "/network/links/1/to: expected each two groups in one rule, got gpu and nvs once more"},
                {network(nvs + R"(, {"name": "nv2", "kind": "nvswitch"})", R"({"from": "nvs", "to": "nv2"})"),
                 "/network/vertices/0/kind: expected a group of GPUs among the vertices, got none"},
                {network(gpu + ", " + nvs + R"(, {"name": "x", "kind": "nic"})", link),
                 "/network/vertices/2/name: expected vertices at an end of a link, got x without links"}},
               [](const std::string& path) { load_cluster_type(path, packsim_test::kData); });
}

TEST_CASE("A framework profile with one mistake is refused with its exact message") {
  check_merged(
      shipped("calibration/profiles/fms-fsdp-a100.json"),
      {{R"("log_covariance": [1], )",
        "/log_covariance: expected 36 numbers, a symmetric 6 x 6 matrix with a diagonal of at least 0, got "
        "[1] "
        "(array)"},
       {R"("fitted_on": {"models": ["a"], "n_gpus": [8, 4], "traits": []}, )",
        "/fitted_on/n_gpus: expected [fewest, most] GPUs of the steps, got [8,4] (array)"},
       {R"("fitted_on": {"models": [1], "n_gpus": [4, 8], "traits": []}, )",
        "/fitted_on/models: expected array of texts, got [1] (array)"},
       {R"("left_out_groups": 0, )", "/left_out_groups: expected integer in 1..1000000, got 0 (number)"},
       {R"("left_out_error": -1, )", "/left_out_error: expected number >= 0, got -1 (number)"},
       {R"("hardware": "", )", "/hardware: expected string of at least one character, got \"\" (string)"}},
      [](const std::string& path) { load_profile(path, packsim_test::kData); });
}

TEST_CASE("A hardware profile with one mistake is refused with its exact message") {
  check_merged(shipped("calibration/profiles/hardware/h200-network-public.json"),
               {{R"("unused": {}, )", "/unused: expected array of objects, got {} (object)"},
                {R"("number": ["value"], )",
                 "/number: expected [\"value\",\"standard_error\"], got [\"value\"] (array)"},
                {R"("curves": 5, )", "/curves: expected array of objects, got 5 (number)"},
                {R"("name": 5, )", "/name: expected string of at least one character, got 5 (number)"}},
               [](const std::string& path) { read_hardware_profile(path); });
}

TEST_CASE("A measurement file with one mistake is refused with its exact message") {
  const std::string first = R"({"packsim_measurements": 1, "source": {"gpu": "H100"}})";
  const std::string row = R"({"case": "launch_gap", "library": "cuda", "samples_s": )";
  const std::vector<BadFile> rows = {
      {R"({"packsim_measurements": 1})",
       "1: /source: expected object, as this is the first line, got nothing"},
      {R"({"packsim_measurements": 1, "source": {}})",
       "1: /source/gpu: expected string of at least one character, got nothing"},
      {first + "\n" + row + "[1e-13]}",
       "2: /samples_s: expected numbers from 1e-12 to 1000000, in seconds, got 1e-13 (number)"},
      {first + "\n" + row + "[2e6]}",
       "2: /samples_s: expected numbers from 1e-12 to 1000000, in seconds, got 2000000.0 (number)"},
      {first + "\n" + row + R"([1], "peak_memory_bytes": 0})",
       "2: /peak_memory_bytes: expected number > 0, got 0 (number)"},
      {first + "\n" + row + R"([1], "details": 5})", "2: /details: expected object, got 5 (number)"},
      {first + "\n" + R"({"skipped": "launch_gap"})",
       "2: /reason: expected string of at least one character, got nothing"},
      {first + "\n", "line 2: expected valid JSON, got an empty line"},
  };
  for (const BadFile& bad : rows) {
    CAPTURE(bad.text);
    CHECK(read_as("x.jsonl", bad.text + "\n", [](const std::string& path) { read_measurements(path); }) ==
          std::vector<std::string>{bad.message});
  }
}

}  // namespace packsim
