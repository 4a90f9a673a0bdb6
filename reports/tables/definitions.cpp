#include "reports/tables/definitions.hpp"

#include <algorithm>
#include <cctype>

namespace packsim::formats_detail {

std::span<const Definition> definitions() {
  static constexpr Definition kDefinitions[] = {
      {"run", "A strategy of the scenario with its options, under the name that the scenario gives it."},
      // Plans and memory.
      {"capacity",
       "The most tokens of a pack of the group; of the largest group where a row joins several. K is 1024."},
      {"packs up to",
       "The most tokens of a pack of the group; of the largest group where a row joins several. K is 1024."},
      {"SP", "GPUs that share a sequence by Ulysses; x CP n: times n GPUs of ring attention."},
      {"CP", "GPUs that share a sequence by ring attention, or by gathering keys and values (cp_exchange)."},
      {"GC layers",
       "Layers whose activations are recomputed in the backward pass (gradient checkpointing). A range "
       "where a row joins several groups."},
      {"ZeRO", "What data-parallel ranks shard: 1 the optimizer's state, 2 gradients too, 3 weights too."},
      {"DP ranks", "Data-parallel ranks: groups of GPUs that each train packs of their own."},
      {"micro-batches", "Packs that a DP rank trains one after another in an iteration."},
      {"packs of the group", "Packs of the group in one epoch; in all epochs where each is packed anew."},
      {"iterations of the group", "Optimizer steps over all epochs that train its packs."},
      {"peak memory", "Peak memory of one GPU at the largest micro-batch, and the memory that the GPU has."},
      {"memory", "What holds the peak memory; the upright mark is the memory that the GPU has."},
      {"states", "Weights, gradients and the optimizer's state."},
      {"activations",
       "Activations kept or recomputed for the backward pass, and the gradients of the current layer."},
      {"checkpoints", "Inputs of layers that are recomputed."},
      {"logits", "Logits of the loss, and their workspace."},
      {"buffers", "Gathered weights, gradients on their way to their shards, and exchanges."},
      {"reserved", "CUDA's context, communication libraries, workspaces and fragmentation."},
      // What became of the data.
      {"policies",
       "The strategy, and what it does with the order, the last iteration, padding and over-long "
       "samples."},
      {"trained tokens", "Tokens over all epochs, with repeated ones, without padding."},
      {"dropped samples", "Samples that are left out because they fit in no pack; of one epoch."},
      {"dropped tokens",
       "Tokens of dropped samples and of packs that last iterations leave out, over all "
       "epochs."},
      {"cut samples", "Samples whose end is cut off because they fit in no pack; of one epoch."},
      {"tokens cut off", "Tokens of those ends, over all epochs."},
      {"split samples", "Samples that are trained in several pieces; of one epoch."},
      {"in own packs", "Over-long samples that get a pack of their own; of one epoch."},
      {"empty samples", "Samples without tokens; of one epoch."},
      {"padded tokens", "Tokens that only fill packs or rows, over all epochs."},
      {"repeated tokens", "Tokens that are trained again to fill last iterations, over all epochs."},
      {"curriculum iterations", "Short iterations at the start of the run."},
      // Lower bounds.
      {"lower bound",
       "The ZeRO stage for which no packing or schedule of the same whole samples can take less GPU time."},
      {"linear", "Matrix products and elementwise kernels, as a share of the bound."},
      {"attention", "Attention kernels, as a share of the bound."},
      {"recompute", "The least recomputation that fits in memory, as a share of the bound."},
      {"exchange", "Communication that computation cannot hide, as a share of the bound."},
      {"overhead", "Fixed costs of the framework, as a share of the bound."},
      {"steps", "The optimizer, and what each step adds to its packs, as a share of the bound."},
      {"waiting",
       "Waits for samples that take longer than an equal share of their step, as a share of the bound."},
      // Searches.
      {"plan found", "The run whose plan was searched."},
      {"chosen", "The plan with the fewest GPU-days of those that were simulated."},
      {"second best", "The next best plan that was simulated."},
      {"slower", "By how much its GPU-days exceed those of the chosen plan."},
      {"usual", "The plan that one would set without a search."},
      {"plans", "Plans of the search space that fit in memory."},
      {"simulated", "Plans that were simulated with the data; lower bounds rule the others out."},
      // Slowest steps.
      {"iteration", "Index of the step in the run, from 0."},
      {"takes", "Seconds of the step, and how many times the run's median step that is."},
      {"step ABR",
       "Attention balance ratio of the iteration: the share of attention time that GPUs would wait for the "
       "one with most attention work, if no other work filled the wait."},
      {"tokens", "Tokens of the data in the iteration, without padding."},
      {"longest sample", "Tokens of the longest sample in the iteration."},
      {"GPUs of a pack", "GPUs that share each pack of the iteration; mixed where packs differ."},
      // Loss weights.
      {"misplaced loss", "The run whose loss weights are looked at."},
      {"misplaced share",
       "Share of the loss's weight that this normaliser puts on other tokens than if all tokens of the "
       "iteration weighed the same."},
      {"long",
       "Weight of a token of the longest samples over the mean weight of a token, under the normaliser "
       "to the left; 1 is fair."},
      // Mixtures.
      {"subset", "A part of the data with a probability of its own: a source of the mix.", true},
      {"group", "A part of a subset with a probability inside it, such as a level of difficulty.", true},
      {"probability",
       "Of a subset among subsets, and of a group inside its subset, at the start and at the end.", true},
      {"samples", "Samples that may be drawn.", true},
      {"mean tokens", "Tokens of one of these samples, on average.", true},
      {"draws", "How often one of these samples was drawn.", true},
      {"never drawn", "Samples that no draw took.", true},
      {"packs of",
       "What is packed together: a window of draws up to the next update, the draws of the run, or the "
       "samples of each arm before the run (pools).",
       true},
      {"plan for",
       "For which draws a plan was chosen: each window's, those of the probabilities at the start, or all "
       "of the run; given: by the scenario.",
       true},
      {"windows", "Windows that were packed one after another.", true},
      {"draws carried",
       "Draws that filled no iteration of their window and were packed with the next one, all windows "
       "together.",
       true},
      {"fill", "Tokens of packs over their length.", true},
      {"beside still",
       "GPU-days for a token over those of the same strategy where the probabilities stay as they are "
       "at the start.",
       true},
      {"training", "GPU-days without measuring rewards, as in the other tables.", true},
      {"rewards", "GPU-days of the passes that measure rewards, and of the actors' updates.", true},
      {"rewards' share", "These over the GPU-days of training.", true},
      {"with rewards", "GPU-days of both together.", true},
      {"rewards measured", "How the passes that measure rewards are run.", true},
      {"fwd+bwd", "Micro-batches of an update that run forward and backward, each counted once.", true},
      {"forward", "Micro-batches of an update that run forward only, each counted once.", true},
      {"by passes",
       "Forward passes of samples that an update takes on each rank, over those of training between two "
       "updates; a pass forward and backward counts three.",
       true},
      {"hidden", "GPU-days of forward passes that run while ranks wait, which cost nothing more.", true},
  };
  return kDefinitions;
}

const Definition* find_definition(std::string_view title) {
  const std::span<const Definition> all = definitions();
  const auto found = std::ranges::find(all, title, &Definition::title);
  return found == all.end() ? nullptr : &*found;
}

std::string definition_id(std::string_view title) {
  std::string id = "definition";
  bool is_word = false;
  for (const char c : title) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    // A plus and a percent sign tell titles apart.
    const std::string_view sign = c == '+' ? "plus" : c == '%' ? "percent" : "";
    if (is_letter || !sign.empty()) {
      if (!is_word) id += '-';
      if (is_letter) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      id += sign;
    }
    is_word = is_letter;
  }
  return id;
}

}  // namespace packsim::formats_detail
