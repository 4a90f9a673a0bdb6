#pragma once

#include <cstdint>
#include <vector>

namespace packsim {

/// A pack on the GPUs [first_gpu, first_gpu + gpus_per_pack of its group) in one iteration. Every GPU trains
/// the packs that are placed on it in the order of their rounds.
struct PlacedPack {
  std::uint32_t pack = 0;       ///< index in its group
  std::uint32_t first_gpu = 0;  ///< a multiple of the group's SP degree
  std::uint16_t group = 0;
  std::uint16_t round = 0;
  /// Whether all GPUs wait for each other before this pack's round. All packs of a round have the same value,
  /// which is false in the first round.
  bool after_barrier = false;

  bool operator==(const PlacedPack&) const = default;
};

/// One optimizer step: the packs placed[first_placed..first_placed + n_placed) of a PlannedIterations or a
/// Schedule, in ascending order of round.
struct Iteration {
  std::uint32_t first_placed = 0;
  std::uint32_t n_placed = 0;

  bool operator==(const Iteration&) const = default;
};

/// The iterations of one epoch that a strategy has formed itself, in the order in which they are trained.
struct PlannedIterations {
  std::vector<PlacedPack> placed;
  std::vector<Iteration> iterations;  ///< empty: make_schedule() forms them
};

}  // namespace packsim
