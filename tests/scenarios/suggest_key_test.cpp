#include "scenarios/loader/schema/suggest_key.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/paths.hpp"

namespace packsim {
namespace {

std::string hint(const std::string& place, const std::string& key,
                 const std::vector<std::string>& known = {"tp_degree", "pp_degree"}) {
  return suggest_scenario_key(place, key, known, DataPaths{.root = packsim_test::source_dir()});
}

}  // namespace

TEST_CASE("a key of another place is suggested with its path, before a similar one of this place") {
  CHECK(hint("/parallelism", "sp_degree") == "did you mean strategies.0.sp_degree?");
  CHECK(hint("", "nodes") == "did you mean cluster.nodes?");
  CHECK(hint("", "zero_stage") ==
        "did you mean parallelism.zero_stage, strategies.0.zero_stage or training.zero_stage?");
  CHECK(hint("", "rounds") == "did you mean strategies.0.rounds?");  // an option of strategies
}

TEST_CASE("the path goes through the strategy that has the key") {
  CHECK(hint("/strategies/3/parallelism", "gc_layers") == "did you mean strategies.3.gc_layers?");
}

TEST_CASE("a key of this place that is nearly right comes before a part of keys elsewhere") {
  CHECK(hint("/parallelism", "tp_degre") == "did you mean tp_degree?");
}

TEST_CASE("a part of a key elsewhere is enough") {
  CHECK(hint("", "price") == "did you mean cluster.gpu_hour_price?");
  CHECK(hint("", "gpu_price") == "did you mean cluster.gpu_hour_price?");
}

TEST_CASE("a word that is in many keys elsewhere suggests none of them") {
  CHECK(hint("/variability/slow_ranks/4", "gpu", {"rank", "factor"}) == "known: rank, factor");
}

TEST_CASE("words of other tools say what to use") {
  CHECK(hint("", "deadline") == "that is an option of `packsim recommend`: --deadline");
  CHECK(hint("/training", "batch_size") == "did you mean training.tokens_per_iteration?");
  CHECK(hint("", "gpus") == "did you mean cluster.nodes or cluster.gpus_per_node?");
}

TEST_CASE("a key that the object refuses for its kind is not suggested in the same place") {
  CHECK(hint("/strategies/1", "rounds", {"seed"}) == "known: seed");
}

TEST_CASE("without the pages, the keys of the object are all there is") {
  CHECK(suggest_scenario_key("/parallelism", "sp_degree", std::vector<std::string>{"tp_degree"},
                             DataPaths{.root = "/no/such/folder"}) == "did you mean tp_degree?");
}

}  // namespace packsim
