#include "sim/engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace packsim {

SimTime Engine::run(const Programs& programs, SimTime start) {
  reset(programs, start);
  SimTime now = start;
  while (!queue_.empty()) {
    const auto event = queue_.pop();
    now = event.time;
    ++n_events_;
    if (event.priority == Priority::barrier) {
      open(event.payload, now);
    } else {
      advance(event.payload, now);
    }
  }
  if (n_running_ > 0) deadlock();
  return now;
}

void Engine::reset(const Programs& programs, SimTime start) {
  const std::size_t n_ranks = programs.n_ranks();
  specs_ = programs.barriers();
  queue_.clear();
  queue_.reserve(n_ranks);  // a rank runs or waits, so it has one event at most
  barriers_.assign(specs_.size(), {});
  times_.assign(n_ranks, {{}, start});
  states_.resize(n_ranks);
  n_running_ = n_ranks;
  n_events_ = 0;
  for (std::size_t rank = 0; rank < n_ranks; ++rank) {
    const auto operations = programs.operations(rank);
    states_[rank] = {operations.data(), operations.data() + operations.size(), kNobody};
    queue_.push(start, Priority::start, static_cast<std::uint32_t>(rank));
  }
}

// The rank's previous operation is over: begin the next one.
void Engine::advance(std::uint32_t rank, SimTime now) {
  RankState& state = states_[rank];
  if (state.next == state.end) {
    times_[rank].finish = now;
    --n_running_;
    return;
  }
  const Operation& operation = *state.next++;
  switch (operation.kind) {
    case Operation::Kind::run:
      times_[rank].busy += operation.duration;
      queue_.push(now + operation.duration, Priority::finish, rank);
      break;
    case Operation::Kind::wait:
      arrive(rank, operation.barrier, now);
      break;
  }
}

void Engine::arrive(std::uint32_t rank, std::uint32_t barrier, SimTime now) {
  if (barrier >= specs_.size()) {
    throw std::logic_error("rank " + std::to_string(rank) + " waits at barrier " + std::to_string(barrier) +
                           ", expected one below " + std::to_string(specs_.size()));
  }
  const BarrierSpec& spec = specs_[barrier];
  BarrierState& state = barriers_[barrier];
  if (state.n_arrived == spec.n_ranks) {
    throw std::logic_error("barrier " + std::to_string(barrier) + ": rank " + std::to_string(rank) +
                           " comes after all " + std::to_string(spec.n_ranks) + " ranks that it is for");
  }
  states_[rank].waits_behind = state.last_arrived;
  state.last_arrived = rank;
  if (++state.n_arrived == spec.n_ranks) queue_.push(now + spec.duration, Priority::barrier, barrier);
}

void Engine::open(std::uint32_t barrier, SimTime now) {
  std::uint32_t rank = std::exchange(barriers_[barrier].last_arrived, kNobody);
  while (rank != kNobody) {
    const std::uint32_t before = states_[rank].waits_behind;
    advance(rank, now);
    rank = before;
  }
}

void Engine::deadlock() const {
  std::string what = "deadlock:";
  for (std::size_t barrier = 0; barrier < barriers_.size(); ++barrier) {
    if (barriers_[barrier].last_arrived == kNobody) continue;
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t rank = barriers_[barrier].last_arrived; rank != kNobody;
         rank = states_[rank].waits_behind) {
      waiting.push_back(rank);
    }
    std::ranges::sort(waiting);
    what += " barrier " + std::to_string(barrier) + " has " + std::to_string(waiting.size()) + " of " +
            std::to_string(specs_[barrier].n_ranks) + " ranks (";
    for (const std::uint32_t rank : waiting)
      what += (rank == waiting.front() ? "" : ", ") + std::to_string(rank);
    what += ");";
  }
  what.pop_back();
  throw std::logic_error(what);
}

}  // namespace packsim
