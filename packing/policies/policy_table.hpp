#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "packing/options/limits.hpp"
#include "packing/policies/policies.hpp"
#include "packing/policies/policy.hpp"

namespace packsim {

/// What becomes of samples and packs, whichever strategy packs them. A policy is a member here and a row of
/// kPolicies.
struct Policies {
  PackOrder order = PackOrder::shuffled;
  OverLong over_long = OverLong::error;
  Empty empty = Empty::drop;
  std::int64_t window_samples = 0;
  Padding padding = Padding::none;
  std::int64_t pad_multiple_tokens = 1;
  Attention attention = Attention::within_samples;
  LastIteration last_iteration = LastIteration::repeat;
  std::int64_t curriculum_iterations = 0;
  bool repack_each_epoch = false;  ///< whether epoch e is packed anew, with the option seed + e
  std::optional<int> micro_batches_per_rank = {};     ///< if not set, as many as fit in tokens_per_iteration
  MixturePacks mixture_packs = MixturePacks::window;  ///< only of mixtures, as the next one
  MixturePlan mixture_plan = MixturePlan::window;

  bool operator==(const Policies&) const = default;
};

/// All policies, in the order in which everything shows them.
inline constexpr std::array kPolicies = {
    word_policy<&Policies::order, kPackOrderNames>(
        "order", PolicyUse::schedule,
        "How packs become iterations. `as_packed`: in the order of packing; `shuffled`: packs are shuffled; "
        "`neighbours`: cut into iterations in the order of packing, which are then shuffled; `balanced`: "
        "sorted by attention work and cut into iterations, which are then shuffled.",
        "`balanced` for hbp, `neighbours` for sorted and planner, `as_packed` for flexsp, else `shuffled`"),
    word_policy<&Policies::over_long, kOverLongNames>(
        "over_long", PolicyUse::packs,
        "What happens to samples over the longest capacity: `error`, `drop`, `truncate`, `split`, "
        "`own_pack`."),
    word_policy<&Policies::empty, kEmptyNames>(
        "empty", PolicyUse::packs, "What happens to samples without tokens: `drop`, `keep`, `error`."),
    integer_policy<&Policies::window_samples>(
        "window_samples", PolicyUse::packs, 0, kMostSamples,
        "Number of successive samples that are packed separately, as by a loader that sees only a window; 0 "
        "means the whole data set.",
        "1000 for trl_bfd, 100 000 for axolotl_multipack, else 0"),
    word_policy<&Policies::padding, kPaddingNames>(
        "padding", PolicyUse::packs,
        "How rows are padded: `none`, to the `longest` of the micro-batch, to the `capacity`, or to a "
        "`multiple` of `pad_multiple_tokens`. Rows of a padding-free trainer, which puts them one after "
        "another, "
        "have `none`.",
        "`longest` for none and sorted, whose samples are rows of their own, else `none`"),
    integer_policy<&Policies::pad_multiple_tokens>("pad_multiple_tokens", PolicyUse::packs, 1,
                                                   kLongestCapacityTokens,
                                                   "The number of tokens of which rows become a multiple.",
                                                   "none: required where `padding` is `multiple`"),
    word_policy<&Policies::attention, kAttentionNames>(
        "attention", PolicyUse::packs,
        "Which tokens of a pack attend to each other: `within_samples`, or `across_samples`, as in naive "
        "packing, where a pack is trained as one causal document "
        "([cost](strategies.md#attention-across-samples)). Only for strategies that put samples into one row "
        "and do not form iterations themselves; others ignore it in `packing`."),
    word_policy<&Policies::last_iteration, kLastIterationNames>(
        "last_iteration", PolicyUse::schedule,
        "What happens if too few packs are left for an iteration: `drop` them, `repeat` other packs, or "
        "`shorten` the iteration, which then ends its epoch."),
    integer_policy<&Policies::curriculum_iterations>(
        "curriculum_iterations", PolicyUse::schedule, 0, kMostSamples,
        "Number of short iterations at the start of the run ([below](#curriculum))."),
    boolean_policy<&Policies::repack_each_epoch>(
        "repack_each_epoch", PolicyUse::schedule,
        "Whether each epoch has packs of its own ([below](#packing-anew-in-each-epoch)).",
        "false: all epochs train the same packs in another order"),
    integer_policy<&Policies::micro_batches_per_rank>(
        "micro_batches_per_rank", PolicyUse::schedule, 1, kMostMicroBatches,
        "Number of micro-batches of a rank in an iteration, instead of what follows from "
        "`tokens_per_iteration`.",
        "1 for `none` and for `sorted`, unless `batch_samples` is 0"),
    word_policy<&Policies::mixture_packs, kMixturePacksNames>(
        "mixture_packs", PolicyUse::mixture,
        "Under `mixing`: what is packed together. `window`: the draws up to the next update; `run`: all "
        "draws of the run together, out of their order; `pools`: each arm's samples beforehand, so that "
        "packs are drawn in place of samples. Runs with the last two are marked."),
    word_policy<&Policies::mixture_plan, kMixturePlanNames>(
        "mixture_plan", PolicyUse::mixture,
        "Under `mixing`, for strategies that choose their plan: for which draws. `window`: each window's; "
        "`prior`: as many with the probabilities of the start, and the longest draw of the run; `run`: all "
        "of the run (marked where rewards decide later draws).",
        "`prior` where `plan` is `auto`, else `window`"),
};

}  // namespace packsim
