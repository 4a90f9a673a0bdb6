#include <cstring>
#include <set>
#include <utility>

#include "calibration/microbench/distributed/collective_call.hpp"
#include "calibration/microbench/distributed/collectives.hpp"

namespace packsim::microbench {
namespace {

// The values are small integers: their lower 16 bits as fp32 are zero.
std::uint16_t bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

float float_of(std::uint16_t bf16) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bf16) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::string mistake_of(const CollectiveShape& shape, int rank, const std::vector<std::uint16_t>& received) {
  for (std::size_t i = 0; i < received.size(); ++i) {
    const float expected = received_value(shape, rank, static_cast<std::int64_t>(i));
    if (float_of(received[i]) == expected) continue;
    return "GPU " + std::to_string(rank) + ", element " + std::to_string(i) + " of " +
           std::to_string(received.size()) + ": expected " + std::to_string(expected) + ", got " +
           std::to_string(float_of(received[i]));
  }
  return "";
}

CollectiveCheck verify(NcclWorld& world, NcclGroup& group, const char* op, double imbalance,
                       const std::string& name) {
  const CollectiveShape shape =
      collective_shape(op, group.n_gpus(), std::int64_t{2} * 8 * 1021 * group.n_gpus(), imbalance);
  const CollectiveCall call(world, group, shape);
  const std::span<const GroupMember> members = group.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(shape.send_elements()));
    for (std::size_t j = 0; j < values.size(); ++j)
      values[j] = bf16_of(sent_value(shape, members[i].rank, static_cast<std::int64_t>(j)));
    call.write_sent(i, values);
  }
  group.finish([&] { call.queue(); });
  std::string mistake;
  for (std::size_t i = 0; i < members.size() && mistake.empty(); ++i)
    mistake = mistake_of(shape, members[i].rank, call.read_received(i));
  for (const std::string& found : world.channel().gather(mistake)) {
    if (!found.empty()) return {name + ": " + found, false};
  }
  return {name + ": right"};
}

}  // namespace

std::vector<CollectiveCheck> verify_collectives(Device& device) {
  NcclWorld& world = nccl_world(device);
  const auto n_gpus = static_cast<std::int64_t>(world.topology().gpus.size());
  const auto n_nodes = static_cast<std::int64_t>(world.topology().nodes.size());
  // All GPUs of one node, and of all nodes where these have the same number.
  std::set<std::pair<std::int64_t, std::int64_t>> groups;
  std::int64_t on_first = 0;
  for (const GpuPlace& gpu : world.topology().gpus) on_first += gpu.node == 0;
  for (const auto& [gpus, nodes] : {std::pair{on_first, std::int64_t{1}}, std::pair{n_gpus, n_nodes}}) {
    try {
      choose_group(world.topology(), gpus, nodes);
      groups.emplace(gpus, nodes);
    } catch (const Unavailable&) {
      // Nodes with different numbers of GPUs form no such group.
    }
  }
  std::vector<CollectiveCheck> checks;
  for (const auto& [gpus, nodes] : groups) {
    NcclGroup& group = world.group(gpus, nodes);
    const std::string where = " on " + std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs") +
                              (nodes == 1 ? "" : " of " + std::to_string(nodes) + " nodes");
    for (const char* op : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce", "send_recv"})
      checks.push_back(verify(world, group, op, 1, op + where));
    if (gpus > 1) checks.push_back(verify(world, group, "all_to_all", 1.5, "uneven all_to_all" + where));
  }
  return checks;
}

}  // namespace packsim::microbench
