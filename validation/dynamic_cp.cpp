#include <fmt/format.h>

#include <array>
#include <cmath>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// These are the project's targets.
constexpr double kMostWrongOrders = 0;
constexpr double kMostOfMeanRatio = 0.10;

// Trimmed means of 20 steps of one run each, June 9, 2026: examples/dynamic_context_parallel/README.md of
// NVIDIA/Megatron-LM at 10ce7bc4. The scenarios are in the folder dynamic_cp.
struct PublishedSize {
  int n_gpus = 0;
  double balanced_s = 0;
  double dynamic_s = 0;
};
constexpr std::array<PublishedSize, 5> kSizes = {{{4, 0.195269, 0.151906},
                                                  {8, 0.220119, 0.155850},
                                                  {16, 0.226775, 0.187125},
                                                  {32, 0.286206, 0.208088},
                                                  {64, 0.271988, 0.181912}}};

}  // namespace

ValidationSet validate_dynamic_cp(const DataPaths& data) {
  ValidationSet set{.name = "dynamic-cp",
                    .title = "Megatron-LM's benchmark of dynamic context parallelism",
                    .about =
                        "No number was fitted to it. The GPU is not published: nodes of 4 GPUs are taken as "
                        "those of GB200 NVL72, with a Grace CPU, from which PyTorch launches a product in 33 "
                        "us (NVIDIA/TransformerEngine, issue 2053)"};
  double n_wrong = 0;
  double published_sum = 0;
  double predicted_sum = 0;
  for (const PublishedSize& size : kSizes) {
    const std::string path = fmt::format("{}/validation/dynamic_cp/gpus_{}.json", data.root, size.n_gpus);
    const Report report = compare_strategies(load_scenario(path, data), {.only_times = true});
    const StrategyResult& balanced = report.runs.at(0);
    const StrategyResult& dynamic = report.runs.at(1);
    const std::string gpus = fmt::format("{} GPUs, ", size.n_gpus);
    set.rows.push_back(compared_row(gpus + balanced.name, size.balanced_s, balanced.times->step_mean_s, "s"));
    set.rows.push_back(compared_row(gpus + dynamic.name, size.dynamic_s, dynamic.times->step_mean_s, "s"));
    const TimeRatio& ratio = dynamic.speedup.value();
    ValidationRow row = compared_row(gpus + balanced.name + " over " + dynamic.name,
                                     size.balanced_s / size.dynamic_s, ratio.value, "ratio");
    row.interval = Interval{ratio.low, ratio.high};
    set.rows.push_back(row);
    if ((row.predicted > 1) != (row.published > 1)) ++n_wrong;
    published_sum += row.published;
    predicted_sum += row.predicted;
  }
  set.bounds = {
      {"share of sizes at which the wrong one is faster", n_wrong / kSizes.size(), kMostWrongOrders},
      {"error of the mean ratio", std::abs(predicted_sum / published_sum - 1), kMostOfMeanRatio}};
  return set;
}

}  // namespace packsim
