#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "program.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace {

// A model of the most layers that one may have, so narrow that the number of checkpointed layers matters.
void write_deep_job(const TemporaryFolder& folder) {
  json model = json::parse(read_text(source_dir() + "/models/architectures/llama3.1-8b.json"));
  for (const auto& [key, value] : {std::pair{"layers", 4096},
                                   {"hidden_size", 128},
                                   {"heads", 4},
                                   {"kv_heads", 4},
                                   {"head_dim", 64},
                                   {"ffn_size", 128},
                                   {"published_parameters", 0}})
    model[key] = value;
  write_text(folder / "model.json", model.dump());
  write_text(folder / "deep.json", R"({
    "format": 1, "name": "deep", "model": "model.json", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "zero_stage": 3},
    "lengths": {"mix": [{"source": "qmsum.csv"}]}, "packing": {"over_long": "truncate"},
    "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4}]
  })");
}

}  // namespace

// Of 4 096 layers 2 843 have to be checkpointed. Finding them took 67 million layers for every pack length.
TEST_CASE("A model of 4 096 layers is compared within a minute of CPU time", "[slow]") {
  const TemporaryFolder folder;
  write_deep_job(folder);
  const ProgramRun run = run_shell(folder, "ulimit -t 60; packsim compare deep.json --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(json::parse(run.out)["runs"][0]["groups"][0]["gc_layers"] == 2843);
}
