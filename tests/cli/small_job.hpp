#pragma once

#include <string>

namespace packsim_test {

/// A scenario whose comparison takes a fraction of a second: 100 samples on 8 GPUs, with two strategies that
/// fit in memory.
inline std::string small_job(int seed = 1) {
  return R"({
    "format": 1, "name": "small", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "epochs": 1, "zero_stage": 3},
    "lengths": {"mix": [{"source": "qmsum.csv", "count": 100}]},
    "packing": {"over_long": "truncate"}, "strategies": [
    {"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4},
    {"strategy": "ffd", "capacity_tokens": 32768, "sp_degree": 8}], "seed": )" +
         std::to_string(seed) + "}";
}

}  // namespace packsim_test
