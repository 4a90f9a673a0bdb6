#include "packing/option_table.hpp"

#include <array>

#include "packing/pack.hpp"

namespace packsim {
namespace {

using O = StrategyOptions;

constexpr std::int64_t kMostTokens = kLongestCapacityTokens;
constexpr std::int64_t kMostSamples = 1'000'000'000;
constexpr std::int64_t kMostGpus = 1 << 20;
constexpr std::int64_t kMostProcesses = 65'536;

std::vector<std::string_view> packer_names() {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies()) {
    if (can_pack_a_group(strategy)) names.push_back(strategy.name);
  }
  return names;
}

std::vector<std::string_view> cost_names() {
  return {flexsp_costs().begin(), flexsp_costs().end()};
}

constexpr std::array<OptionRow, 27> kOptions = {{
    {"seed", &O::seed, 0, 4'294'967'295},
    {"shuffle", &O::shuffle},
    {"rounds", &O::rounds, 1, 1'000'000},
    {"threshold_tokens", &O::threshold_tokens, -1, kMostTokens},
    {"max_samples_per_pack", &O::max_samples_per_pack, 0, kMostSamples},
    {"batch_samples", &O::batch_samples, 0, kMostSamples},
    {"padded_batches", &O::padded_batches},
    {"packer", &O::packer, 0, 0, packer_names},
    {"greedy_fill", &O::greedy_fill},
    {"linear_weight_tokens", &O::linear_weight_tokens, 0, kMostTokens},
    {"outlier_queues", &O::outlier_queues, 0, 1000},
    {"outlier_threshold_tokens", &O::outlier_threshold_tokens, -1, kMostTokens},
    {"micro_batch_tokens", &O::micro_batch_tokens, -1, kMostTokens},
    {"window_iterations", &O::window_iterations, 0, kMostTokens},
    {"flexsp_buckets", &O::flexsp_buckets, 1, 1'000'000},
    {"micro_batch_tries", &O::micro_batch_tries, 1, 1000},
    {"min_sp", &O::min_sp, 1, kMostGpus},
    {"costs", &O::costs, 0, 0, cost_names},
    {"integer_programs", &O::integer_programs},
    {"solve_time_limit_s", &O::solve_time_limit_s},
    {"solve_nodes", &O::solve_nodes, 0, 1'000'000'000},
    {"economise", &O::economise},
    {"batch_tokens", &O::batch_tokens, 0, kMostTokens},
    {"samples_per_iteration", &O::samples_per_iteration, 0, kMostSamples},
    {"planner_processes", &O::planner_processes, 1, kMostProcesses},
    {"look_ahead_batches", &O::look_ahead_batches, 0, kMostProcesses},
    {"solve_s", &O::solve_s},
}};

}  // namespace

std::span<const OptionRow> option_rows() {
  return kOptions;
}

}  // namespace packsim
