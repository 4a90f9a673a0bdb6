#pragma once

#include <optional>
#include <span>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "planning/tune/profiled_case.hpp"

namespace packsim {

/// What the fullest GPU had left with so many checkpointed layers.
struct FreeMemory {
  int gc_layers = 0;
  double free_bytes = 0;  ///< negative: so much was missing
};

/// HBP's algorithm 4 (arXiv 2503.07680): the fewest checkpointed layers that fit, by two readings. Every
/// layer is taken to free the same; the result is rounded up and kept within 0..n_layers, which the paper
/// leaves open. Nothing where even `most` does not fit; no layer at all where checkpointing frees nothing.
///
/// Throws std::invalid_argument unless 0 <= fewest.gc_layers < most.gc_layers <= n_layers.
std::optional<int> fewest_checkpointed_layers(const FreeMemory& fewest, const FreeMemory& most, int n_layers);

/// Fewer checkpointed layers than were run, which should fit.
struct FewerLayers {
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  int profiled_gc_layers = 0;  ///< the fewest that were run

  bool operator==(const FewerLayers&) const = default;
};

/// Where a profile read the memory of one length and degree with two numbers of layers or more, and algorithm
/// 4 finds that fewer fit than were run. Not where a case with as many ran out of memory.
std::vector<FewerLayers> fewer_layers_that_fit(std::span<const ProfiledCase> cases, double gpu_memory_bytes,
                                               int n_layers);

}  // namespace packsim
