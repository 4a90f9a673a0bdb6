#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/engine/op_graph.hpp"

namespace packsim {

// A graph as plain data, for tests that change one or run it by hand.
struct OpSpec {
  std::size_t stream = 0;
  int collective = -1;  // -1: local
  std::int64_t duration_ns = 0;
  Cause cause = Cause::linear;
  std::vector<std::size_t> after;
};
struct GraphSpec {
  struct Stream {
    std::uint32_t rank = 0;
    StreamKind kind = StreamKind::compute;
  };
  std::vector<Stream> streams;
  std::vector<std::int64_t> collectives_ns;
  std::vector<OpSpec> ops;
};

// uses: [n_collectives], or empty.
inline OpGraph build(const GraphSpec& spec, const std::vector<std::vector<LinkUse>>& uses = {}) {
  OpGraph graph;
  for (const auto& stream : spec.streams) graph.add_stream(stream.rank, stream.kind);
  for (std::size_t i = 0; i < spec.collectives_ns.size(); ++i) {
    graph.add_collective({spec.collectives_ns[i]}, uses.empty() ? std::vector<LinkUse>{} : uses[i]);
  }
  for (const OpSpec& op : spec.ops) {
    const std::vector<OpId> after(op.after.begin(), op.after.end());
    const auto stream = static_cast<StreamId>(op.stream);
    if (op.collective < 0) {
      graph.add_op(stream, {op.duration_ns}, op.cause, after);
    } else {
      graph.join(stream, static_cast<CollectiveId>(op.collective), op.cause, after);
    }
  }
  return graph;
}

inline std::size_t draw_below(std::mt19937& generator, std::size_t n) {
  return generator() % n;
}

struct RandomGraphSize {
  std::size_t max_ranks = 4;
  std::size_t max_steps = 16;
  std::int64_t max_ns = 5;
};

// Ranks with a compute stream and up to two communication streams. A step adds a local operation or a whole
// collective, and waits for operations of earlier steps alone: so the order of adding runs without deadlock.
inline GraphSpec random_graph(std::mt19937& generator, const RandomGraphSize& size) {
  GraphSpec spec;
  const std::size_t n_ranks = 1 + draw_below(generator, size.max_ranks);
  for (std::uint32_t rank = 0; rank < n_ranks; ++rank) {
    spec.streams.push_back({rank, StreamKind::compute});
    for (std::size_t n = draw_below(generator, 3); n > 0; --n) {
      spec.streams.push_back({rank, StreamKind::communication});
    }
  }
  const auto duration_ns = [&] {
    return static_cast<std::int64_t>(draw_below(generator, static_cast<std::size_t>(size.max_ns) + 1));
  };
  const std::size_t n_steps = 1 + draw_below(generator, size.max_steps);
  for (std::size_t step = 0; step < n_steps; ++step) {
    const std::size_t n_before = spec.ops.size();
    const auto add = [&](std::size_t stream, int collective) {
      OpSpec op{.stream = stream,
                .collective = collective,
                .cause = static_cast<Cause>(draw_below(generator, kNCauses)),
                .after = {}};
      if (collective < 0) op.duration_ns = duration_ns();
      for (std::size_t n = n_before == 0 ? 0 : draw_below(generator, 3); n > 0; --n) {
        op.after.push_back(draw_below(generator, n_before));
      }
      spec.ops.push_back(op);
    };
    if (draw_below(generator, 2) == 0) {
      add(draw_below(generator, spec.streams.size()), -1);
    } else {
      std::vector<std::size_t> streams(spec.streams.size());
      for (std::size_t i = 0; i < streams.size(); ++i) {
        streams[i] = i;
        std::swap(streams[i], streams[draw_below(generator, i + 1)]);
      }
      streams.resize(1 + draw_below(generator, streams.size()));
      spec.collectives_ns.push_back(duration_ns());
      for (const std::size_t stream : streams) {
        add(stream, static_cast<int>(spec.collectives_ns.size()) - 1);
      }
    }
  }
  return spec;
}

// The same graph with streams and operations added in another order: those of a stream stay in theirs, and
// an operation comes behind what it waits for. op_at, stream_at: where those of `spec` have gone.
struct Reordered {
  GraphSpec spec;
  std::vector<std::size_t> op_at;
};
inline Reordered reorder(const GraphSpec& spec, std::mt19937& generator) {
  Reordered made;
  made.spec.collectives_ns = spec.collectives_ns;
  const std::size_t turn = draw_below(generator, spec.streams.size());
  const std::size_t n_streams = spec.streams.size();
  for (std::size_t i = 0; i < n_streams; ++i)
    made.spec.streams.push_back(spec.streams[(i + turn) % n_streams]);

  std::vector<std::vector<std::size_t>> left(n_streams);  // the last first
  for (std::size_t op = spec.ops.size(); op-- > 0;) left[spec.ops[op].stream].push_back(op);
  constexpr std::size_t kNowhere = SIZE_MAX;
  made.op_at.assign(spec.ops.size(), kNowhere);
  while (made.spec.ops.size() < spec.ops.size()) {
    auto& stream = left[draw_below(generator, n_streams)];
    if (stream.empty()) continue;
    OpSpec op = spec.ops[stream.back()];
    if (std::ranges::any_of(op.after, [&](std::size_t before) { return made.op_at[before] == kNowhere; }))
      continue;
    for (std::size_t& before : op.after) before = made.op_at[before];
    op.stream = (op.stream + n_streams - turn) % n_streams;
    made.op_at[stream.back()] = made.spec.ops.size();
    made.spec.ops.push_back(op);
    stream.pop_back();
  }
  return made;
}

}  // namespace packsim
