#include <catch2/catch.hpp>
#include <string>

#include "program.hpp"

using namespace packsim_test;

namespace {

// One pack over all 32 GPUs of four nodes, whose NICs have this rate.
void write_job(const TemporaryFolder& folder, const std::string& nic_bytes_per_s) {
  write_text(folder / "cluster.json", R"({
    "format": 1, "name": "c", "source": "s", "gpu": "h100-sxm-80gb", "gpus_per_node": 8,
    "network": {"source": "s", "nics_per_node": 8, "nic_bytes_per_s": )" +
                                          nic_bytes_per_s + "}}");
  write_text(folder / "few.csv", "tokens\n5\n");
  write_text(folder / "job.json", R"({
    "format": 1, "name": "few", "model": "llama3.1-8b", "cluster": {"type": "cluster.json", "nodes": 4},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 1048576, "zero_stage": 3},
    "lengths": {"mix": [{"source": "few.csv"}]},
    "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 32}]
  })");
}

}  // namespace

TEST_CASE("A rate so low that a step's time leaves 64 bits is a mistake, not a fast step") {
  const TemporaryFolder folder;
  write_job(folder, "1e-9");
  const ProgramRun run = run_shell(folder, "packsim compare job.json --quiet");
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("expected parts of a step of at most 10000000 s, got one of ") != std::string::npos);
  CHECK(run.err.find("a bug in packsim") == std::string::npos);
}
