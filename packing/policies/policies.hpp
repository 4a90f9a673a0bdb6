#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace packsim {

/// What to do with a sample that is longer than the longest pack.
enum class OverLong { error, drop, truncate, split, own_pack };

/// What to do with a sample of no tokens.
enum class Empty { drop, keep, error };

/// How a micro-batch is padded. `longest` pads every row to the longest row of its micro-batch, and
/// `capacity` pads every row to the pack length. `multiple` pads rows like `longest` and then to a multiple
/// of some number of tokens.
enum class Padding { none, longest, capacity, multiple };

/// Which tokens of a pack attend to each other: those of one sample, or all, as in naive packing, which
/// trains a pack as if it were one document.
enum class Attention { within_samples, across_samples };

/// What to do with packs of a group that are too few for a whole iteration: leave them out, repeat packs of
/// the group, or run an iteration in which some ranks have less to do. If packs are shuffled, the shuffle of
/// the epoch decides which are left out or repeated.
enum class LastIteration { drop, repeat, shorten };

/// The order in which packs become iterations: as packed; as packed, with the iterations shuffled afterwards;
/// shuffled; or sorted by attention work, padding included, with the iterations shuffled afterwards (HBP's
/// balance batching).
enum class PackOrder { as_packed, neighbours, shuffled, balanced };

/// How a strategy packs the draws of a mixture.
enum class MixturePacks : std::uint8_t { window, run, pools };

/// The draws for which a strategy that chooses its plan chooses it.
enum class MixturePlan : std::uint8_t { window, prior, run };

/// A policy's spelling in scenario files and on the command line.
template <typename Enum>
struct PolicyName {
  Enum value;
  std::string_view name;
  std::string_view summary;
};

inline constexpr std::array<PolicyName<OverLong>, 5> kOverLongNames = {{
    {OverLong::error, "error", "refuse the data"},
    {OverLong::drop, "drop", "leave the sample out"},
    {OverLong::truncate, "truncate", "keep the first tokens that fit"},
    {OverLong::split, "split", "cut it into pieces of full length and a shorter last one"},
    {OverLong::own_pack, "own_pack", "give it a pack of its own, longer than the others"},
}};

inline constexpr std::array<PolicyName<Empty>, 3> kEmptyNames = {{
    {Empty::drop, "drop", "leave the sample out"},
    {Empty::keep, "keep", "pack it like any other"},
    {Empty::error, "error", "refuse the data"},
}};

inline constexpr std::array<PolicyName<Padding>, 4> kPaddingNames = {{
    {Padding::none, "none", "variable-length kernels, nothing padded"},
    {Padding::longest, "longest", "pad every row to the longest row of its micro-batch"},
    {Padding::capacity, "capacity", "pad every row to the pack length"},
    {Padding::multiple, "multiple", "pad every row to a multiple of pad_multiple_tokens"},
}};

inline constexpr std::array<PolicyName<Attention>, 2> kAttentionNames = {{
    {Attention::within_samples, "within_samples", "tokens attend to their own sample only"},
    {Attention::across_samples, "across_samples", "tokens attend to all earlier ones of their pack"},
}};

inline constexpr std::array<PolicyName<LastIteration>, 3> kLastIterationNames = {{
    {LastIteration::drop, "drop", "leave out the packs of an incomplete last iteration"},
    {LastIteration::repeat, "repeat", "complete it with packs of the same group, which are trained twice"},
    {LastIteration::shorten, "shorten", "train the packs that are left; some ranks are idle"},
}};

inline constexpr std::array<PolicyName<PackOrder>, 4> kPackOrderNames = {{
    {PackOrder::as_packed, "as_packed", "in the order in which they were packed"},
    {PackOrder::neighbours, "neighbours", "iterations of consecutive packs, in shuffled order"},
    {PackOrder::shuffled, "shuffled", "seeded shuffle of the packs of each group"},
    {PackOrder::balanced, "balanced", "iterations of packs with similar attention work, in shuffled order"},
}};

inline constexpr std::array<PolicyName<MixturePacks>, 3> kMixturePacksNames = {{
    {MixturePacks::window, "window", "the draws up to the next update together"},
    {MixturePacks::run, "run", "all draws of the run together, as if they were known beforehand"},
    {MixturePacks::pools, "pools", "each arm's samples beforehand; packs are drawn in place of samples"},
}};

inline constexpr std::array<PolicyName<MixturePlan>, 3> kMixturePlanNames = {{
    {MixturePlan::window, "window", "anew for the draws of each window"},
    {MixturePlan::prior, "prior", "once, for as many draws with the probabilities of the start"},
    {MixturePlan::run, "run", "once, for all draws of the run, as if they were known beforehand"},
}};

/// The spelling of `value`.
template <typename Enum, std::size_t N>
constexpr std::string_view policy_name(const std::array<PolicyName<Enum>, N>& names, Enum value) {
  for (const PolicyName<Enum>& row : names) {
    if (row.value == value) return row.name;
  }
  return "?";
}

/// The value of that spelling, or none.
template <typename Enum, std::size_t N>
constexpr std::optional<Enum> policy_value(const std::array<PolicyName<Enum>, N>& names,
                                           std::string_view name) {
  for (const PolicyName<Enum>& row : names) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

}  // namespace packsim
