#include "scenarios/loader/json/suggest.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace packsim {
namespace {

const std::vector<std::string> kKnown = {"capacity_tokens", "sp_degree", "nodes", "gc"};

}  // namespace

TEST_CASE("a key within two edits and a third of its length is suggested") {
  CHECK(suggest("capcity_tokens", kKnown) == "did you mean capacity_tokens?");
  CHECK(suggest("sp_degre", kKnown) == "did you mean sp_degree?");
  CHECK(suggest("sd_degee", kKnown) == "did you mean sp_degree?");  // one replaced, one missing
  CHECK(suggest("ndoes", kKnown) == "did you mean nodes?");         // a swap is one edit
}

TEST_CASE("a key of twelve characters or more is suggested up to three edits away") {
  const std::vector<std::string> options = {"--strategy", "--set"};
  CHECK(suggest("--strategies", options) == "did you mean --strategy?");  // y is i, and e and s are too many
  CHECK(suggest("--strtgies", options) == "known: --strategy, --set");    // 10 characters: 2 edits at most
}

TEST_CASE("a key that resembles nothing gets the list of what is known") {
  CHECK(suggest("xyz_deg", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");
  CHECK(suggest("nds", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");  // 2 edits of 3 characters
  CHECK(suggest("gv", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");   // 1 edit of 2 characters
  CHECK(suggest("", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");
  CHECK(suggest("nodes", {}) == "known: none");
}

const std::vector<std::string> kClusters = {"a100-sxm-80gb", "h100-nvl-94gb",     "h100-pcie-80gb",
                                            "h100-sxm-80gb", "h100-sxm-80gb-efa", "h200-sxm-141gb"};

TEST_CASE("case and separators of a name count as no edit") {
  CHECK(suggest("H100_SXM 80GB", kClusters) == "did you mean h100-sxm-80gb?");
  CHECK(suggest("H100SXM80GB", kClusters) == "did you mean h100-sxm-80gb?");
  CHECK(suggest("gpu_day", std::vector<std::string>{"GPU-days", "gpu_days"}) == "did you mean gpu_days?");
  // Two edits from cost_high; without the separator it would be two from "cost" as well.
  CHECK(suggest("cost_hi", std::vector<std::string>{"cost", "cost_high"}) == "did you mean cost_high?");
}

TEST_CASE("a part of names suggests up to three of them, the shortest first") {
  CHECK(suggest("H100-SXM", kClusters) == "did you mean h100-sxm-80gb or h100-sxm-80gb-efa?");
  CHECK(suggest("a100_80gb", kClusters) == "did you mean a100-sxm-80gb?");
  // Four begin so; of 13, 13, 14 and 17 characters. The a100, one edit away, is no h100.
  CHECK(suggest("H100", kClusters) == "did you mean h100-nvl-94gb, h100-sxm-80gb or h100-pcie-80gb?");
  CHECK(suggest("H200x", kClusters) == "did you mean h200-sxm-141gb?");  // no part, but one edit from one
  CHECK(suggest("H300", kClusters).starts_with("known: "));              // another number is another thing
  CHECK(suggest("sp_deg", kKnown) == "did you mean sp_degree?");
}

TEST_CASE("a name that stands in a longer one is suggested") {
  const std::vector<std::string> models = {"qwen2.5-7b", "qwen2.5-72b", "phi-4"};
  CHECK(suggest("Qwen2.5-7B-Instruct", models) == "did you mean qwen2.5-7b?");
  CHECK(suggest("mini_llama", std::vector<std::string>{"llama"}) == "known: llama");  // of one word
  CHECK(suggest("Qwen2.5-Coder", models) == "known: qwen2.5-7b, qwen2.5-72b, phi-4");
}

TEST_CASE("a long list of names is cut where a command lists all") {
  std::vector<std::string> names;
  for (const char c : std::string("abcdefghijklm")) names.push_back("name-" + std::string(3, c));
  CHECK(suggest("xxxx-ccc", names, "packsim list names") ==
        "known: name-aaa, name-bbb, name-ccc, name-ddd, name-eee and 8 more, see packsim list names");
  CHECK(suggest("xxxx-zzz", names).ends_with("name-lll, name-mmm"));
}

TEST_CASE("what was expected lists all names and the one that was probably meant") {
  CHECK(expected_one_of("ndoes", kKnown) ==
        "one of capacity_tokens, sp_degree, nodes, gc (did you mean nodes?)");
  CHECK(expected_one_of("gpu", kKnown) == "one of capacity_tokens, sp_degree, nodes, gc");
}

TEST_CASE("of two near keys the nearer one is suggested") {
  CHECK(suggest("weight", std::vector<std::string>{"height_s", "weights"}) == "did you mean weights?");
}

TEST_CASE("a key of a million characters costs nothing") {
  CHECK(suggest(std::string(1'000'000, 'x'), kKnown).starts_with("known: "));
}

}  // namespace packsim
