// What holds of every network, on random ones that are small enough to check in full.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "sim/engine/flow_network.hpp"

namespace packsim {
namespace {

struct Transfer {
  SimTime start;
  SimTime alone;
  std::vector<LinkUse> uses;
  double done_ns = 0;  // of alone
};

struct Case {
  std::vector<double> bytes_per_s;
  std::vector<Transfer> transfers;  // by start
};

std::int64_t below(std::mt19937& random, std::int64_t n) {
  return static_cast<std::int64_t>(random()) % n;
}

Case random_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  Case made;
  const std::int64_t n_links = 1 + below(random, 6);
  for (std::int64_t i = 0; i < n_links; ++i) {
    made.bytes_per_s.push_back(1e8 * static_cast<double>(1 + below(random, 10)));
  }
  const std::int64_t n_transfers = 2 + below(random, 14);
  for (std::int64_t i = 0; i < n_transfers; ++i) {
    Transfer transfer{
        .start = {below(random, 1'500'000)}, .alone = {1000 + below(random, 1'000'000)}, .uses = {}};
    for (std::int64_t link = 0; link < n_links; ++link) {
      // Half of the links; some with the bytes of the wire's time, some with fewer, some with more.
      if (below(random, 2) == 0) continue;
      const double wire_bytes = made.bytes_per_s[static_cast<std::size_t>(link)] * to_seconds(transfer.alone);
      transfer.uses.push_back(
          {static_cast<LinkId>(link), wire_bytes * static_cast<double>(1 + below(random, 6)) / 4});
    }
    made.transfers.push_back(transfer);
  }
  std::ranges::sort(made.transfers, {}, &Transfer::start);
  return made;
}

// What a transfer has on a link alone: the wire's rate at most.
double lone_rate(const Case& made, const Transfer& transfer, const LinkUse& use) {
  return std::min(use.bytes / to_seconds(transfer.alone), made.bytes_per_s[use.link]);
}

double busiest_rate(const Case& made, const Transfer& transfer, double speed) {
  double rate = 0;
  for (const LinkUse& use : transfer.uses) rate = std::max(rate, speed * lone_rate(made, transfer, use));
  return rate;
}

using Running = std::map<TransferId, std::size_t>;  // index of the transfer

// No link carries more than it can, and each transfer is at full speed or on a full link on which nobody has
// more: the definition of max-min fair.
void check_fair(const Case& made, const FlowNetwork& network, const Running& running) {
  std::vector<double> loads(made.bytes_per_s.size());
  std::vector<double> highest(made.bytes_per_s.size());
  for (const auto& [id, index] : running) {
    const Transfer& transfer = made.transfers[index];
    for (const LinkUse& use : transfer.uses) {
      loads[use.link] += network.speed(id) * lone_rate(made, transfer, use);
      highest[use.link] = std::max(highest[use.link], busiest_rate(made, transfer, network.speed(id)));
    }
  }
  constexpr double kClose = 1e-8;
  for (std::size_t link = 0; link < loads.size(); ++link) {
    REQUIRE(loads[link] <= made.bytes_per_s[link] * (1 + kClose));
  }
  for (const auto& [id, index] : running) {
    const Transfer& transfer = made.transfers[index];
    const double speed = network.speed(id);
    REQUIRE(speed > 0);
    REQUIRE(speed <= 1);
    if (speed == 1) continue;
    const double rate = busiest_rate(made, transfer, speed);
    const bool is_held_up = std::ranges::any_of(transfer.uses, [&](const LinkUse& use) {
      return loads[use.link] >= made.bytes_per_s[use.link] * (1 - kClose) &&
             highest[use.link] <= rate * (1 + kClose);
    });
    REQUIRE(is_held_up);
  }
}

// Runs the case; calls visit(running) after each event, and answers the ends.
template <typename Visit>
std::vector<SimTime> run(const Case& made, FlowNetwork& network, const Visit& visit) {
  std::vector<SimTime> ends(made.transfers.size());
  Running running;
  std::size_t next = 0;
  while (next < made.transfers.size() || !network.empty()) {
    const auto end = network.next_end();
    if (end && (next == made.transfers.size() || end->time <= made.transfers[next].start)) {
      visit(end->time, running);
      network.finish(end->transfer, end->time);
      ends[running.at(end->transfer)] = end->time;
      running.erase(end->transfer);
    } else {
      const Transfer& transfer = made.transfers[next];
      visit(transfer.start, running);
      running[network.start(transfer.start, transfer.alone, transfer.uses)] = next++;
    }
  }
  return ends;
}

std::vector<SimTime> run(const Case& made, FlowNetwork& network) {
  return run(made, network, [](SimTime, const Running&) {});
}

}  // namespace

TEST_CASE("rates are max-min fair at every moment") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    const Case made = random_case(seed);
    FlowNetwork network(made.bytes_per_s);
    run(made, network, [&](SimTime, const Running& running) { check_fair(made, network, running); });
  }
}

TEST_CASE("a transfer ends in the nanosecond in which it has done its work") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Case made = random_case(seed);
    FlowNetwork network(made.bytes_per_s);
    SimTime before;
    std::vector<SimTime> starts;
    const auto work = [&](SimTime now, const Running& running) {
      for (const auto& [id, index] : running) {
        made.transfers[index].done_ns += static_cast<double>((now - before).ns) * network.speed(id);
      }
      before = now;
    };
    run(made, network, work);
    // Ends are rounded to the nearest nanosecond.
    for (const Transfer& transfer : made.transfers) {
      CHECK(std::abs(transfer.done_ns - static_cast<double>(transfer.alone.ns)) <= 0.5 + 1e-6);
    }
  }
}

TEST_CASE("a link that has work is never idle") {
  // Transfers that could each fill one link, and arrive before it is done: it ends when it has sent them all.
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    FlowNetwork network({1e9});
    std::int64_t total_ns = 0;
    Case made{.bytes_per_s = {1e9}, .transfers = {}};
    for (int i = 0; i < 20; ++i) {
      const std::int64_t alone_ns = 1000 + below(random, 100'000);
      const std::int64_t start_ns = total_ns == 0 ? 0 : below(random, total_ns);
      made.transfers.push_back({.start = {start_ns},
                                .alone = {alone_ns},
                                .uses = {{.link = 0, .bytes = static_cast<double>(alone_ns)}}});
      total_ns += alone_ns;
    }
    // Sorted by start, each still starts before those before it are done only if the sum of these is later.
    std::ranges::sort(made.transfers, {}, &Transfer::start);
    std::int64_t busy_until_ns = 0;
    for (const Transfer& transfer : made.transfers) {
      busy_until_ns = std::max(busy_until_ns, transfer.start.ns) + transfer.alone.ns;
    }
    const std::vector<SimTime> ends = run(made, network);
    // Each of the 20 ends may be half a nanosecond off, and with it when the others speed up.
    CHECK(std::abs(std::ranges::max(ends).ns - busy_until_ns) <= 20);
  }
}

TEST_CASE("a network that is k times as fast takes 1/k of the time") {
  constexpr std::int64_t kFaster = 8;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    const Case fast = random_case(seed);
    Case slow = fast;
    for (double& bytes_per_s : slow.bytes_per_s) bytes_per_s /= kFaster;
    for (Transfer& transfer : slow.transfers) {
      transfer.start.ns *= kFaster;
      transfer.alone.ns *= kFaster;
    }
    FlowNetwork fast_network(fast.bytes_per_s);
    FlowNetwork slow_network(slow.bytes_per_s);
    const std::vector<SimTime> fast_ends = run(fast, fast_network);
    const std::vector<SimTime> slow_ends = run(slow, slow_network);
    for (std::size_t i = 0; i < fast_ends.size(); ++i) {
      // As many roundings as transfers, each of half a nanosecond of the fast one.
      const auto slack_ns = static_cast<std::int64_t>(kFaster * fast_ends.size());
      CHECK(std::abs(fast_ends[i].ns * kFaster - slow_ends[i].ns) <= slack_ns);
    }
  }
}

TEST_CASE("the same transfers end at the same times in a new network and in one that was used") {
  FlowNetwork used(std::vector<double>(6, 1e9));
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    Case made = random_case(seed);
    made.bytes_per_s.assign(6, 1e9);
    FlowNetwork fresh(made.bytes_per_s);
    used.clear();
    CHECK(run(made, used) == run(made, fresh));
  }
}

}  // namespace packsim
