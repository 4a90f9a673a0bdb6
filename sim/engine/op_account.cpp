#include "sim/engine/op_account.hpp"

#include <algorithm>

namespace packsim {
namespace {

SimTime& of(TimeByCause& times, Cause cause) {
  return times[static_cast<std::size_t>(cause)];
}

class Accountant {
 public:
  Accountant(const OpGraph& graph, const OpEngine& engine, OpAccount& account)
      : graph_(graph), engine_(engine), account_(account) {}

  void take() {
    account_.ranks.assign(graph_.n_ranks(), {});
    for (std::uint32_t rank = 0; rank < graph_.n_ranks(); ++rank) {
      const StreamId stream = graph_.compute_stream(rank);
      OpId op = stream == OpGraph::kNone ? OpGraph::kNone : graph_.streams()[stream].first;
      SimTime end = engine_.run_start();
      for (; op != OpGraph::kNone; op = graph_.ops()[op].next) {
        take_op(op, end, account_.ranks[rank]);
        end = engine_.end(op);
      }
    }
    take_rest();
  }

 private:
  // Books an operation on the compute stream of a rank, and the gap since the one before it ended.
  void take_op(OpId op, SimTime before, RankAccount& rank) const {
    const Op& what = graph_.ops()[op];
    const SimTime start = engine_.start(op);
    const SimTime transfer = transfer_start(op);
    of(what.is_local() ? rank.busy : rank.exposed, what.cause) += engine_.end(op) - transfer;
    rank.idle += transfer - start;
    if (start > before) explain(waited_for(op), before, start, rank);
  }

  // Books the time after the last operation of each compute stream.
  void take_rest() {
    last_op_.assign(graph_.n_ranks(), OpGraph::kNone);
    for (const OpGraph::Stream& stream : graph_.streams()) {
      OpId& last = last_op_[stream.rank];
      if (end_or_start(stream.last) > end_or_start(last)) last = stream.last;
    }
    for (std::uint32_t rank = 0; rank < graph_.n_ranks(); ++rank) {
      const StreamId stream = graph_.compute_stream(rank);
      const OpId computed = stream == OpGraph::kNone ? OpGraph::kNone : graph_.streams()[stream].last;
      const SimTime end = end_or_start(last_op_[rank]);
      account_.ranks[rank].idle += engine_.run_end() - end;
      explain(last_op_[rank], end_or_start(computed), end, account_.ranks[rank]);
    }
  }

  // Books a gap of a compute stream, up to the end of the operation that it waited for.
  void explain(OpId op, SimTime begin, SimTime end, RankAccount& rank) const {
    while (end > begin) {
      const Op& what = graph_.ops()[op];
      if (what.is_local() && graph_.streams()[what.stream].kind == StreamKind::compute) {
        rank.idle += end - begin;
        return;
      }
      const SimTime transfer = std::max(begin, transfer_start(op));
      const SimTime start = std::max(begin, engine_.start(op));
      of(rank.exposed, what.cause) += end - transfer;
      rank.idle += transfer - start;
      end = start;
      if (end > begin) op = waited_for(op);
    }
  }

  // The last to end of what the operation waited for.
  OpId waited_for(OpId op) const {
    OpId last = graph_.ops()[op].previous;
    for (const OpId after : graph_.after(op)) {
      if (last == OpGraph::kNone || engine_.end(after) > engine_.end(last)) last = after;
    }
    return last;
  }

  SimTime transfer_start(OpId op) const {
    const Op& what = graph_.ops()[op];
    return what.is_local() ? engine_.start(op) : engine_.collective_start(what.collective);
  }

  SimTime end_or_start(OpId op) const { return op == OpGraph::kNone ? engine_.run_start() : engine_.end(op); }

  const OpGraph& graph_;
  const OpEngine& engine_;
  OpAccount& account_;
  std::vector<OpId> last_op_;  // [n_ranks], the last to end on any of the rank's streams
};

}  // namespace

void take_account(const OpGraph& graph, const OpEngine& engine, OpAccount& account) {
  Accountant(graph, engine, account).take();
}

}  // namespace packsim
