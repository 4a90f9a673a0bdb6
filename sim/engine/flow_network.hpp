#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/end_heap.hpp"
#include "sim/engine/sim_time.hpp"

namespace packsim {

using LinkId = std::uint32_t;
using TransferId = std::uint32_t;

/// Bytes that one transfer puts on one link.
struct LinkUse {
  LinkId link = 0;
  double bytes = 0;
};

/// Transfers that share links by max-min fairness.
///
/// A transfer is a point-to-point copy or a whole collective: bytes on one or more links, which progress
/// together. Alone, a transfer takes its measured time, even if that is faster than its links allow. Together
/// with others, no link carries more than its capacity. The rate of a transfer is the rate on its busiest
/// link. Rates are fair: no transfer could be faster without slowing down another that is not faster itself.
///
/// If the measured time of a transfer is too short for its bytes on a link, the transfer counts as filling
/// that link. The time was measured, so the link's capacity or the bytes must be a wrong estimate.
///
/// Rates change when a transfer starts or ends. Only transfers that are connected to it, over links that
/// cannot carry all their transfers at full speed, change their rates. The ends of all others stay the same
/// to the nanosecond.
///
/// Throws std::logic_error if the caller breaks a condition that is stated below.
class FlowNetwork {
 public:
  /// link_bytes_per_s: [n_links], each above 0.
  explicit FlowNetwork(std::vector<double> link_bytes_per_s);

  /// Starts a transfer at `now`, which must not be before the time of any earlier call. alone: its duration
  /// if no other transfer shares its links. uses: names each link at most once and may be empty.
  TransferId start(SimTime now, SimTime alone, std::span<const LinkUse> uses);

  /// The transfer that ends first at the current rates; if several do, the one with the lowest id. None if no
  /// transfer is running.
  struct End {
    TransferId transfer = 0;
    SimTime time;
  };
  std::optional<End> next_end() const;

  /// Removes a transfer that has ended. Its id may be used again.
  void finish(TransferId transfer, SimTime now);

  /// The current rate of a running transfer over its rate alone: above 0, at most 1.
  double speed(TransferId transfer) const;

  bool empty() const { return ends_.empty(); }
  /// Forgets all transfers and the time; keeps the links.
  void clear();

 private:
  struct Use {
    LinkId link = 0;
    std::uint32_t place = 0;  // index in Link::users
    std::int64_t load = 0;    // at full speed, in parts of the link's capacity
    double weight = 0;        // bytes over the bytes on the transfer's busiest link
  };
  struct Transfer {
    bool running = false;
    SimTime end;              // at its current speed
    SimTime since;            // when it got its current speed
    double remaining_ns = 0;  // at full speed, at `since`
    double speed = 1;
    double full_bytes_per_s = 0;  // on its busiest link
    std::vector<Use> uses;
    std::uint64_t found = 0;  // the latest search that reached it
    double next_speed = 0;    // while rates are computed; 0: not known yet
  };
  struct User {
    TransferId transfer = 0;
    std::uint32_t use = 0;  // index in Transfer::uses
  };
  struct Link {
    double bytes_per_s = 0;
    std::int64_t load = 0;  // of all users at full speed, in parts of the capacity
    std::vector<User> users;
    std::uint64_t found = 0;
    // While rates are computed: the capacity left by transfers whose rate is known, and the weight and number
    // of the others.
    double left_bytes_per_s = 0;
    double weight = 0;
    std::uint32_t n_users = 0;
  };
  // The rate of transfers, on their busiest links, at which a link is full.
  struct Level {
    double bytes_per_s = 0;
    LinkId link = 0;
    friend auto operator<=>(const Level&, const Level&) = default;
  };

  static bool overloaded(const Link& link);
  void advance(SimTime now);
  TransferId new_id();
  const Transfer& running(TransferId transfer) const;
  void check(std::span<const LinkUse> uses);
  void enter(TransferId transfer, double alone_s, std::span<const LinkUse> uses);
  void leave(TransferId transfer);
  void find_connected(TransferId transfer);
  void share();
  void fill_links();
  void settle_full_speed(double level_bytes_per_s);
  void settle(Transfer& transfer, double bytes_per_s);
  void push(LinkId link, double level_bytes_per_s);
  void set_speed(TransferId transfer);

  std::vector<Link> links_;
  std::vector<Transfer> transfers_;
  std::vector<TransferId> free_ids_;
  EndHeap ends_;
  SimTime now_;
  std::uint64_t search_ = 0;
  // Results of the latest search. They are members so that their memory is used again.
  std::vector<TransferId> connected_;
  std::size_t n_full_speed_ = 0;  // transfers of connected_ that are known to reach full speed
  std::vector<Level> levels_;     // a heap, the lowest on top
};

}  // namespace packsim
