// What must hold of any graph, on random ones. Where nothing contends the times are checked against two
// simulators that are too plain to be wrong in the same way.

#include <array>
#include <catch2/catch.hpp>
#include <numeric>

#include "sim/engine/op_account.hpp"
#include "sim/engine/op_engine.hpp"
#include "tests/sim/engine/naive_op_engine.hpp"
#include "tests/sim/engine/random_op_graph.hpp"

namespace packsim {
namespace {

struct Ratio {
  std::int64_t slow;
  std::int64_t full;
  double value() const { return static_cast<double>(slow) / static_cast<double>(full); }
};
constexpr std::array<Ratio, 6> kSlowDowns{{{1, 1}, {11, 10}, {5, 4}, {3, 2}, {2, 1}, {37, 10}}};

std::vector<std::int64_t> ends_ns(const OpEngine& engine, std::size_t n_ops) {
  std::vector<std::int64_t> ends;
  for (OpId op = 0; op < n_ops; ++op) ends.push_back(engine.end(op).ns);
  return ends;
}

std::vector<std::int64_t> ends_ns(const GraphSpec& spec, double slow_down = 1) {
  OpEngine engine;
  engine.run(build(spec), nullptr, {slow_down}, {});
  return ends_ns(engine, spec.ops.size());
}

// Each collective on up to three of four links, with the bytes that fill the first in the time it takes
// alone.
std::vector<std::vector<LinkUse>> random_uses(std::mt19937& generator, const GraphSpec& spec,
                                              double bytes_per_ns) {
  std::vector<std::vector<LinkUse>> uses;
  for (const std::int64_t alone_ns : spec.collectives_ns) {
    auto& links = uses.emplace_back();
    for (LinkId link = 0; link < 4; ++link) {
      if (links.size() == 3 || draw_below(generator, 2) == 0) continue;
      links.push_back({link, bytes_per_ns * static_cast<double>(alone_ns)});
    }
  }
  return uses;
}

constexpr double kLinkBytesPerS = 1e9;  // 1 byte/ns
FlowNetwork four_links() {
  return FlowNetwork(std::vector<double>(4, kLinkBytesPerS));
}

TEST_CASE("random graphs run as in a simulator that goes nanosecond by nanosecond") {
  std::mt19937 generator(1);
  OpEngine engine;
  for (int i = 0; i < 6000; ++i) {
    const GraphSpec spec = random_graph(generator, {});
    const Ratio slow_down = kSlowDowns[draw_below(generator, kSlowDowns.size())];
    const NaiveTimes expected = NaiveOpEngine(spec, slow_down.slow, slow_down.full).run();
    engine.run(build(spec), nullptr, {slow_down.value()}, {});
    CAPTURE(i, slow_down.slow, slow_down.full);
    REQUIRE(ends_ns(engine, spec.ops.size()) == expected.end_ns);
    for (OpId op = 0; op < spec.ops.size(); ++op) REQUIRE(engine.start(op).ns == expected.start_ns[op]);
  }
}

TEST_CASE("without contention and slow-down, an operation ends after the longest way to it") {
  std::mt19937 generator(2);
  for (int i = 0; i < 300; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_ranks = 12, .max_steps = 400, .max_ns = 1'000'000});
    REQUIRE(ends_ns(spec) == longest_path_ends_ns(spec));
  }
}

TEST_CASE("links that are wide enough change nothing") {
  std::mt19937 generator(3);
  OpEngine engine;
  FlowNetwork network = four_links();
  for (int i = 0; i < 1000; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_steps = 40, .max_ns = 1000});
    // At most 12 streams communicate at a time: 0.6 of a link.
    const OpGraph graph = build(spec, random_uses(generator, spec, 0.05));
    const double slow_down = kSlowDowns[draw_below(generator, kSlowDowns.size())].value();
    engine.run(graph, &network, {slow_down}, {});
    REQUIRE(network.empty());
    REQUIRE(ends_ns(engine, spec.ops.size()) == ends_ns(spec, slow_down));
  }
}

TEST_CASE("nothing starts before what it waits for has ended, streams run one operation after another") {
  std::mt19937 generator(4);
  OpEngine engine;
  FlowNetwork network = four_links();
  for (int i = 0; i < 1000; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_steps = 40, .max_ns = 1000});
    const OpGraph graph = build(spec, random_uses(generator, spec, 1));
    const SimTime start{static_cast<std::int64_t>(draw_below(generator, 100))};
    const SimTime end =
        engine.run(graph, &network, {kSlowDowns[static_cast<std::size_t>(i) % 6].value()}, start);
    std::vector<SimTime> stream_end(spec.streams.size(), start);
    SimTime last = start;
    for (OpId op = 0; op < spec.ops.size(); ++op) {
      const OpSpec& what = spec.ops[op];
      SimTime ready = stream_end[what.stream];
      for (const std::size_t before : what.after)
        ready = std::max(ready, engine.end(static_cast<OpId>(before)));
      REQUIRE(engine.start(op) == ready);
      if (what.collective < 0) {
        REQUIRE((engine.end(op) - engine.start(op)).ns >= what.duration_ns);
      } else {
        const auto collective = static_cast<CollectiveId>(what.collective);
        REQUIRE(engine.collective_start(collective) >= engine.start(op));
        REQUIRE((engine.end(op) - engine.collective_start(collective)).ns >= spec.collectives_ns[collective]);
      }
      stream_end[what.stream] = engine.end(op);
      last = std::max(last, engine.end(op));
    }
    REQUIRE(end == last);
    REQUIRE(engine.run_end() == end);
    REQUIRE(engine.n_events() == spec.ops.size() + spec.collectives_ns.size());
  }
}

TEST_CASE("with contention and slow-down, no operation ends before the longest way to it") {
  std::mt19937 generator(5);
  OpEngine engine;
  FlowNetwork network = four_links();
  for (int i = 0; i < 1000; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_steps = 40, .max_ns = 1000});
    engine.run(build(spec, random_uses(generator, spec, 1)), &network, {1.1}, {});
    const std::vector<std::int64_t> bounds = longest_path_ends_ns(spec);
    for (OpId op = 0; op < spec.ops.size(); ++op) REQUIRE(engine.end(op).ns >= bounds[op]);
  }
}

TEST_CASE("a longer operation or collective ends nothing earlier, nor later than by what it grew") {
  std::mt19937 generator(6);
  for (int i = 0; i < 1000; ++i) {
    GraphSpec spec = random_graph(generator, {.max_steps = 60, .max_ns = 1000});
    const std::vector<std::int64_t> before = ends_ns(spec);
    const std::int64_t growth_ns = 1 + static_cast<std::int64_t>(draw_below(generator, 500));
    OpSpec& op = spec.ops[draw_below(generator, spec.ops.size())];
    (op.collective < 0 ? op.duration_ns : spec.collectives_ns[static_cast<std::size_t>(op.collective)]) +=
        growth_ns;
    const std::vector<std::int64_t> after = ends_ns(spec);
    for (std::size_t k = 0; k < before.size(); ++k) {
      REQUIRE(after[k] >= before[k]);
      REQUIRE(after[k] <= before[k] + growth_ns);
    }
  }
}

TEST_CASE("k times all durations make k times all times") {
  std::mt19937 generator(7);
  for (int i = 0; i < 1000; ++i) {
    GraphSpec spec = random_graph(generator, {.max_steps = 60, .max_ns = 1000});
    std::vector<std::int64_t> expected = ends_ns(spec);
    const auto k = static_cast<std::int64_t>(draw_below(generator, 1000));
    for (OpSpec& op : spec.ops) op.duration_ns *= k;
    for (std::int64_t& collective_ns : spec.collectives_ns) collective_ns *= k;
    for (std::int64_t& end_ns : expected) end_ns *= k;
    REQUIRE(ends_ns(spec) == expected);
  }
}

TEST_CASE("a run that starts later is the same run, later") {
  std::mt19937 generator(8);
  OpEngine engine;
  for (int i = 0; i < 1000; ++i) {
    const GraphSpec spec = random_graph(generator, {});
    const double slow_down = kSlowDowns[draw_below(generator, kSlowDowns.size())].value();
    const std::int64_t start_ns = static_cast<std::int64_t>(draw_below(generator, 1000));
    std::vector<std::int64_t> expected = ends_ns(spec, slow_down);
    for (std::int64_t& end_ns : expected) end_ns += start_ns;
    engine.run(build(spec), nullptr, {slow_down}, {start_ns});
    REQUIRE(ends_ns(engine, spec.ops.size()) == expected);
  }
}

TEST_CASE("the order in which streams and operations are added changes nothing") {
  std::mt19937 generator(9);
  for (int i = 0; i < 2000; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_steps = 40, .max_ns = i % 2 == 0 ? 3 : 1000});
    const Reordered other = reorder(spec, generator);
    const double slow_down = kSlowDowns[draw_below(generator, kSlowDowns.size())].value();
    const std::vector<std::int64_t> expected = ends_ns(spec, slow_down);
    const std::vector<std::int64_t> ends = ends_ns(other.spec, slow_down);
    for (std::size_t op = 0; op < expected.size(); ++op) REQUIRE(ends[other.op_at[op]] == expected[op]);
  }
}

TEST_CASE("a run does not depend on what engine and network ran before") {
  std::mt19937 generator(10);
  OpEngine used;
  FlowNetwork used_network = four_links();
  for (int i = 0; i < 1000; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_ranks = 8, .max_steps = 60, .max_ns = 1000});
    const OpGraph graph = build(spec, random_uses(generator, spec, 1));
    const OpEngineOptions options{kSlowDowns[draw_below(generator, kSlowDowns.size())].value()};
    OpEngine fresh;
    FlowNetwork network = four_links();
    REQUIRE(fresh.run(graph, &network, options, {}) == used.run(graph, &used_network, options, {}));
    REQUIRE(fresh.n_events() == used.n_events());
    REQUIRE(ends_ns(fresh, spec.ops.size()) == ends_ns(used, spec.ops.size()));
  }
}

TEST_CASE("accounts of ranks add up to the time of the run") {
  std::mt19937 generator(11);
  OpEngine engine;
  FlowNetwork network = four_links();
  OpAccount account;
  const auto sum = [](const TimeByCause& times) {
    return std::accumulate(times.begin(), times.end(), SimTime{});
  };
  for (int i = 0; i < 2000; ++i) {
    const GraphSpec spec = random_graph(generator, {.max_steps = 40, .max_ns = 50});
    const OpGraph graph = build(spec, random_uses(generator, spec, 1));
    engine.run(graph, &network, {kSlowDowns[draw_below(generator, kSlowDowns.size())].value()}, {i});
    take_account(graph, engine, account);
    const SimTime took = engine.run_end() - engine.run_start();
    for (const RankAccount& rank : account.ranks) {
      REQUIRE(sum(rank.busy) + sum(rank.exposed) + rank.idle == took);
      REQUIRE(rank.idle.ns >= 0);
      REQUIRE(std::ranges::all_of(rank.exposed, [](SimTime time) { return time.ns >= 0; }));
    }
  }
}

}  // namespace
}  // namespace packsim
