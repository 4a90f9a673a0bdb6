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
constexpr std::array<std::string_view, 3> kPlannerOptions = {"window_iterations", "shuffle", "seed"};
constexpr std::array<std::string_view, 7> kHbpOptions = {
    "packer", "greedy_fill", "rounds", "threshold_tokens", "max_samples_per_pack", "shuffle", "seed"};
constexpr std::array<std::string_view, 15> kFlexspOptions = {"flexsp_buckets",
                                                             "micro_batch_tries",
                                                             "min_sp",
                                                             "costs",
                                                             "economise",
                                                             "batch_tokens",
                                                             "samples_per_iteration",
                                                             "integer_programs",
                                                             "solve_time_limit_s",
                                                             "solve_nodes",
                                                             "planner_processes",
                                                             "look_ahead_batches",
                                                             "solve_s",
                                                             "shuffle",
                                                             "seed"};

constexpr std::array<std::string_view, 3> kFirstFitOptions = {"max_samples_per_pack", "shuffle", "seed"};
constexpr std::array<std::string_view, 6> kWlbOptions = {"outlier_queues",
                                                         "outlier_threshold_tokens",
                                                         "micro_batch_tokens",
                                                         "linear_weight_tokens",
                                                         "shuffle",
                                                         "seed"};
constexpr std::array<std::string_view, 5> kVerlOptions = {"linear_weight_tokens", "batch_tokens",
                                                          "samples_per_iteration", "shuffle", "seed"};
constexpr std::array<std::string_view, 4> kOnlineOptions = {"batch_tokens", "samples_per_iteration",
                                                            "shuffle", "seed"};

// The windows in which tools pack: rows of a batch of datasets.map, which TRL leaves as it is; axolotl's
// sample_packing_group_size.
constexpr std::int64_t kMapBatchRows = 1000;
constexpr std::int64_t kAxolotlGroupSamples = 100'000;

// clang-format off
constexpr std::array<Strategy, 25> kStrategies = {{
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
    {"trl_bfd", "TRL's default: bfd within every 1000 samples. TRL cuts over-long ones short.",
     "O(N)", "TRL packing_strategy bfd", Layout::packed, d::best_fit_decreasing, nullptr, nullptr, false, Names{},
     PackOrder::shuffled, kMapBatchRows},
    {"axolotl_multipack", "In shuffled order, into the first pack with room, 200 samples a pack, within every "
                          "100000 samples.",
     "O(N log M)", "axolotl multipack.py", Layout::packed, d::axolotl_multipack, nullptr, nullptr, false,
     kFirstFitOptions, PackOrder::shuffled, kAxolotlGroupSamples},
    {"nemo_ffs", "NeMo's default: ffs over the whole data set. NeMo gives over-long samples packs of their own.",
     "O(N log M)", "NeMo first_fit_shuffle", Layout::packed, d::first_fit_shuffle, nullptr, nullptr, false,
     kShuffleOptions},
    {"longalign", "Shuffled next-fit, every pack of several samples below the capacity.",
     "O(N)", "LongAlign arXiv 2401.18058", Layout::packed, d::longalign, nullptr, nullptr, false, kShuffleOptions},
    {"longalign_sorted", "Neighbours by length, one sample a rank; a step accumulates such groups in shuffled "
                         "order.",
     "O(N log N)", "LongAlign arXiv 2401.18058", Layout::packed, nullptr, nullptr, d::longalign_sorted, false,
     kShuffleOptions},
    {"wlb", "A global batch at a time, longest first to the micro-batch with the least work; long samples wait "
            "until there is one for each micro-batch.",
     "O(N B)", "WLB-LLM arXiv 2503.17924", Layout::packed, nullptr, nullptr, d::wlb, false, kWlbOptions},
    {"megatron_hybrid_cp", "A global batch at a time, each sample alone on as few GPUs as hold it, sets of GPUs "
                           "with equal sums of squared lengths, a barrier between sets.",
     "O(N B)", "Megatron-LM hybrid_cp_schedule.py", Layout::packed, nullptr, nullptr, d::megatron_hybrid_cp,
     false, kOnlineOptions, PackOrder::shuffled, 0, true},
    {"megatron_dynamic_cp", "A global batch at a time, packs on blocks of GPUs with equal sums of squared "
                            "lengths, more GPUs than needed where that evens out the work.",
     "O(N B)", "Megatron-LM dev data_schedule_utils.py", Layout::packed, nullptr, nullptr,
     d::megatron_dynamic_cp, false, kOnlineOptions, PackOrder::shuffled, 0, true},
    {"megatron_dp_balanced", "A global batch at a time, next-fit; last samples become packs until every rank has "
                             "as many.",
     "O(N)", "Megatron-LM data_schedule.py", Layout::packed, nullptr, nullptr, d::megatron_dp_balanced, false,
     kOnlineOptions},
    {"verl_kk", "A global batch at a time, Karmarkar-Karp over ranks, then over each rank's micro-batches.",
     "O(N B log N)", "verl seqlen_balancing.py", Layout::packed, nullptr, nullptr, d::verl_kk, false,
     kVerlOptions},
    {"trl_lpt", "A global batch at a time, longest first to the rank with the least sum of squared lengths that "
                "has room.",
     "O(N B)", "TRL async GRPO", Layout::packed, nullptr, nullptr, d::trl_lpt, false, kOnlineOptions},
    {"planner", "Our own: whole iterations that keep all GPUs busy equally long, every pack at the SP degree, length "
                "and checkpointing that cost least.",
     "O(N log N)", "docs/planner.md", Layout::packed, nullptr, nullptr, d::planner, false, kPlannerOptions,
     PackOrder::neighbours, 0, true, true},
    {"flexsp", "Groups of different SP degree side by side, an integer program for each micro-batch of a global "
               "batch.",
     "An integer program a micro-batch", "FlexSP arXiv 2412.01523", Layout::packed, nullptr, nullptr, d::flexsp,
     false, kFlexspOptions, PackOrder::as_packed, 0, true},
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
