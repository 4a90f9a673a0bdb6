#include "sim/engine/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace packsim {
namespace {

// Loads are counted in whole parts of a link's capacity, so that what was added can be taken away without a
// trace.
constexpr std::int64_t kCapacity = std::int64_t{1} << 40;
// Loads may be over the capacity by so much (2^-30 of it) from rounding: the halves of 2000 transfers.
constexpr std::int64_t kRounding = std::int64_t{1} << 10;
// Speeds that differ by less are one speed, reached by other sums.
constexpr double kSameSpeed = 1e-12;

}  // namespace

FlowNetwork::FlowNetwork(std::vector<double> link_bytes_per_s) {
  links_.resize(link_bytes_per_s.size());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const double bytes_per_s = link_bytes_per_s[i];
    if (!(bytes_per_s > 0 && std::isfinite(bytes_per_s))) {
      throw std::logic_error("link " + std::to_string(i) + " carries " + std::to_string(bytes_per_s) +
                             " bytes/s, expected over 0");
    }
    links_[i].bytes_per_s = bytes_per_s;
  }
}

TransferId FlowNetwork::start(SimTime now, SimTime alone, std::span<const LinkUse> uses) {
  if (alone.ns < 0) throw std::logic_error("a transfer of " + std::to_string(alone.ns) + " ns");
  check(uses);
  const SimTime end = now + alone;
  advance(now);
  const TransferId id = new_id();
  Transfer& transfer = transfers_[id];
  transfer.running = true;
  transfer.end = end;
  transfer.since = now;
  transfer.remaining_ns = static_cast<double>(alone.ns);
  transfer.speed = 1;
  ends_.push(id, end);
  if (alone.ns > 0) enter(id, to_seconds(alone), uses);
  find_connected(id);
  share();
  return id;
}

std::optional<FlowNetwork::End> FlowNetwork::next_end() const {
  if (ends_.empty()) return std::nullopt;
  return End{ends_.top().id, ends_.top().time};
}

void FlowNetwork::finish(TransferId id, SimTime now) {
  const SimTime end = running(id).end;
  if (now < end) {
    throw std::logic_error("transfer " + std::to_string(id) + " is finished at " + std::to_string(now.ns) +
                           " ns and ends at " + std::to_string(end.ns) + " ns");
  }
  advance(now);
  find_connected(id);
  leave(id);
  std::erase(connected_, id);
  share();
}

double FlowNetwork::speed(TransferId id) const {
  return running(id).speed;
}

void FlowNetwork::clear() {
  while (!ends_.empty()) leave(ends_.all().back().id);
  now_ = {};
}

bool FlowNetwork::overloaded(const Link& link) {
  return link.load > kCapacity + kRounding;
}

void FlowNetwork::advance(SimTime now) {
  if (now < now_) {
    throw std::logic_error("the network is at " + std::to_string(now_.ns) + " ns, and asked to go back to " +
                           std::to_string(now.ns) + " ns");
  }
  now_ = now;
}

TransferId FlowNetwork::new_id() {
  if (free_ids_.empty()) {
    transfers_.emplace_back();
    return static_cast<TransferId>(transfers_.size() - 1);
  }
  const TransferId id = free_ids_.back();
  free_ids_.pop_back();
  return id;
}

const FlowNetwork::Transfer& FlowNetwork::running(TransferId id) const {
  if (id >= transfers_.size() || !transfers_[id].running) {
    throw std::logic_error("transfer " + std::to_string(id) + " does not run");
  }
  return transfers_[id];
}

void FlowNetwork::check(std::span<const LinkUse> uses) {
  ++search_;
  for (const LinkUse& use : uses) {
    if (use.link >= links_.size() || std::exchange(links_[use.link].found, search_) == search_ ||
        !(use.bytes >= 0 && std::isfinite(use.bytes))) {
      throw std::logic_error("a transfer puts " + std::to_string(use.bytes) + " bytes on link " +
                             std::to_string(use.link) + ": expected 0 or more, on each of " +
                             std::to_string(links_.size()) + " links at most once");
    }
  }
}

// Puts a transfer on its links. On each its rate counts as the capacity at most: see the class.
void FlowNetwork::enter(TransferId id, double alone_s, std::span<const LinkUse> uses) {
  Transfer& transfer = transfers_[id];
  const auto rate = [&](const LinkUse& use) {
    return std::min(use.bytes / alone_s, links_[use.link].bytes_per_s);
  };
  transfer.full_bytes_per_s = 0;
  for (const LinkUse& use : uses) {
    transfer.full_bytes_per_s = std::max(transfer.full_bytes_per_s, rate(use));
  }
  for (const LinkUse& use : uses) {
    if (!(use.bytes > 0)) continue;
    Link& link = links_[use.link];
    const auto load = std::llround(rate(use) / link.bytes_per_s * static_cast<double>(kCapacity));
    link.load += load;
    link.users.push_back({id, static_cast<std::uint32_t>(transfer.uses.size())});
    transfer.uses.push_back({.link = use.link,
                             .place = static_cast<std::uint32_t>(link.users.size() - 1),
                             .load = load,
                             .weight = rate(use) / transfer.full_bytes_per_s});
  }
}

void FlowNetwork::leave(TransferId id) {
  Transfer& transfer = transfers_[id];
  for (const Use& use : transfer.uses) {
    Link& link = links_[use.link];
    link.load -= use.load;
    const User last = link.users.back();
    link.users[use.place] = last;
    transfers_[last.transfer].uses[last.use].place = use.place;
    link.users.pop_back();
  }
  transfer.uses.clear();
  transfer.running = false;
  ends_.remove(id);
  free_ids_.push_back(id);
}

// Fills connected_ with the transfers whose rate may change with this one's: it and all that are connected to
// it over overloaded links. Nobody, where all its links carry their transfers at full speed.
void FlowNetwork::find_connected(TransferId first) {
  ++search_;
  connected_.clear();
  const auto spread = [&](const Transfer& transfer) {
    for (const Use& use : transfer.uses) {
      Link& link = links_[use.link];
      if (!overloaded(link) || std::exchange(link.found, search_) == search_) continue;
      for (const User& user : link.users) {
        if (std::exchange(transfers_[user.transfer].found, search_) == search_) continue;
        connected_.push_back(user.transfer);
      }
    }
  };
  spread(transfers_[first]);
  for (std::size_t i = 0; i < connected_.size(); ++i) spread(transfers_[connected_[i]]);
}

// Gives the connected transfers their rates, by progressive filling: the rates of their busiest links rise
// together, and a transfer stops at its full speed or where one of its links is full.
void FlowNetwork::share() {
  if (connected_.empty()) return;
  std::ranges::sort(connected_, {},
                    [&](TransferId id) { return std::pair(transfers_[id].full_bytes_per_s, id); });
  fill_links();
  n_full_speed_ = 0;
  while (!levels_.empty()) {
    std::ranges::pop_heap(levels_, std::greater{});
    const Level level = levels_.back();
    levels_.pop_back();
    Link& link = links_[level.link];
    const std::uint32_t n_users = link.n_users;
    settle_full_speed(level.bytes_per_s);
    if (link.n_users == 0) continue;
    // Transfers that have settled since the level was found leave more of the link. Without any, it is the
    // lowest.
    if (link.n_users < n_users || link.left_bytes_per_s / link.weight > level.bytes_per_s) {
      push(level.link, level.bytes_per_s);
      continue;
    }
    for (const User& user : link.users) {
      Transfer& transfer = transfers_[user.transfer];
      if (transfer.next_speed == 0) settle(transfer, level.bytes_per_s);
    }
  }
  settle_full_speed(HUGE_VAL);
  for (const TransferId id : connected_) set_speed(id);
}

// Starts the search for rates: of all connected transfers, and of the links that cannot carry all of them.
void FlowNetwork::fill_links() {
  ++search_;
  levels_.clear();
  n_full_speed_ = 0;
  for (const TransferId id : connected_) {
    transfers_[id].next_speed = 0;
    for (const Use& use : transfers_[id].uses) {
      Link& link = links_[use.link];
      if (!overloaded(link)) continue;
      if (std::exchange(link.found, search_) != search_) {
        link.left_bytes_per_s = link.bytes_per_s;
        link.weight = 0;
        link.n_users = 0;
        levels_.push_back({0, use.link});
      }
      link.weight += use.weight;
      ++link.n_users;
    }
  }
  for (Level& level : levels_) level.bytes_per_s = links_[level.link].bytes_per_s / links_[level.link].weight;
  std::ranges::make_heap(levels_, std::greater{});
}

// Puts a link whose users' rates are not all known back, at the level that it can reach now.
void FlowNetwork::push(LinkId id, double level_bytes_per_s) {
  const Link& link = links_[id];
  // Levels only rise; where next to nothing is left they would fall by rounding.
  levels_.push_back({std::max(level_bytes_per_s, link.left_bytes_per_s / link.weight), id});
  std::ranges::push_heap(levels_, std::greater{});
}

// Settles the transfers that reach full speed before the level.
void FlowNetwork::settle_full_speed(double level_bytes_per_s) {
  for (; n_full_speed_ < connected_.size(); ++n_full_speed_) {
    Transfer& transfer = transfers_[connected_[n_full_speed_]];
    if (transfer.full_bytes_per_s > level_bytes_per_s) break;
    if (transfer.next_speed == 0) settle(transfer, transfer.full_bytes_per_s);
  }
}

// Settles the rate of a transfer on its busiest link.
void FlowNetwork::settle(Transfer& transfer, double bytes_per_s) {
  transfer.next_speed = bytes_per_s / transfer.full_bytes_per_s;
  for (const Use& use : transfer.uses) {
    Link& link = links_[use.link];
    if (link.found != search_) continue;
    link.left_bytes_per_s -= use.weight * bytes_per_s;
    link.weight -= use.weight;
    --link.n_users;
  }
}

void FlowNetwork::set_speed(TransferId id) {
  Transfer& transfer = transfers_[id];
  const double speed = transfer.next_speed;
  if (std::abs(speed - transfer.speed) <= kSameSpeed * speed) return;
  const auto passed_ns = static_cast<double>((now_ - transfer.since).ns);
  transfer.remaining_ns = std::max(0.0, transfer.remaining_ns - passed_ns * transfer.speed);
  transfer.since = now_;
  transfer.speed = speed;
  if (transfer.end <= now_) return;  // next_end() has named this end already
  transfer.end = now_ + sim_time(transfer.remaining_ns / speed * 1e-9);
  ends_.move(id, transfer.end);
}

}  // namespace packsim
