#pragma once

#include <optional>
#include <span>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "planning/tune/profiled_case.hpp"

namespace packsim {

/// Memory that the fullest GPU had left with a number of checkpointed layers.
struct FreeMemory {
  int gc_layers = 0;
  double free_bytes = 0;  ///< negative if memory was missing
};

/// HBP's algorithm 4 (arXiv 2503.07680): the fewest checkpointed layers that fit in memory, computed from two
/// measurements. It assumes that every layer frees the same memory. The result is rounded up and kept within
/// 0..n_layers, on which the paper says nothing. There is no result if even `most` does not fit; the result
/// is 0 if checkpointing frees nothing.
///
/// Throws std::invalid_argument unless 0 <= fewest.gc_layers < most.gc_layers <= n_layers.
std::optional<int> fewest_checkpointed_layers(const FreeMemory& fewest, const FreeMemory& most, int n_layers);

/// A number of checkpointed layers that should fit in memory and is smaller than any that was run.
struct FewerLayers {
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  int profiled_gc_layers = 0;  ///< the fewest that were run

  bool operator==(const FewerLayers&) const = default;
};

/// The lengths and degrees for which algorithm 4 finds that fewer checkpointed layers fit than were run.
/// Their memory must have been measured with at least two numbers of layers. Results are left out if a case
/// with that many layers ran out of memory.
std::vector<FewerLayers> fewer_layers_that_fit(std::span<const ProfiledCase> cases, double gpu_memory_bytes,
                                               int n_layers);

}  // namespace packsim
