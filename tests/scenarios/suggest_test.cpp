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
  CHECK(suggest("sp_deg", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");  // 3 edits
  CHECK(suggest("nds", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");  // 2 edits of 3 characters
  CHECK(suggest("gv", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");   // 1 edit of 2 characters
  CHECK(suggest("", kKnown) == "known: capacity_tokens, sp_degree, nodes, gc");
  CHECK(suggest("nodes", {}) == "known: none");
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
