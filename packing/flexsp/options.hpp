#pragma once

#include <array>
#include <cstdint>

#include "packing/flexsp/cost.hpp"
#include "packing/flexsp/global_batch.hpp"
#include "packing/options/limits.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim::flexsp {

/// What it plans by where kCosts names none of the published models.
inline constexpr std::string_view kProfileCosts = "profile";

inline std::vector<std::string_view> cost_names() {
  std::vector<std::string_view> names = {kProfileCosts};
  for (const PublishedModel& model : kPublishedModels) names.push_back(model.name);
  return names;
}

inline constexpr IntegerOption kBuckets = integer_option(
    "flexsp_buckets",
    {.default_value = static_cast<std::int64_t>(BatchOptions{}.n_buckets), .least = 1, .most = 1'000'000},
    "Buckets into which the lengths of a micro-batch are rounded, FlexSP's Q; more where so few would not "
    "fit.");

inline constexpr IntegerOption kMicroBatchTries = integer_option(
    "micro_batch_tries",
    {.default_value = static_cast<std::int64_t>(BatchOptions{}.micro_batch_tries), .least = 1, .most = 1000},
    "How many numbers of micro-batches are tried, from the fewest that fit on; FlexSP's M'.");

inline constexpr IntegerOption kMinSp =
    integer_option("min_sp", {.default_value = 1, .least = 1, .most = kMostGpus},
                   "Groups of fewer GPUs are not formed; the released code has 2.");

inline constexpr WordOption kCosts =
    word_option("costs", kProfileCosts, cost_names,
                "What it plans by: the prices of the run, or a model whose constants FlexSP's code ships.");

inline constexpr BooleanOption kMinimizeGpuTime = boolean_option(
    "minimize_gpu_time", BatchOptions{}.minimize_gpu_time,
    "Groups that do not decide how long a micro-batch takes use the least GPU time; false: as published.");

inline constexpr BooleanOption kIntegerPrograms =
    boolean_option("integer_programs", false,
                   "Solves FlexSP's integer programs by COIN-OR CBC; false: by our local search alone.");

inline constexpr OptionalSecondsOption kSolveTimeLimitS = optional_seconds_option(
    "solve_time_limit_s",
    "Seconds for one integer program, which make results depend on the machine; 0: no limit.");

inline constexpr OptionalIntegerOption kSolveNodes =
    optional_integer_option("solve_nodes", {.default_value = 1000, .least = 0, .most = 1'000'000'000},
                            "Most nodes of the search tree of one integer program; 0: no limit.");

inline constexpr IntegerOption kPlannerProcesses =
    integer_option("planner_processes", {.default_value = 1, .least = 1, .most = 65'536},
                   "Global batches that are planned at the same time.");

inline constexpr IntegerOption kLookAheadBatches =
    integer_option("look_ahead_batches", {.default_value = 1, .least = 0, .most = 65'536},
                   "The plan of a global batch begins when the iteration so many before it starts; 0: when "
                   "the last one has ended.");

inline constexpr OptionalSecondsOption kSolveS = optional_seconds_option(
    "solve_s", "Seconds that planning a global batch takes; 0: what this machine needed.");

inline constexpr std::array<const Option*, 15> kOptions = {
    &kBuckets,          &kMicroBatchTries,     &kMinSp,           &kCosts,           &kMinimizeGpuTime,
    &kBatchTokens,      &kSamplesPerIteration, &kIntegerPrograms, &kSolveTimeLimitS, &kSolveNodes,
    &kPlannerProcesses, &kLookAheadBatches,    &kSolveS,          &kShuffle,         &kSeed};

}  // namespace packsim::flexsp
