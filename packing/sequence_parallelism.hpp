#pragma once

#include <compare>

namespace packsim {

/// How the GPUs that share a pack divide its work, tensor parallelism aside.
struct SequenceParallelism {
  int ulysses = 1;  ///< GPUs that exchange tokens for attention heads by all-to-all (arXiv 2309.14509)
  int ring = 1;     ///< chunks of the sequence whose keys and values go round a ring (arXiv 2310.01889)

  int gpus_per_pack() const { return ulysses * ring; }

  auto operator<=>(const SequenceParallelism&) const = default;
};

}  // namespace packsim
