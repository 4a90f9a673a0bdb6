#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/programs.hpp"
#include "sim/sim_time.hpp"

namespace packsim {

/// What a rank did in one run.
struct RankTimes {
  SimTime busy;    ///< in run operations
  SimTime finish;  ///< of its last operation
};

/// Runs programs in simulated time. Events are: a rank starts its program; a run operation finishes; a
/// barrier opens. An object keeps its buffers between runs, and nothing else.
class Engine {
 public:
  /// Runs all ranks from `start` on until each has done its last operation; returns when the last one has.
  ///
  /// Throws std::logic_error where ranks wait at a barrier that never fills, and where more ranks come to a
  /// barrier than it is for: a bug in whoever wrote the programs.
  SimTime run(const Programs& programs, SimTime start);

  /// Of the latest run.
  std::span<const RankTimes> ranks() const { return times_; }
  std::uint64_t n_events() const { return n_events_; }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  struct RankState {
    const Operation* next = nullptr;
    const Operation* end = nullptr;
    std::uint32_t waits_behind = kNobody;  // the rank that came to the same barrier before this one
  };
  struct BarrierState {
    std::uint32_t n_arrived = 0;
    std::uint32_t last_arrived = kNobody;
  };

  void reset(const Programs& programs, SimTime start);
  void advance(std::uint32_t rank, SimTime now);
  void arrive(std::uint32_t rank, std::uint32_t barrier, SimTime now);
  void open(std::uint32_t barrier, SimTime now);
  [[noreturn]] void deadlock() const;

  std::span<const BarrierSpec> specs_;  // of the programs that run
  EventQueue<std::uint32_t> queue_;     // payload: the rank, or the barrier that opens
  std::vector<RankState> states_;
  std::vector<RankTimes> times_;
  std::vector<BarrierState> barriers_;
  std::size_t n_running_ = 0;  // ranks whose program has not ended
  std::uint64_t n_events_ = 0;
};

}  // namespace packsim
