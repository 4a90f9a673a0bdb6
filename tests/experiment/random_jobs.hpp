#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "packing/strategy.hpp"

namespace packsim_test {

// Jobs of every kind that the search for a plan has to cope with, each by its number.
class RandomJobs {
 public:
  explicit RandomJobs(std::uint32_t number) : generator_(number) {}

  // The scenario's text. lengths_csv: the name of the file with the lengths of next_lengths().
  std::string scenario(const std::string& lengths_csv) {
    struct Model {
      const char* name;
      const char* parallelism;
      bool has_pipeline;
      int fewest_nodes;
    };
    static constexpr std::array<Model, 9> kModels = {{
        {"llama3.1-8b", "", false, 1},
        {"llama3.1-8b", R"("lora_rank": 16)", false, 1},
        {"llama3.1-8b", R"("tp_degree": 2)", false, 1},
        {"llama3.1-8b", R"("pp_degree": 2)", true, 1},
        {"qwen2.5-7b", "", false, 1},
        {"qwen2.5-14b", "", false, 1},
        {"qwen2.5-14b", R"("tp_degree": 2, "pp_degree": 2)", true, 2},
        {"qwen3-30b-a3b", R"("ep_degree": 8)", false, 2},
        {"llama3.1-70b", R"("tp_degree": 8, "pp_degree": 2)", true, 4},
    }};
    static constexpr std::array<const char*, 3> kProfiles = {"deepspeed-ulysses-h100",
                                                             "llm-foundry-fsdp-h100", "nemo-megatron-h100"};
    const Model& model = kModels[pick(kModels.size())];
    int nodes = 1 << pick(4);
    nodes = std::max(nodes, model.fewest_nodes);
    const int zero_stage = model.has_pipeline ? 1 : 1 + static_cast<int>(pick(3));
    const std::int64_t tokens = std::int64_t{65536} << pick(4);
    std::string strategies;
    for (const packsim::Strategy& strategy : packsim::strategies()) {
      if (strategy.cuts_samples) continue;
      strategies += std::string(strategies.empty() ? "" : ", ") + R"({"strategy": ")" +
                    std::string(strategy.name) + R"("})";
    }
    return R"({"format": 1, "name": "job", "model": ")" + std::string(model.name) +
           R"(", "cluster": {"type": "h100-sxm-80gb", "nodes": )" + std::to_string(nodes) +
           R"(}, "profile": ")" + kProfiles[pick(kProfiles.size())] +
           R"(", "training": {"tokens_per_iteration": )" + std::to_string(tokens) +
           R"(, "epochs": 1, "zero_stage": )" + std::to_string(zero_stage) + R"(}, "parallelism": {)" +
           model.parallelism + R"(}, "lengths": {"mix": [{"source": ")" + lengths_csv +
           R"("}]}, "packing": {"plan": "auto", "zero_stages": [)" + std::to_string(zero_stage) +
           R"(], "last_iteration": "shorten"}, "baseline": "isf", "strategies": [)" + strategies + "]}";
  }

  // Up to 400 samples, of one of five shapes of length.
  std::string lengths_csv() {
    const std::size_t n = 1 + pick(400);
    const std::size_t shape = pick(5);
    const double longest = 1024 * std::pow(64.0, uniform());
    std::string text = "tokens\n";
    for (std::size_t i = 0; i < n; ++i) text += std::to_string(length(shape, longest)) + "\n";
    return text;
  }

 private:
  std::size_t pick(std::size_t n) { return generator_() % n; }
  double uniform() { return static_cast<double>(generator_()) / 4294967296.0; }

  std::int64_t length(std::size_t shape, double longest) {
    const double u = uniform();
    double tokens = longest;                                          // all equal
    if (shape == 1) tokens = 1 + u * longest;                         // even
    if (shape == 2) tokens = longest * std::pow(u, 6);                // many short ones, few long
    if (shape == 3) tokens = u < 0.9 ? longest / 50 : longest;        // two lengths
    if (shape == 4) tokens = longest * std::exp(-3 * uniform() * u);  // near the longest
    return std::max<std::int64_t>(1, std::llround(tokens));
  }

  std::mt19937 generator_;
};

// A job of random lengths whose scenario says no degree of model parallelism.
class OpenJob {
 public:
  explicit OpenJob(std::uint32_t number) : number_(number) {
    static constexpr std::array<const char*, 4> kModels = {"llama3.1-8b", "qwen2.5-7b", "qwen2.5-14b",
                                                           "qwen3-30b-a3b"};
    static constexpr std::array<const char*, 6> kStrategies = {"isf",  "hbp", "planner",
                                                               "none", "wlb", "flexsp"};
    static constexpr std::array<const char*, 3> kClusters = {"h100-sxm-80gb", "h100-sxm-80gb",
                                                             "h200-nvl-141gb"};
    std::mt19937 generator(number);
    const auto pick = [&](const auto& all) { return all[generator() % all.size()]; };
    model_ = pick(kModels);
    strategy_ = pick(kStrategies);
    cluster_ = pick(kClusters);
    nodes_ = 1 + static_cast<int>(generator() % 4);
    tokens_ = std::int64_t{65536} << (generator() % 3);
  }

  std::string lengths_csv() const { return RandomJobs(number_).lengths_csv(); }
  // parallelism, cluster, strategy: more keys of these parts of the scenario; those of the last two begin
  // with a comma.
  std::string scenario(const std::string& parallelism = "", const std::string& cluster = "",
                       const std::string& strategy = "") const {
    return R"({"format": 1, "name": "job", "model": ")" + model_ + R"(", "cluster": {"type": ")" + cluster_ +
           R"(", "nodes": )" + std::to_string(nodes_) + cluster +
           R"(}, "profile": "any-framework-h100", "training": {"tokens_per_iteration": )" +
           std::to_string(tokens_) + R"(, "epochs": 1, "zero_stage": 1}, "parallelism": {)" + parallelism +
           R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]}, "packing": {"plan": "auto", )" +
           R"("last_iteration": "shorten"}, "baseline": ")" + strategy_ +
           R"(", "strategies": [{"strategy": ")" + strategy_ + "\"" + strategy + "}]}";
  }

 private:
  std::uint32_t number_;
  std::string model_;
  std::string strategy_;
  std::string cluster_;
  int nodes_ = 1;
  std::int64_t tokens_ = 0;
};

// Calls check(first, last) with the numbers of the jobs that PACKSIM_JOBS asks for, such as "1 1000".
template <typename Check>
void check_jobs_asked_for(Check check) {
  const char* range = std::getenv("PACKSIM_JOBS");
  if (range == nullptr) return;
  char* rest = nullptr;
  const unsigned long first = std::strtoul(range, &rest, 10);
  check(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::strtoul(rest, nullptr, 10)));
}

}  // namespace packsim_test
