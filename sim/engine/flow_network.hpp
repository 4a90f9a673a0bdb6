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

/// Transfers that share links max-min fairly.
///
/// A transfer is a point-to-point copy or a whole collective: bytes on one or more links that progress
/// together. Alone it takes the time that was measured for it, whatever the links could do; together with
/// others none of its links carries more than its capacity. Fair is the rate of a transfer's busiest link: no
/// transfer could have more without one that has no more having less.
///
/// Where the measured time is shorter than the bytes need on a link, the transfer counts as filling that
/// link: it was measured, so the link's capacity or the bytes are an estimate.
///
/// Rates change when a transfer starts or ends, and only those of transfers that are connected to it over
/// links that cannot carry all their transfers at full speed. The others keep their ends to the nanosecond.
/// A breach of what is asked of the caller below is a std::logic_error.
class FlowNetwork {
 public:
  /// link_bytes_per_s: [n_links], over 0.
  explicit FlowNetwork(std::vector<double> link_bytes_per_s);

  /// Starts a transfer at `now`. alone: what it takes while nothing contends; uses: links named once, may be
  /// empty. now must not lie before that of any call before.
  TransferId start(SimTime now, SimTime alone, std::span<const LinkUse> uses);

  /// The transfer that ends first at the present rates, the lowest id among several; none runs: nothing.
  struct End {
    TransferId transfer = 0;
    SimTime time;
  };
  std::optional<End> next_end() const;

  /// Takes a transfer that has ended out of the network. Its id is used again.
  void finish(TransferId transfer, SimTime now);

  /// The present rate of a running transfer over the one that it has alone: over 0, at most 1.
  double speed(TransferId transfer) const;

  bool empty() const { return ends_.empty(); }
  /// Forgets all transfers and the time; keeps the links.
  void clear();

 private:
  struct Use {
    LinkId link = 0;
    std::uint32_t place = 0;  // in the link's users
    std::int64_t load = 0;    // at full speed, in parts of the link's capacity
    double weight = 0;        // bytes over those on the transfer's busiest link
  };
  struct Transfer {
    bool running = false;
    SimTime end;              // at the present speed
    SimTime since;            // when it got that speed
    double remaining_ns = 0;  // at full speed, at `since`
    double speed = 1;
    double full_bytes_per_s = 0;  // on its busiest link
    std::vector<Use> uses;
    std::uint64_t found = 0;  // the latest search that came by
    double next_speed = 0;    // while rates are found; 0: not known yet
  };
  struct User {
    TransferId transfer = 0;
    std::uint32_t use = 0;  // in the transfer's uses
  };
  struct Link {
    double bytes_per_s = 0;
    std::int64_t load = 0;  // of all users at full speed, in parts of the capacity
    std::vector<User> users;
    std::uint64_t found = 0;
    // While rates are found: what the transfers whose rate is known leave, and the others.
    double left_bytes_per_s = 0;
    double weight = 0;
    std::uint32_t n_users = 0;
  };
  // The rate of busiest links at which a link is full.
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
  // Of the latest search; members to keep their memory.
  std::vector<TransferId> connected_;
  std::size_t n_full_speed_ = 0;  // of connected_, those known to reach it
  std::vector<Level> levels_;     // a heap, the lowest on top
};

}  // namespace packsim
