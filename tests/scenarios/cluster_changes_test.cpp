#include <catch2/catch.hpp>
#include <string>

#include "messages.hpp"
#include "models/kernels/make_case.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using packsim_test::kData;

class ChangedCluster {
 public:
  explicit ChangedCluster(const std::string& cluster)
      : path_(folder_.write("s.json", R"({
          "format": 1, "name": "small", "model": "llama3.1-8b", "cluster": {)" +
                                          cluster +
                                          R"(}, "profile": "deepspeed-ulysses-h100",
          "training": {"tokens_per_iteration": 131072}, "lengths": {"mix": [{"source": "qmsum.csv"}]},
          "strategies": [{"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8}]})")) {}

  Scenario load() const { return load_scenario(path_, kData); }
  std::vector<std::string> mistakes() const {
    std::vector<std::string> messages = messages_of([&] { load(); });
    for (std::string& message : messages) message = message.substr(path_.size() + 2);
    return messages;
  }

 private:
  TempFolder folder_;
  std::string path_;
};

const std::string kH100 = R"("type": "h100-sxm-80gb", "nodes": 2)";

double all_gather_s(const Scenario& scenario, int gpus) {
  return kernel_time(scenario.hardware, collective_case("all_gather", gpus, (gpus + 7) / 8, 64 << 20)).time_s;
}

}  // namespace

TEST_CASE("a scenario's cluster takes numbers in place of its type's, and its name says so") {
  const Scenario plain = ChangedCluster(kH100).load();
  CHECK(plain.cluster.name == "h100-sxm-80gb");
  const Scenario changed =
      ChangedCluster(kH100 + R"(, "gpus_per_node": 16, "nics_per_node": 16, "nic_bytes_per_s": 100e9,
                                  "nvlink_bytes_per_s": 900e9, "gpu_memory_bytes": 120e9)")
          .load();
  CHECK(changed.cluster.n_gpus() == 32);
  CHECK(changed.cluster.network.nics_per_node == 16);
  CHECK(changed.cluster.network.nic_bytes_per_s == 100e9);
  CHECK(changed.cluster.network.nvlink_bytes_per_s == 900e9);
  CHECK(changed.cluster.gpu.memory_bytes == 120'000'000'000);
  CHECK(changed.cluster.name ==
        "h100-sxm-80gb with gpus_per_node 16, gpu_memory_bytes 1.2e+11, nvlink_bytes_per_s 9e+11, "
        "nics_per_node 16, nic_bytes_per_s 1e+11");
}

TEST_CASE("a slower network takes longer for what crosses it, and as long for the rest") {
  const Scenario plain = ChangedCluster(kH100).load();
  const Scenario slow = ChangedCluster(kH100 + R"(, "nic_bytes_per_s": 12.5e9)").load();
  const Scenario slower = ChangedCluster(kH100 + R"(, "nic_bytes_per_s": 6.25e9)").load();
  CHECK(all_gather_s(slower, 8) == all_gather_s(plain, 8));
  // A byte passes 8 cards of 12.5 GB/s at 100 GB/s, and NVLink at 3/4 of 450 GB/s; beside it a fixed part,
  // which stays.
  CHECK(all_gather_s(slow, 16) > 3 * all_gather_s(plain, 16));
  CHECK(all_gather_s(slower, 16) > 1.9 * all_gather_s(slow, 16));
  CHECK(all_gather_s(slower, 16) <= 2 * all_gather_s(slow, 16));
}

TEST_CASE("changes of a cluster that cannot be are refused") {
  CHECK(ChangedCluster(kH100 + R"(, "nics_per_node": 3)").mistakes() ==
        std::vector<std::string>{
            "/cluster/nics_per_node: expected network cards and GPUs of a node of which one "
            "number divides the other, got 3 cards for 8 GPUs"});
  CHECK(ChangedCluster(kH100 + R"(, "gpus_per_node": 12)").mistakes() ==
        std::vector<std::string>{
            "/cluster/gpus_per_node: expected network cards and GPUs of a node of which one "
            "number divides the other, got 8 cards for 12 GPUs"});
  CHECK(ChangedCluster(kH100 + R"(, "nic_bytes_per_s": 0, "gpu_memory_bytes": 80, "gpus_per_node": 0)")
            .mistakes() ==
        std::vector<std::string>{
            "/cluster/gpus_per_node: expected integer in 1..1024, got 0 (number)",
            "/cluster/gpu_memory_bytes: expected number in 1000000000..1000000000000000, got 80 (number)",
            "/cluster/nic_bytes_per_s: expected number > 0, got 0 (number)"});
  CHECK(ChangedCluster(kH100 + R"(, "network": "fat-tree", "nic_bytes_per_s": 1e9)").mistakes() ==
        std::vector<std::string>{
            "/cluster/nic_bytes_per_s: expected no such key, as the cluster's network is not "
            "given in numbers, got 1000000000.0 (number)"});
}
}  // namespace packsim
