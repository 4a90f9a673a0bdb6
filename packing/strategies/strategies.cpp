#include "packing/strategies/strategies.hpp"

#include <array>

namespace packsim {
namespace {

namespace d = strategies_detail;
using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kBatchOptions = {"batch_samples", "shuffle", "seed"};
constexpr std::array<std::string_view, 2> kSortedOptions = {"batch_samples", "padded_batches"};
constexpr std::array<std::string_view, 2> kShuffleOptions = {"shuffle", "seed"};
constexpr std::array<std::string_view, 4> kIsfOptions = {"rounds", "threshold_tokens", "shuffle", "seed"};
constexpr std::array<std::string_view, 1> kHistogramOptions = {"max_samples_per_pack"};
constexpr std::array<std::string_view, 7> kHbpOptions = {
    "packer", "greedy_fill", "rounds", "threshold_tokens", "max_samples_per_pack", "shuffle", "seed"};
constexpr std::array<std::string_view, 9> kFlexspOptions = {
    "flexsp_buckets",     "micro_batch_tries", "min_sp",  "costs", "integer_programs",
    "solve_time_limit_s", "solve_nodes",       "shuffle", "seed"};

// clang-format off
constexpr std::array<Strategy, 13> kStrategies = {{
    {"none", "No packing: a row per sample, batch_samples rows a micro-batch, in shuffled order.",
     "O(N)", "the usual data loader", Layout::rows, d::none, nullptr, nullptr, false, kBatchOptions},
    {"random", "Shuffled next-fit: one open pack, closed when the next sample does not fit.",
     "O(N)", "OmniBal _random_groups", Layout::packed, d::random, nullptr, nullptr, false, kShuffleOptions},
    {"sorted", "Batches of neighbours by length: batch_samples rows, or (0) as many as the capacity holds.",
     "O(N)", "LongAlign arXiv 2401.18058", Layout::rows, d::sorted, nullptr, nullptr, false, kSortedOptions,
     PackOrder::neighbours},
    {"isf", "Shuffled next-fit; packs under the threshold are dissolved and packed again, for some rounds.",
     "O(rounds N)", "OmniBal arXiv 2407.20761", Layout::packed, d::isf, nullptr, nullptr, false, kIsfOptions},
    {"ffd", "Longest first, into the first pack with room.",
     "O(N log M)", "Dosa 2007; NeMo", Layout::packed, d::first_fit_decreasing, nullptr, nullptr, false, Names{}},
    {"ffs", "In shuffled order, into the first pack with room.",
     "O(N log M)", "NeMo first_fit_shuffle", Layout::packed, d::first_fit_shuffle, nullptr, nullptr, false,
     kShuffleOptions},
    {"bfd", "Longest first, into the pack with the least room that is enough.",
     "O(N)", "TRL packing_strategy bfd", Layout::packed, d::best_fit_decreasing, nullptr, nullptr, false, Names{}},
    {"bfs", "In shuffled order, into the pack with the least room that is enough.",
     "O(N)", "HBP arXiv 2503.07680 table 13", Layout::packed, d::best_fit_shuffle, nullptr, nullptr, false,
     kShuffleOptions},
    {"spfhp", "Longest first by histogram, into the packs with the most room (worst fit).",
     "O(N + S^2)", "Krell arXiv 2107.02027", Layout::packed, d::spfhp, nullptr, nullptr, false, kHistogramOptions},
    {"lpfhp", "Longest first by histogram, into the packs with the least room, equal lengths together.",
     "O(N + S^2)", "Krell arXiv 2107.02027", Layout::packed, d::lpfhp, nullptr, nullptr, false, kHistogramOptions},
    {"wrapped", "All samples end to end, cut wherever a pack is full.",
     "O(N)", "TRL packing_strategy wrapped", Layout::packed, d::wrapped, nullptr, nullptr, true, Names{}},
    {"hbp", "Hierarchical: samples grouped by length, each group packed to its own capacity, larger packs "
            "topped up with smaller samples.",
     "As its packer.", "HBP arXiv 2503.07680", Layout::packed, nullptr, d::hbp, nullptr, false, kHbpOptions,
     PackOrder::balanced},
    {"flexsp", "Groups of different SP degree side by side, an integer program for each micro-batch of a global "
               "batch.",
     "An integer program a micro-batch", "FlexSP arXiv 2412.01523", Layout::packed, nullptr, nullptr, d::flexsp,
     false, kFlexspOptions, PackOrder::as_packed},
}};
// clang-format on

}  // namespace

std::span<const Strategy> strategies() {
  return kStrategies;
}

const Strategy* find_strategy(std::string_view name) {
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return &strategy;
  }
  return nullptr;
}

}  // namespace packsim
