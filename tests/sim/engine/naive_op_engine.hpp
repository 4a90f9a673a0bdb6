#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/sim/engine/random_op_graph.hpp"

namespace packsim {

struct NaiveTimes {
  std::vector<std::int64_t> start_ns;  // [n_ops]
  std::vector<std::int64_t> end_ns;    // [n_ops]
};

// Runs a graph nanosecond by nanosecond, without contention. slow_down is slow/full: work is counted in parts
// of which a nanosecond does `slow` at full speed and `full` while slowed down.
class NaiveOpEngine {
 public:
  NaiveOpEngine(const GraphSpec& spec, std::int64_t slow, std::int64_t full)
      : spec_(spec), slow_(slow), full_(full), ops_(spec.ops.size()), begun_(spec.collectives_ns.size()) {
    for (std::size_t op = 0; op < ops_.size(); ++op) ops_[op].left = slow * spec.ops[op].duration_ns;
  }

  NaiveTimes run() {
    for (now_ = 0; !std::ranges::all_of(ops_, [](const State& op) { return op.end.has_value(); }); ++now_) {
      while (something_happens()) {
      }
      pass_a_nanosecond();
    }
    NaiveTimes times;
    for (const State& op : ops_) {
      times.start_ns.push_back(*op.start);
      times.end_ns.push_back(*op.end);
    }
    return times;
  }

 private:
  struct State {
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> end;
    std::int64_t left = 0;
    bool running() const { return start && !end; }
  };

  bool something_happens() {
    bool any = false;
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      if (!ops_[op].start && may_start(op)) {
        ops_[op].start = now_;
        any = true;
      }
      if (ops_[op].running() && is_over(op)) {
        ops_[op].end = now_;
        any = true;
      }
    }
    for (std::size_t id = 0; id < begun_.size(); ++id) {
      if (!begun_[id] && all_came(id)) {
        begun_[id] = now_;
        any = true;
      }
    }
    return any;
  }

  bool may_start(std::size_t op) const {
    for (std::size_t before = 0; before < op; ++before) {
      if (spec_.ops[before].stream == spec_.ops[op].stream && !ops_[before].end) return false;
    }
    return std::ranges::all_of(spec_.ops[op].after,
                               [&](std::size_t before) { return ops_[before].end.has_value(); });
  }

  bool is_over(std::size_t op) const {
    const int id = spec_.ops[op].collective;
    if (id < 0) return ops_[op].left <= 0;
    const auto collective = static_cast<std::size_t>(id);
    return begun_[collective] && now_ >= *begun_[collective] + spec_.collectives_ns[collective];
  }

  bool all_came(std::size_t id) const {
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      if (spec_.ops[op].collective == static_cast<int>(id) && !ops_[op].start) return false;
    }
    return true;
  }

  bool communicates(std::uint32_t rank) const {
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      const auto& stream = spec_.streams[spec_.ops[op].stream];
      const int id = spec_.ops[op].collective;
      if (stream.rank == rank && stream.kind == StreamKind::communication && id >= 0 && ops_[op].running() &&
          begun_[static_cast<std::size_t>(id)]) {
        return true;
      }
    }
    return false;
  }

  void pass_a_nanosecond() {
    for (std::size_t op = 0; op < ops_.size(); ++op) {
      if (!ops_[op].running()) continue;
      const auto& stream = spec_.streams[spec_.ops[op].stream];
      const bool slowed = stream.kind == StreamKind::compute && communicates(stream.rank);
      ops_[op].left -= slowed ? full_ : slow_;
    }
  }

  const GraphSpec& spec_;
  std::int64_t slow_;
  std::int64_t full_;
  std::int64_t now_ = 0;
  std::vector<State> ops_;
  std::vector<std::optional<std::int64_t>> begun_;  // [n_collectives]
};

// When operations end without contention and slow-down: the longest way there. In the order of adding all
// that random_graph() makes waits for earlier operations, so a collective's end is known with its last
// participant, and nobody needs it before.
inline std::vector<std::int64_t> longest_path_ends_ns(const GraphSpec& spec) {
  std::vector<std::int64_t> ends(spec.ops.size(), 0);
  std::vector<std::int64_t> stream_end(spec.streams.size(), 0);
  for (std::size_t first = 0; first < spec.ops.size();) {
    std::size_t last = first + 1;
    const int collective = spec.ops[first].collective;
    while (collective >= 0 && last < spec.ops.size() && spec.ops[last].collective == collective) ++last;
    std::int64_t start = 0;
    for (std::size_t op = first; op < last; ++op) {
      start = std::max(start, stream_end[spec.ops[op].stream]);
      for (const std::size_t before : spec.ops[op].after) start = std::max(start, ends[before]);
    }
    const std::int64_t duration = collective < 0 ? spec.ops[first].duration_ns
                                                 : spec.collectives_ns[static_cast<std::size_t>(collective)];
    for (std::size_t op = first; op < last; ++op)
      stream_end[spec.ops[op].stream] = ends[op] = start + duration;
    first = last;
  }
  return ends;
}

}  // namespace packsim
