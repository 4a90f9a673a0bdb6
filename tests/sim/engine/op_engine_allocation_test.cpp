// Counts the allocations of this test program, whoever makes them. Not beside a sanitizer, which has its own.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "sim/engine/op_engine.hpp"

namespace {
std::atomic<std::size_t> n_allocations = 0;
}

void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace packsim {
namespace {

void build(OpGraph& graph, std::int64_t scale) {
  graph.clear();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    graph.add_stream(rank, StreamKind::compute);
    graph.add_stream(rank, StreamKind::communication);
  }
  for (int layer = 0; layer < 20; ++layer) {
    for (std::uint32_t pair = 0; pair < 2; ++pair) {
      const CollectiveId collective = graph.add_collective({scale * 60}, std::array{LinkUse{0, 100.0}});
      for (std::uint32_t rank = 2 * pair; rank < 2 * pair + 2; ++rank) {
        graph.add_work(2 * rank, {scale * (50 + rank)}, Cause::linear);
        graph.join(2 * rank + 1, collective, Cause::states, std::array{graph.last_op(2 * rank)});
      }
    }
  }
}

TEST_CASE("the second step of a size allocates nothing", "[plain]") {
  for (const double slow_down : {1.0, 1.1}) {
    OpGraph graph;
    OpEngine engine;
    FlowNetwork network({1e9});
    const auto step = [&](std::int64_t scale) {
      build(graph, scale);
      engine.run(graph, &network, {slow_down}, {});
    };
    step(1);
    REQUIRE(n_allocations > 0);
    const std::size_t before = n_allocations;
    for (std::int64_t scale = 1; scale < 10; ++scale) step(scale);
    CHECK(n_allocations == before);
  }
}

}  // namespace
}  // namespace packsim

#endif
