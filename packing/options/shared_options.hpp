#pragma once

#include <array>

#include "packing/options/limits.hpp"
#include "packing/options/option.hpp"

namespace packsim {

// Options that several strategies share, or that others read beside the strategy. The rest is declared in the
// file of the strategy that owns it.

/// 1024 is OmniBal's.
inline constexpr IntegerOption kSeed = integer_option(
    "seed", {.default_value = 1024, .least = 0, .most = 4'294'967'295}, "Seed of the shuffle.");

inline constexpr BooleanOption kShuffle = boolean_option(
    "shuffle", true, "Shuffles the samples before they are packed; false takes them in data set order.");

inline constexpr IntegerOption kRounds =
    integer_option("rounds", {.default_value = 50, .least = 1, .most = 1'000'000},
                   "How often packs under the threshold are dissolved and packed again.");

inline constexpr OptionalIntegerOption kThresholdTokens = optional_integer_option(
    "threshold_tokens", {.default_value = -1, .least = -1, .most = kLongestCapacityTokens},
    "Packs with at least this many tokens are kept as they are; -1: 128 below the capacity.");

inline constexpr OptionalIntegerOption kMaxSamplesPerPack =
    optional_integer_option("max_samples_per_pack", {.default_value = 0, .least = 0, .most = kMostSamples},
                            "Most samples of a pack; 0: no limit, except 200 for axolotl_multipack.");

/// The most items of a pack as packers count them; none: all that there may be.
inline std::uint32_t most_items_of(const std::optional<std::int64_t>& max_samples_per_pack) {
  return static_cast<std::uint32_t>(max_samples_per_pack.value_or(~std::uint32_t{0}));
}

inline constexpr OptionalIntegerOption kBatchSamples =
    optional_integer_option("batch_samples", {.default_value = 1, .least = 0, .most = kMostSamples},
                            "Rows of a micro-batch; 0, for sorted alone: as many as the capacity holds.");

/// 24576 is verl's, six times the hidden size of a model of 7B parameters.
inline constexpr IntegerOption kLinearWeightTokens = integer_option(
    "linear_weight_tokens", {.default_value = 24576, .least = 0, .most = kLongestCapacityTokens},
    "The work of a sample of s tokens is s^2 + this x s; wlb, slime_kk and prime_rl use it only if packs "
    "have no price.");

inline constexpr OptionalIntegerOption kBatchTokens =
    optional_integer_option("batch_tokens", {.default_value = 0, .least = 0, .most = kMostTokensPerIteration},
                            "Tokens of a global batch; 0: the tokens of an iteration.");

inline constexpr OptionalIntegerOption kSamplesPerIteration =
    optional_integer_option("samples_per_iteration", {.default_value = 0, .least = 0, .most = kMostSamples},
                            "Samples of a global batch, instead of tokens; 0: the size is set in tokens.");

// What strategies that read nothing else have in common.
inline constexpr std::array<const Option*, 2> kShuffleOptions = {&kShuffle, &kSeed};
inline constexpr std::array<const Option*, 1> kLimitOptions = {&kMaxSamplesPerPack};
inline constexpr std::array<const Option*, 3> kLimitAndShuffleOptions = {&kMaxSamplesPerPack, &kShuffle,
                                                                         &kSeed};
inline constexpr std::array<const Option*, 5> kBalanceOptions = {&kLinearWeightTokens, &kBatchTokens,
                                                                 &kSamplesPerIteration, &kShuffle, &kSeed};
inline constexpr std::array<const Option*, 4> kGlobalBatchOptions = {&kBatchTokens, &kSamplesPerIteration,
                                                                     &kShuffle, &kSeed};

}  // namespace packsim
