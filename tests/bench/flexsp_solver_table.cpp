// How good the assignments of FlexSP's integer programs are after so many seconds or nodes of CBC, on real
// global batches. Usage: packsim_flexsp_table COSTS WIDEST_DEGREE FIRST_BATCH N_BATCHES METHOD [LIMIT...]
//
// COSTS: published_7b and so on, or "profile", straight lines of about what an H100 takes for an 8B model.
// METHOD: published (the paper's program, from the published warm start) or ours. LIMIT: seconds, or nodes
// where it is negative; 0 is the start alone. Prints, for each limit, sums over all batches of the sum over
// micro-batches.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "packing/algorithms/global_batches.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "packing/batch_problem.hpp"
#include "packing/flexsp/global_batch.hpp"
#include "planning/solver/cbc_assignment_solver.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/paths.hpp"

namespace {

using namespace packsim;

constexpr int kGpus = 32;
constexpr std::int64_t kGpuTokens = 16384;
constexpr std::int64_t kBatchTokens = 524288;

std::vector<std::int32_t> shipped_lengths() {
  std::vector<std::int32_t> all;
  for (const char* name : {"tulu3_like_939344.npy", "longcite_like_2k.csv"})
    std::ranges::copy(read_lengths(packsim_test::source_dir() + "/scenarios/lengths/" + name),
                      std::back_inserter(all));
  return all;
}

// Round numbers of the size of an 8B model's on H100, to time solvers with and no more: 0.02 s a micro-batch,
// 110 us a token (6 x 8e9 FLOP), 2.3 ns a squared token of attention, and exchange that is faster within a
// node of eight.
flexsp::SequenceCost round_cost(int gpus_per_pack) {
  const double exchange_s = gpus_per_pack == 1 ? 0 : (gpus_per_pack <= 8 ? 6e-6 : 38e-6);
  return {.fixed_s = 0.02,
          .token_s = (110e-6 + exchange_s) / gpus_per_pack,
          .squared_token_s = 2.3e-9 / gpus_per_pack};
}

flexsp::Cluster cluster_of(const std::string& costs, int widest) {
  flexsp::Cluster cluster{.kinds = {}, .n_gpus = kGpus};
  for (int degree = 1; degree <= widest; degree *= 2) {
    flexsp::SequenceCost cost = round_cost(degree);
    if (costs != "profile") {
      const auto model = std::ranges::find(flexsp::kPublishedModels, costs, &flexsp::PublishedModel::name);
      if (model == flexsp::kPublishedModels.end()) throw std::invalid_argument("costs");
      cost = published_cost(*model, degree);
    }
    cluster.kinds.push_back({degree, kGpuTokens * degree, cost});
  }
  return cluster;
}

struct Sums {
  double objective_s = 0;
  double start_s = 0;
  double bound_s = 0;
  double plan_s = 0;
  double wall_s = 0;
  int n_programs = 0;
  int n_optimal = 0;
  std::int64_t n_nodes = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const std::vector<std::int32_t> lengths = shipped_lengths();
  const flexsp::Cluster cluster = cluster_of(argv[1], std::atoi(argv[2]));
  const BatchSetting setting{.groups = {}, .n_gpus = kGpus, .tokens_per_iteration = kBatchTokens};
  const auto batches = global_batches(
      {.items = {.lengths_tokens = lengths, .capacity_tokens = cluster.kinds.back().capacity_tokens},
       .setting = setting});
  const auto first = static_cast<std::size_t>(std::atoi(argv[3]));
  const auto last = std::min(batches.size(), first + static_cast<std::size_t>(std::atoi(argv[4])));
  const bool published = std::string(argv[5]) == "published";
  std::printf(
      "%zu batches in all; limit, objective_s, start_s, bound_s, gap, true plan_s, wall_s a batch, "
      "programs, proven, nodes\n",
      batches.size());
  for (int arg = 6; arg < argc; ++arg) {
    const double limit = std::atof(argv[arg]);
    Sums sums;
    for (std::size_t b = first; b < last; ++b) {
      CbcAssignmentSolver solver({.published_program = published,
                                  .local_search = !published,
                                  .integer_program = limit != 0,
                                  .gap_fraction = 0.001});
      flexsp::BatchOptions options{.seed = 1024};
      if (limit < 0) options.limits.n_nodes = static_cast<std::int64_t>(-limit);
      if (limit > 0) options.limits.time_s = limit;
      const auto began = std::chrono::steady_clock::now();
      sums.plan_s += plan_global_batch(lengths, batches[b], cluster, options, solver).time_s;
      sums.wall_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      for (const SolveRecord& record : solver.log()) {
        if (record.objective_s == 0) continue;
        sums.objective_s += record.objective_s;
        sums.start_s += record.start_s;
        sums.bound_s += record.bound_s;
        sums.n_nodes += record.n_nodes;
        ++sums.n_programs;
        sums.n_optimal += record.status == SolveStatus::optimal ? 1 : 0;
      }
    }
    std::printf("%8g %10.4f %10.4f %10.4f %6.2f%% %10.4f %8.3f %5d %5d %8lld\n", limit, sums.objective_s,
                sums.start_s, sums.bound_s, 100 * (sums.objective_s / sums.bound_s - 1), sums.plan_s,
                sums.wall_s / static_cast<double>(last - first), sums.n_programs, sums.n_optimal,
                static_cast<long long>(sums.n_nodes));
    std::fflush(stdout);
  }
  return 0;
}
