#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// The GPUs of one iteration, cut into blocks. All GPUs of a block train the same packs, each alone or
/// together with other blocks. If all packs have the same number of GPUs, a block is a data-parallel rank.
/// Keeps its memory from iteration to iteration.
class IterationMesh {
 public:
  struct Block {
    int first_gpu = 0;
    int n_gpus = 1;
  };

  /// Sets the blocks of an iteration, whose packs may lie on any GPUs of the schedule.
  void set(const Schedule& schedule, const Iteration& iteration);

  std::span<const Block> blocks() const { return blocks_; }
  /// Positions in the iteration of a block's packs, by ascending round.
  std::span<const std::uint32_t> packs(std::size_t block) const {
    return std::span(packs_).subspan(offsets_[block], offsets_[block + 1] - offsets_[block]);
  }
  /// Whether several blocks train the pack at this position together.
  bool is_shared(std::size_t position) const { return n_blocks_[position] > 1; }
  bool has_shared() const { return has_shared_; }

 private:
  void cut(const Schedule& schedule, const Iteration& iteration);

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> offsets_;   // [n_blocks + 1]
  std::vector<std::uint32_t> packs_;     // block after block
  std::vector<std::uint32_t> n_blocks_;  // [n packs of the iteration]
  std::vector<std::uint32_t> block_of_;  // [n_gpus]
  std::vector<bool> cuts_;               // [n_gpus + 1]
  bool has_shared_ = false;
};

}  // namespace packsim
