#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/sim_time.hpp"

namespace packsim {

/// One thing that a rank does.
struct Operation {
  enum class Kind : std::uint8_t { run, wait };
  Kind kind = Kind::run;
  std::uint32_t barrier = 0;  ///< of a wait
  SimTime duration;           ///< of a run
};

/// A meeting of ranks: it opens `duration` after the last of them has come. Used once.
struct BarrierSpec {
  std::uint32_t n_ranks = 0;
  SimTime duration;
};

/// What each rank does, one operation after the other. Keeps its memory when cleared, so that one object can
/// hold the programs of one iteration after another.
class Programs {
 public:
  void clear() {
    operations_.clear();
    begins_.clear();
    barriers_.clear();
  }

  /// Later run() and wait() calls speak of this rank.
  void add_rank() { begins_.push_back(operations_.size()); }
  void run(SimTime duration) { operations_.push_back({Operation::Kind::run, 0, duration}); }
  void wait(std::uint32_t barrier) { operations_.push_back({Operation::Kind::wait, barrier, {}}); }

  /// Returns the index of the barrier. `n_ranks` ranks must wait at it.
  std::uint32_t add_barrier(std::uint32_t n_ranks, SimTime duration = {}) {
    barriers_.push_back({n_ranks, duration});
    return static_cast<std::uint32_t>(barriers_.size() - 1);
  }

  std::size_t n_ranks() const { return begins_.size(); }
  std::span<const BarrierSpec> barriers() const { return barriers_; }
  std::span<const Operation> operations(std::size_t rank) const {
    const std::size_t end = rank + 1 < begins_.size() ? begins_[rank + 1] : operations_.size();
    return std::span(operations_).subspan(begins_[rank], end - begins_[rank]);
  }

 private:
  std::vector<Operation> operations_;  // of all ranks
  std::vector<std::size_t> begins_;    // [n_ranks], positions in operations_
  std::vector<BarrierSpec> barriers_;
};

}  // namespace packsim
