#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

/// The tables of a report whose scenario has a mixture, the titles in front; empty if there is nothing to
/// show.
namespace packsim::formats_detail {

/// The policy, the draws, and what the numbers rest on, as sentences.
std::vector<std::string> mixture_sentences(const MixtureSummary& mixture);

/// What became of every subset and, with_groups, of its groups: probabilities at the start and the end,
/// draws, samples never drawn.
std::vector<std::vector<std::string>> mixture_arm_rows(const Report& report, bool with_groups);

/// Each run: how it packs the draws, and its GPU-days with rewards measured, and beside the same mixture
/// standing still.
std::vector<std::vector<std::string>> mixture_run_rows(const Report& report);

inline constexpr std::string_view kMixtureRunNote =
    "Packs of: the draws up to the next update (window), all draws of the run out of their order (run), or "
    "each "
    "arm's samples before the run (pools). Beside still: how many times as long a token takes as with the "
    "probabilities of the start throughout. Training, rewards and both together are GPU-days of the run; of "
    "the "
    "other columns, only + rewards includes rewards.";

/// What measuring rewards costs for the fastest run, in several ways.
std::vector<std::vector<std::string>> probe_rows(const Report& report);

inline constexpr std::string_view kProbeNote =
    "Rewards of the fastest run, in GPU-days of the run, measured as the scenario says and in other ways. "
    "Fwd+bwd "
    "and forward: micro-batches of one update. By passes: forward passes of samples over those of training "
    "between "
    "two updates, where a pass forward and backward counts three. Memory of the passes is not checked.";

}  // namespace packsim::formats_detail
