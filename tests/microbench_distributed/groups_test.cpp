#include <catch2/catch.hpp>
#include <numeric>
#include <stdexcept>

#include "calibration/microbench/core/family.hpp"
#include "calibration/microbench/distributed/collective_shape.hpp"
#include "calibration/microbench/distributed/splits.hpp"
#include "calibration/microbench/distributed/topology.hpp"

using namespace packsim::microbench;
using Catch::Matchers::Contains;
using Devices = std::vector<std::vector<int>>;

TEST_CASE("Splits: everyone sends the same and the largest receiver gets the imbalance") {
  const int n_gpus = GENERATE(1, 2, 3, 4, 7, 8, 16);
  const std::int64_t elements = GENERATE(0, 1, 5, 512, 99999);
  const double imbalance = GENERATE(1.0, 1.1, 1.5, 2.0);
  if (imbalance > n_gpus) return;
  CAPTURE(n_gpus, elements, imbalance);
  const Splits splits = make_splits(n_gpus, elements, imbalance);
  std::int64_t received_in_all = 0;
  std::int64_t most = 0;
  for (int gpu = 0; gpu < n_gpus; ++gpu) {
    CHECK(splits.before_receiver(gpu, n_gpus) == elements);
    received_in_all += splits.received(gpu);
    most = std::max(most, splits.received(gpu));
  }
  CHECK(received_in_all == n_gpus * elements);
  CHECK(most ==
        std::min<std::int64_t>(std::llround(imbalance * static_cast<double>(elements)), n_gpus * elements));
  for (const std::int64_t part : splits.elements) CHECK(part >= 0);
}

TEST_CASE("Splits: 4 GPUs send 100 each, one receives 1.5 times the mean") {
  // GPU 0 receives 150, the others share 400 - 150 = 250: 84, 83, 83.
  const Splits splits = make_splits(4, 100, 1.5);
  CHECK(splits.received(0) == 150);
  CHECK(splits.received(1) == 84);
  CHECK(splits.received(2) == 83);
  CHECK(splits.received(3) == 83);
  // 150 from 4 senders: 38, 38, 37, 37.
  CHECK(splits.between(0, 0) == 38);
  CHECK(splits.between(3, 0) == 37);
}

TEST_CASE("Splits: an imbalance of the number of GPUs sends everything to one, more is impossible") {
  CHECK(make_splits(4, 100, 4).received(0) == 400);
  CHECK(make_splits(4, 100, 4).received(3) == 0);
  CHECK_THROWS_AS(make_splits(4, 100, 4.01), Unavailable);
}

TEST_CASE("Processes of a node that see the same GPUs share them out") {
  const std::vector<std::string> eight = {"a", "b", "c", "d", "e", "f", "g", "h"};
  CHECK(share_out_gpus(std::vector<ProcessGpus>{{"n", eight}}) == Devices{{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(share_out_gpus(std::vector<ProcessGpus>{{"n", eight}, {"m", {"x"}}, {"n", eight}}) ==
        Devices{{0, 1, 2, 3}, {0}, {4, 5, 6, 7}});
  CHECK(share_out_gpus(std::vector<ProcessGpus>(8, {"n", eight})) ==
        Devices{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}});
}

TEST_CASE("Processes that each see a GPU of their own keep it") {
  CHECK(share_out_gpus(std::vector<ProcessGpus>{{"n", {"a"}}, {"n", {"b"}}}) == Devices{{0}, {0}});
  CHECK(share_out_gpus(std::vector<ProcessGpus>{{"n", {"a", "b"}}, {"n", {"c"}}}) == Devices{{0, 1}, {0}});
}

TEST_CASE("More processes than GPUs, or GPUs that are seen twice, are refused with the node's name") {
  CHECK_THROWS_WITH(share_out_gpus(std::vector<ProcessGpus>(3, {"n", {"a", "b"}})),
                    "node n: expected a GPU for each of 3 processes, got 2 GPUs");
  CHECK_THROWS_WITH(share_out_gpus(std::vector<ProcessGpus>{{"n", {"a", "b"}}, {"n", {"b", "c"}}}),
                    Contains("node n") && Contains("seen by several"));
  CHECK_THROWS_WITH(share_out_gpus(std::vector<ProcessGpus>{{"n", {"a"}}, {"n", {}}, {"m", {}}}),
                    Contains("node n: expected") && Contains("node m: expected a GPU for each of 1 process"));
}

TEST_CASE("A group takes the same number of GPUs on each of its nodes") {
  // Processes 0 and 2 are on a, 1 on b and 3 on c; c has a GPU less.
  const std::vector<std::string> nodes = {"a", "b", "a", "c"};
  const Topology topology = make_topology(nodes, Devices{{0, 1}, {0, 1, 2, 3}, {2, 3}, {0, 1, 2}});
  CHECK(topology.nodes == std::vector<std::string>{"a", "b", "c"});
  CHECK(topology.gpus.size() == 11);
  CHECK(choose_group(topology, 4, 1) == std::vector<GpuPlace>{{0, 0, 0}, {0, 1, 0}, {2, 2, 0}, {2, 3, 0}});
  CHECK(choose_group(topology, 2, 2) == std::vector<GpuPlace>{{0, 0, 0}, {1, 0, 1}});
  CHECK(choose_group(topology, 8, 2).size() == 8);
  CHECK(choose_group(topology, 9, 3).back() == GpuPlace{3, 2, 2});
  CHECK_THROWS_WITH(choose_group(topology, 12, 3), "needs 12 GPUs on 3 nodes, have 11 on 3");
  CHECK_THROWS_WITH(choose_group(topology, 8, 1), "needs 8 GPUs on 1 node, have 11 on 3");
  CHECK_THROWS_WITH(choose_group(topology, 5, 2), "5 GPUs cannot be spread evenly over 2 nodes");
  CHECK_THROWS_AS(choose_group(topology, 1, 2), Unavailable);
  CHECK_THROWS_AS(choose_group(topology, std::int64_t{1} << 62, std::int64_t{1} << 61), Unavailable);
}

TEST_CASE("Sizes of the collectives follow nccl-tests") {
  // 4 GPUs, 1024 bytes: 512 values of bf16, parts of 128.
  const CollectiveShape gather = collective_shape("all_gather", 4, 1024, 1);
  CHECK(gather.send_elements() == 128);
  CHECK(gather.receive_elements(0) == 512);
  const CollectiveShape scatter = collective_shape("reduce_scatter", 4, 1024, 1);
  CHECK(scatter.send_elements() == 512);
  CHECK(scatter.receive_elements(3) == 128);
  const CollectiveShape exchange = collective_shape("all_to_all", 4, 1024, 1);
  CHECK(exchange.send_elements() == 512);
  CHECK(exchange.receive_elements(2) == 512);
  CHECK(exchange.splits.between(1, 2) == 128);
  for (const char* op : {"all_reduce", "send_recv"}) {
    CHECK(collective_shape(op, 4, 1024, 1).send_elements() == 512);
    CHECK(collective_shape(op, 4, 1024, 1).receive_elements(1) == 512);
  }
}

TEST_CASE("Uneven parts begin at multiples of 16 bytes where the sizes allow") {
  const CollectiveShape shape = collective_shape("all_to_all", 8, 1 << 20, 1.3);
  for (const std::int64_t part : shape.splits.elements) CHECK(part % 8 == 0);
  CHECK(static_cast<double>(shape.receive_elements(0)) == Approx(1.3 * (1 << 19)).epsilon(1e-4));
}

TEST_CASE("Sizes and imbalances that a collective cannot have are unavailable") {
  CHECK_THROWS_WITH(collective_shape("all_gather", 3, 1024, 1), Contains("multiple of 6 bytes"));
  CHECK_THROWS_WITH(collective_shape("all_reduce", 3, 1023, 1), Contains("multiple of 2 bytes"));
  CHECK_THROWS_WITH(collective_shape("all_reduce", 2, 1024, 1.5), Contains("no uneven form"));
  CHECK_THROWS_WITH(collective_shape("all_to_all", 2, 1024, 2.5), Contains("at most 2 times"));
  CHECK_THROWS_AS(collective_shape("all_to_all", 2, std::int64_t{1} << 60, 1), Unavailable);
}

TEST_CASE("Known values: every element received is the one that was sent to it") {
  // Play the collective on the CPU, from the sender's side, and compare.
  const int n_gpus = GENERATE(1, 2, 4);
  const double imbalance = n_gpus == 1 ? 1 : 1.5;
  const CollectiveShape shape = collective_shape("all_to_all", n_gpus, 2 * 8 * 7 * n_gpus, imbalance);
  for (int receiver = 0; receiver < n_gpus; ++receiver) {
    std::vector<float> received;
    for (int sender = 0; sender < n_gpus; ++sender) {
      const std::int64_t start = shape.splits.before_receiver(sender, receiver);
      for (std::int64_t i = 0; i < shape.splits.between(sender, receiver); ++i)
        received.push_back(sent_value(shape, sender, start + i));
    }
    REQUIRE(static_cast<std::int64_t>(received.size()) == shape.receive_elements(receiver));
    for (std::size_t i = 0; i < received.size(); ++i)
      CHECK(received_value(shape, receiver, static_cast<std::int64_t>(i)) == received[i]);
  }
}

TEST_CASE("Known values: sums over 64 GPUs stay exact in bf16") {
  const CollectiveShape shape = collective_shape("all_reduce", 64, 2048, 1);
  bool all_zero = true;
  for (std::int64_t i = 0; i < shape.elements; ++i) {
    CHECK(received_value(shape, 0, i) <= 256);
    all_zero = all_zero && received_value(shape, 0, i) == 0;
  }
  CHECK_FALSE(all_zero);
}

TEST_CASE("Short collectives are timed in batches, long ones alone") {
  CHECK(calls_per_sample(1024) == 16);
  CHECK(calls_per_sample(1 << 22) == 4);
  CHECK(calls_per_sample(1 << 30) == 1);
}
