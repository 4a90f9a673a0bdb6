#include "sim/engine/flow_network.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include "tests/sim/closed_forms/network_closed_forms.hpp"

namespace packsim {
namespace {

// Links of 1 byte/ns, so that bytes alone on one take as many nanoseconds.
constexpr double kByteAns = 1e9;

using Uses = std::vector<LinkUse>;

FlowNetwork links(std::size_t n) {
  return FlowNetwork(std::vector<double>(n, kByteAns));
}

// Takes out what ends, in order, until all is done: the end of each transfer.
std::map<TransferId, std::int64_t> run(FlowNetwork& network) {
  std::map<TransferId, std::int64_t> ends_ns;
  while (const auto end = network.next_end()) {
    ends_ns[end->transfer] = end->time.ns;
    network.finish(end->transfer, end->time);
  }
  return ends_ns;
}

std::vector<std::int64_t> ends_of_sizes(const std::vector<double>& bytes) {
  FlowNetwork network = links(1);
  for (const double size : bytes)
    network.start({}, {static_cast<std::int64_t>(size)}, Uses{{.link = 0, .bytes = size}});
  std::vector<std::int64_t> ends_ns;
  for (const auto& [transfer, end_ns] : run(network)) ends_ns.push_back(end_ns);
  return ends_ns;
}

}  // namespace

TEST_CASE("a lone transfer takes its measured time, whatever the wire could do") {
  FlowNetwork network = links(2);
  // The wire would take 1000 ns.
  for (const std::int64_t alone_ns : {0, 1, 300, 1000, 123'456'789}) {
    const TransferId id =
        network.start({7}, {alone_ns}, Uses{{.link = 0, .bytes = 1000}, {.link = 1, .bytes = 10}});
    CHECK(network.speed(id) == 1.0);
    CHECK(network.next_end()->time.ns == 7 + alone_ns);
    network.clear();
  }
}

TEST_CASE("transfers of no links and of no bytes contend with nobody") {
  FlowNetwork network = links(1);
  network.start({}, {1000}, {});
  network.start({}, {1000}, Uses{{.link = 0, .bytes = 0}});
  network.start({}, {0}, Uses{{.link = 0, .bytes = 1e9}});
  network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  CHECK(run(network) == std::map<TransferId, std::int64_t>{{0, 1000}, {1, 1000}, {2, 0}, {3, 1000}});
}

TEST_CASE("transfers that start together share a link evenly") {
  CHECK(ends_of_sizes({1000, 1000}) == std::vector<std::int64_t>{2000, 2000});
  // Half speed until 2 x 1000; then the other has 2000 left for itself.
  CHECK(ends_of_sizes({1000, 3000}) == std::vector<std::int64_t>{2000, 4000});
  // 3 x 600, then 2 x 600 more, then 1800 more.
  CHECK(ends_of_sizes({600, 1200, 3000}) == std::vector<std::int64_t>{1800, 3000, 4800});
  CHECK(ends_of_sizes({500, 500, 500, 500}) == std::vector<std::int64_t>{2000, 2000, 2000, 2000});

  const std::vector<double> sizes{40'000, 10'000, 25'000, 70'000, 10'000, 300};
  const std::vector<std::int64_t> ends_ns = ends_of_sizes(sizes);
  const std::vector<double> expected_s = shared_link_ends_s(sizes, kByteAns);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    CHECK(static_cast<double>(ends_ns[i]) == Approx(expected_s[i] * 1e9));
}

TEST_CASE("a transfer that joins later shares from then on") {
  // Alone the first sends 400 by 400. It has 600 left at half speed: 400 + 1200. The second has sent 600 by
  // then, and its last 400 go at full speed.
  FlowNetwork network = links(1);
  network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  network.start({400}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  CHECK(run(network) == std::map<TransferId, std::int64_t>{{0, 1600}, {1, 2000}});
}

TEST_CASE("a transfer that is bounded by its own rate leaves the rest to the others") {
  // 1000 bytes in 4000 ns are a quarter of the link; the other two have 3/8 each: 1000 / (3/8) = 2666.7.
  FlowNetwork network = links(1);
  const TransferId slow = network.start({}, {4000}, Uses{{.link = 0, .bytes = 1000}});
  const TransferId a = network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  const TransferId b = network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  CHECK(network.speed(slow) == 1.0);
  CHECK(network.speed(a) == Approx(0.375));
  CHECK(network.speed(b) == Approx(0.375));
  CHECK(run(network) == std::map<TransferId, std::int64_t>{{0, 4000}, {1, 2667}, {2, 2667}});
}

TEST_CASE("flows of one link have the rates of the closed form") {
  const std::vector<double> asked{0.05e9, 0.9e9, 0.2e9, 0.31e9, 0.3e9};
  FlowNetwork network = links(1);
  std::vector<TransferId> ids;
  for (const double rate : asked)
    ids.push_back(network.start({}, {1'000'000}, Uses{{.link = 0, .bytes = rate / 1000}}));
  // 0.05, 0.2 and then a third of 0.75 each.
  const std::vector<double> rates = shared_link_rates(asked, kByteAns);
  CHECK(rates[1] == Approx(0.25e9));
  for (std::size_t i = 0; i < asked.size(); ++i) CHECK(network.speed(ids[i]) == Approx(rates[i] / asked[i]));
}

TEST_CASE("a transfer that was measured faster than the wire fills it") {
  // 1000 bytes in 500 ns are twice the link. Beside another that could fill it, it has half: done at 1000,
  // when the other has 500 left.
  FlowNetwork network = links(1);
  network.start({}, {500}, Uses{{.link = 0, .bytes = 1000}});
  network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  CHECK(run(network) == std::map<TransferId, std::int64_t>{{0, 1000}, {1, 1500}});
}

TEST_CASE("parking lot: a long way shares each link with the cars of that link") {
  SECTION("three equal links: everybody has half") {
    FlowNetwork network = links(3);
    network.start({}, {1000},
                  Uses{{.link = 0, .bytes = 1000}, {.link = 1, .bytes = 1000}, {.link = 2, .bytes = 1000}});
    for (const LinkId link : {0U, 1U, 2U}) network.start({}, {1000}, Uses{{.link = link, .bytes = 1000}});
    for (const auto& [transfer, end_ns] : run(network)) CHECK(end_ns == 2000);
  }
  SECTION("a narrow one in the middle sets the long way's rate, and the others take what that leaves") {
    FlowNetwork network({kByteAns, 0.5 * kByteAns, kByteAns});
    const TransferId all = network.start(
        {}, {2000}, Uses{{.link = 0, .bytes = 1000}, {.link = 1, .bytes = 1000}, {.link = 2, .bytes = 1000}});
    const TransferId first = network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
    const TransferId middle = network.start({}, {2000}, Uses{{.link = 1, .bytes = 1000}});
    const TransferId last = network.start({}, {1000}, Uses{{.link = 2, .bytes = 1000}});
    // Long and middle: 1/4 byte/ns each, of the 1/2 that they have alone. The others: 3/4 of 1.
    CHECK(network.speed(all) == Approx(0.5));
    CHECK(network.speed(middle) == Approx(0.5));
    CHECK(network.speed(first) == Approx(0.75));
    CHECK(network.speed(last) == Approx(0.75));
  }
}

TEST_CASE("a collective that puts half its bytes on a link weighs half there") {
  // On link 1: rate/2 + rate = 1, so both have 2/3 of their speed.
  FlowNetwork network = links(2);
  const TransferId wide =
      network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}, {.link = 1, .bytes = 500}});
  const TransferId narrow = network.start({}, {1000}, Uses{{.link = 1, .bytes = 1000}});
  CHECK(network.speed(wide) == Approx(2.0 / 3));
  CHECK(network.speed(narrow) == Approx(2.0 / 3));
  // A third on link 0 takes half of that: 1/2 for both, and 1 - 1/4 on link 1.
  const TransferId third = network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  CHECK(network.speed(wide) == Approx(0.5));
  CHECK(network.speed(third) == Approx(0.5));
  CHECK(network.speed(narrow) == Approx(0.75));
}

TEST_CASE("what goes on elsewhere does not move an end by a nanosecond") {
  FlowNetwork quiet = links(4);
  FlowNetwork busy = links(4);
  for (FlowNetwork* network : {&quiet, &busy}) {
    network->start({}, {1'000'003}, Uses{{.link = 0, .bytes = 1'000'003}});
    network->start({11}, {700'001}, Uses{{.link = 0, .bytes = 700'001}, {.link = 1, .bytes = 99'999}});
    network->start({13}, {1'500'007}, Uses{{.link = 2, .bytes = 100'000}});
  }
  // Pairs that contend on link 3, share link 1 with a transfer that contends elsewhere, and load link 2 no
  // further than it can carry.
  for (std::int64_t now_ns = 17; now_ns < 600'000; now_ns += 97) {
    const Uses uses{{.link = 3, .bytes = 37}, {.link = 1, .bytes = 3}, {.link = 2, .bytes = 3}};
    const TransferId a = busy.start({now_ns}, {37}, uses);
    const TransferId b = busy.start({now_ns}, {37}, uses);
    CHECK(busy.speed(a) == Approx(0.5));
    for (const TransferId id : {a, b}) {
      CHECK(busy.next_end()->time.ns == now_ns + 74);
      busy.finish(id, {now_ns + 74});
    }
  }
  CHECK(run(busy) == run(quiet));
}

TEST_CASE("a transfer whose rivals are gone within the same nanosecond ends when it would have") {
  FlowNetwork network = links(1);
  const TransferId first = network.start({}, {10'000'019}, Uses{{.link = 0, .bytes = 10'000'019}});
  for (std::int64_t now_ns = 1; now_ns < 1000; now_ns += 7) {
    const TransferId rival = network.start({now_ns}, {0}, Uses{{.link = 0, .bytes = 5}});
    CHECK(network.speed(first) == 1.0);
    network.finish(rival, {now_ns});
  }
  CHECK(network.next_end()->transfer == first);
  CHECK(network.next_end()->time.ns == 10'000'019);
}

TEST_CASE("an end that is said to be now stays, whoever starts") {
  // At 3/8 of its speed the first ends at 1001 x 8/3 = 2669.33, rounded to 2669. The third of a nanosecond
  // that it has left would take 34 among 101.
  FlowNetwork network = links(1);
  network.start({}, {9000}, Uses{{.link = 0, .bytes = 9000.0 / 4}});
  const TransferId first = network.start({}, {1001}, Uses{{.link = 0, .bytes = 1001}});
  network.start({}, {9000}, Uses{{.link = 0, .bytes = 9000}});
  REQUIRE(network.next_end()->time.ns == 2669);
  for (int i = 0; i < 98; ++i) network.start({2669}, {9000}, Uses{{.link = 0, .bytes = 9000}});
  CHECK(network.next_end()->transfer == first);
  CHECK(network.next_end()->time.ns == 2669);
}

TEST_CASE("a trace of bytes on a full link holds nobody up") {
  // The first has 0.4 bytes/ns on link 1 by its own rate, and so has a rival of the second on link 0, which
  // leaves the second 0.6 there and on link 1. What a third has on link 1 is lost in the rounding of these
  // two: its fair share is what the second has.
  FlowNetwork network = links(3);
  network.start({}, {2500}, Uses{{.link = 1, .bytes = 1000}});
  network.start({}, {2500}, Uses{{.link = 0, .bytes = 1000}});
  const TransferId second =
      network.start({}, {1000}, Uses{{.link = 0, .bytes = 1000}, {.link = 1, .bytes = 1000}});
  const TransferId third =
      network.start({}, {1000}, Uses{{.link = 1, .bytes = 1e-14}, {.link = 2, .bytes = 1000}});
  CHECK(network.speed(second) == Approx(0.6));
  CHECK(network.speed(third) == Approx(0.6));
}

TEST_CASE("ids are used again, and the lowest of those that end together is the next") {
  FlowNetwork network = links(3);
  for (const LinkId link : {0U, 1U, 2U})
    CHECK(network.start({}, {100}, Uses{{.link = link, .bytes = 100}}) == link);
  CHECK(network.next_end()->transfer == 0);
  network.finish(1, {100});
  CHECK(network.start({100}, {50}, {}) == 1);
  CHECK(network.next_end()->transfer == 0);
  network.finish(0, {100});
  CHECK(network.next_end()->transfer == 2);
  network.finish(2, {100});
  CHECK(network.next_end()->transfer == 1);
  CHECK_FALSE(network.empty());
  network.finish(1, {150});
  CHECK(network.empty());
  CHECK_FALSE(network.next_end().has_value());
}

TEST_CASE("clear forgets transfers and time, and leaves nothing on the links") {
  FlowNetwork network = links(1);
  for (int i = 0; i < 5; ++i) network.start({1000}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  network.clear();
  CHECK(network.empty());
  const TransferId id = network.start({3}, {1000}, Uses{{.link = 0, .bytes = 1000}});
  CHECK(network.speed(id) == 1.0);
  CHECK(network.next_end()->time.ns == 1003);
}

TEST_CASE("what nobody may ask of a network is our mistake") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bytes_per_s : {0.0, -1.0, kNan, kInfinity})
    CHECK_THROWS_AS(FlowNetwork({1.0, bytes_per_s}), std::logic_error);

  FlowNetwork network = links(2);
  const TransferId id = network.start({100}, {50}, Uses{{.link = 0, .bytes = 50}});
  CHECK_THROWS_AS(network.start({99}, {1}, {}), std::logic_error);
  CHECK_THROWS_AS(network.start({100}, {-1}, {}), std::logic_error);
  CHECK_THROWS_AS(network.start({100}, {std::numeric_limits<std::int64_t>::max()}, {}), std::logic_error);
  for (const LinkUse wrong : {LinkUse{.link = 2, .bytes = 1}, LinkUse{.link = 0, .bytes = -1},
                              LinkUse{.link = 0, .bytes = kNan}, LinkUse{.link = 0, .bytes = kInfinity}})
    CHECK_THROWS_AS(network.start({100}, {1}, Uses{wrong}), std::logic_error);
  CHECK_THROWS_AS(network.start({100}, {1}, Uses{{.link = 1, .bytes = 1}, {.link = 1, .bytes = 1}}),
                  std::logic_error);
  CHECK_THROWS_AS(network.finish(id + 1, {150}), std::logic_error);
  CHECK_THROWS_AS(network.speed(id + 1), std::logic_error);
  CHECK_THROWS_AS(network.finish(id, {149}), std::logic_error);
  // None of it has left a trace.
  CHECK(network.speed(id) == 1.0);
  network.finish(id, {150});
  CHECK_THROWS_AS(network.finish(id, {150}), std::logic_error);
  CHECK_THROWS_AS(network.start({149}, {1}, {}), std::logic_error);
}

}  // namespace packsim
