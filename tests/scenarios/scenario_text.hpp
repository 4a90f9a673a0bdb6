#pragma once

#include <string>

namespace packsim {

/// A scenario with nothing but what is required, and a strategy. `more` are members in front of "strategies".
inline std::string scenario_text(const std::string& strategies, const std::string& more = "",
                                 const std::string& training = "") {
  return R"({
  "format": 1,
  "name": "test",
  "model": "llama3.1-8b",
  "cluster": {"type": "h100-sxm-80gb", "nodes": 4},
  "profile": "deepspeed-ulysses-h100",
  "training": {"tokens_per_iteration": 524288)" +
         training + R"(},
  "lengths": {"mix": [{"source": "lengths.csv"}]},
  )" + more +
         R"("strategies": [)" + strategies + "]\n}\n";
}

}  // namespace packsim
