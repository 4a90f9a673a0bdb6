#pragma once

#include <cstdint>

#include "sim/engine/op_graph.hpp"

namespace packsim {

/// The streams of a rank: one that computes and one that communicates.
struct Rank {
  StreamId compute;
  StreamId links;
};

inline Rank add_rank(OpGraph& graph, std::uint32_t rank) {
  const StreamId compute = graph.add_stream(rank, StreamKind::compute);
  return {compute, graph.add_stream(rank, StreamKind::communication)};
}

}  // namespace packsim
