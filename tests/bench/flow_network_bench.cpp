// Transfers that end and are followed by the next one, at a constant number of transfers. An item is one
// finish and one start.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/flow_network.hpp"

namespace {

using namespace packsim;

constexpr double kBytesPerS = 50e9;

// Runs n transfers; each that ends is followed by one over the same links. Sizes differ, so that ends do too.
template <typename Uses>
void run_transfers(benchmark::State& state, std::size_t n_links, std::size_t n_transfers, const Uses& uses) {
  FlowNetwork network(std::vector<double>(n_links, kBytesPerS));
  std::uint64_t n_started = 0;
  std::vector<std::size_t> places(n_transfers);
  const auto start = [&](SimTime now, std::size_t place) {
    const std::int64_t alone_ns = 1'000'000 + static_cast<std::int64_t>(n_started++ * 7919 % 100'003);
    const double bytes = kBytesPerS * to_seconds({alone_ns});
    places[network.start(now, {alone_ns}, uses(place, bytes))] = place;
  };
  for (std::size_t i = 0; i < n_transfers; ++i) start({}, i);
  const auto step = [&] {
    const FlowNetwork::End end = *network.next_end();
    network.finish(end.transfer, end.time);
    start(end.time, places[end.transfer]);
  };
  for (std::size_t i = 0; i < 4 * n_transfers; ++i) step();
  for (auto _ : state) step();
  state.SetItemsProcessed(state.iterations());
}

// Nothing contends: every one of n transfers has four links of its own.
void alone(benchmark::State& state) {
  const auto n_transfers = static_cast<std::size_t>(state.range(0));
  run_transfers(state, 4 * n_transfers, n_transfers, [](std::size_t place, double bytes) {
    const auto link = static_cast<LinkId>(4 * place);
    return std::array{LinkUse{link, bytes}, LinkUse{link + 1, bytes}, LinkUse{link + 2, bytes / 2},
                      LinkUse{link + 3, bytes / 8}};
  });
}
BENCHMARK(alone)->Arg(1)->Arg(256)->Arg(4096);

// All n transfers share one link, and have three of their own.
void one_link(benchmark::State& state) {
  const auto n_transfers = static_cast<std::size_t>(state.range(0));
  run_transfers(state, 3 * n_transfers + 1, n_transfers, [](std::size_t place, double bytes) {
    const auto link = static_cast<LinkId>(3 * place + 1);
    return std::array{LinkUse{0, bytes}, LinkUse{link, bytes}, LinkUse{link + 1, bytes / 2},
                      LinkUse{link + 2, bytes / 8}};
  });
}
BENCHMARK(one_link)->Arg(2)->Arg(16)->Arg(256);

// Transfer i shares a link with each of its neighbours: one connected lot with as many full links.
void chain(benchmark::State& state) {
  const auto n_transfers = static_cast<std::size_t>(state.range(0));
  run_transfers(state, n_transfers + 1, n_transfers, [](std::size_t place, double bytes) {
    const auto link = static_cast<LinkId>(place);
    return std::array{LinkUse{link, bytes}, LinkUse{link + 1, bytes}};
  });
}
BENCHMARK(chain)->Arg(2)->Arg(16)->Arg(256);

}  // namespace
