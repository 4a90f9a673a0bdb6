#include "sim/run/probe_burst.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/op_engine.hpp"
#include "sim/engine/op_graph.hpp"

namespace packsim {

ProbeBurst spread_probes(std::span<const ProbePass> passes, int n_gpus, SimTime exchange) {
  std::vector<ProbePass> order(passes.begin(), passes.end());
  std::ranges::stable_sort(order, [](const ProbePass& one, const ProbePass& other) {
    return one.gpus != other.gpus ? one.gpus > other.gpus : one.time_ns > other.time_ns;
  });
  OpGraph graph;
  std::vector<StreamId> streams;
  for (int gpu = 0; gpu < n_gpus; ++gpu)
    streams.push_back(graph.add_stream(static_cast<std::uint32_t>(gpu), StreamKind::compute));
  std::vector<std::int64_t> free_ns(static_cast<std::size_t>(n_gpus), 0);
  ProbeBurst burst;
  for (const ProbePass& pass : order) {
    if (pass.gpus > n_gpus || pass.gpus < 1) {
      throw std::invalid_argument("probe: expected 1 to " + std::to_string(n_gpus) + " GPUs, got " +
                                  std::to_string(pass.gpus));
    }
    const auto width = static_cast<std::size_t>(pass.gpus);
    std::size_t best = 0;
    std::int64_t best_ns = -1;
    for (std::size_t first = 0; first + width <= free_ns.size(); first += width) {
      const auto begin = free_ns.begin() + static_cast<std::ptrdiff_t>(first);
      const std::int64_t start_ns = *std::max_element(begin, begin + pass.gpus);
      if (best_ns >= 0 && start_ns >= best_ns) continue;
      best = first;
      best_ns = start_ns;
    }
    burst.busy_ns += pass.gpus * pass.time_ns;
    if (width == 1) {
      graph.add_work(streams[best], SimTime{pass.time_ns}, Cause::linear);
      free_ns[best] += pass.time_ns;
      continue;
    }
    const CollectiveId together = graph.add_collective(SimTime{pass.time_ns});
    for (std::size_t gpu = best; gpu < best + width; ++gpu) {
      graph.join(streams[gpu], together, Cause::linear);
      free_ns[gpu] = best_ns + pass.time_ns;
    }
  }
  const CollectiveId results = graph.add_collective(exchange);
  for (const StreamId stream : streams) graph.join(stream, results, Cause::states);
  OpEngine engine;
  burst.time = engine.run(graph, nullptr, {}, SimTime{});
  return burst;
}

ProbeBurst lockstep_probes(std::span<const ProbePass> passes, int n_gpus, SimTime exchange) {
  std::vector<ProbePass> order(passes.begin(), passes.end());
  std::ranges::stable_sort(order, std::greater<>(), &ProbePass::time_ns);
  ProbeBurst burst;
  OpGraph graph;
  const StreamId stream = graph.add_stream(0, StreamKind::compute);
  int n_free = 0;
  for (const ProbePass& pass : order) {
    if (pass.gpus > n_gpus || pass.gpus < 1) {
      throw std::invalid_argument("probe: expected 1 to " + std::to_string(n_gpus) + " GPUs, got " +
                                  std::to_string(pass.gpus));
    }
    burst.busy_ns += pass.gpus * pass.time_ns;
    if (pass.gpus > n_free) {  // the next round, which its first pass is the longest of
      graph.add_work(stream, SimTime{pass.time_ns}, Cause::linear);
      n_free = n_gpus;
    }
    n_free -= pass.gpus;
  }
  graph.add_work(stream, exchange, Cause::states);
  OpEngine engine;
  burst.time = engine.run(graph, nullptr, {}, SimTime{});
  return burst;
}

ProbeBurst repeat_probes(std::span<const ProbePass> passes, int n_gpus) {
  OpGraph graph;
  const StreamId stream = graph.add_stream(0, StreamKind::compute);
  for (const ProbePass& pass : passes) graph.add_work(stream, SimTime{pass.time_ns}, Cause::linear);
  OpEngine engine;
  ProbeBurst burst{.time = engine.run(graph, nullptr, {}, SimTime{})};
  burst.busy_ns = n_gpus * burst.time.ns;
  return burst;
}

}  // namespace packsim
