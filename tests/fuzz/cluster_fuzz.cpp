// Any bytes as a cluster type, whose network may be a graph: in an accepted one every GPU of two nodes has a
// path to every other, over links with a rate, from end to end.

#include "scenarios/loader/load_scenario.hpp"
#include "sim/network/topology.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/shipped_data.hpp"

namespace {

using packsim::testing::expect;

void check_routes(const packsim::Cluster& cluster) {
  const packsim::Topology topology(cluster);
  for (const double rate : topology.link_bytes_per_s()) expect(rate > 0, "links have a rate");
  const int n_gpus = std::min(topology.n_gpus(), 64);
  for (int from = 0; from < n_gpus; ++from) {
    for (int to = 0; to < n_gpus; ++to) {
      const packsim::Route route = topology.route(from, to);
      expect(from != to || route.empty(), "a GPU reaches itself without links");
      for (const packsim::LinkId link : route)
        expect(link < topology.link_bytes_per_s().size(), "links exist");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  static const packsim::testing::InputFile file;
  file.write(data, n_bytes);
  try {
    packsim::Cluster cluster = packsim::load_cluster_type(file.path(), packsim_test::kData);
    expect(cluster.gpus_per_node >= 1 && cluster.gpu.memory_bytes > 0, "nodes have GPUs with memory");
    check_routes(cluster);
  } catch (const packsim::ScenarioError& error) {
    packsim::testing::check_messages(error);
  }
  return 0;
}
