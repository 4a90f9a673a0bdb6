#include "models/kernels/link_rates.hpp"

#include <algorithm>

#include "models/kernels/collectives.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/network/network_rates.hpp"

namespace packsim {
namespace {

// The share of NVLink's rate at which rings pass their payload: 8 H100 reach 0.75 in the largest all-gathers
// and reduce-scatters of calibration/data/h100-public-collectives.jsonl. Taken for all collectives inside a
// node, over PCIe too. Network cards come nearer to their rate.
constexpr double kNvlinkShare = 0.75;
// The share of a ring's rate that is left where switches add up: what the all-reduce of 8 H100 in the same
// file shows, and NCCL assumes of Hopper (NVIDIA/nccl, src/graph/tuning.cc; of Blackwell 0.74).
constexpr double kSwitchShare = 0.85;

// What a GPU sends to the others of its node for each byte of an all-reduce's payload. Where switches add up,
// it sends its own values and one part of the sums.
double all_reduce_sent_per_byte(double ring_sent_per_byte, double gpus_in_node, bool switch_adds) {
  return switch_adds ? std::min(ring_sent_per_byte, (1 + 1 / gpus_in_node) / kSwitchShare)
                     : ring_sent_per_byte;
}

}  // namespace

LinkRates link_rates(const Cluster& cluster) {
  const NetworkRates rates = network_rates(cluster);
  return {.gpu_bytes_per_s = rates.gpu_bytes_per_s,
          .nic_bytes_per_s = rates.nic_bytes_per_s(),
          .switch_adds = cluster.gpu.nvlink_switch_adds};
}

double link_time_s(const LinkRates& rates, const KernelCase& kernel) {
  const CollectiveKind& kind = collective_kind(kernel.value("op"));
  const double gpus = kernel.number("gpus");
  const double nodes = kernel.number("nodes");
  const double gpus_in_node = gpus / nodes;
  const double bytes = kernel.number("bytes") * kernel.number("imbalance");
  const double sent_bytes = sent_per_payload_byte(kind.name, gpus) * bytes;
  double inside_bytes = gpus_in_node > 1 ? sent_bytes : 0;
  if (inside_bytes > 0 && kind.passes == 2)
    inside_bytes = bytes * all_reduce_sent_per_byte(inside_bytes / bytes, gpus_in_node, rates.switch_adds);
  double outside_bytes = 0;
  if (nodes > 1) {
    if (!kind.algorithm.passes_on) {
      outside_bytes = sent_bytes * (gpus - gpus_in_node) / (gpus - 1);
      inside_bytes = sent_bytes - outside_bytes;
    } else if (kind.receives_whole_payload) {
      outside_bytes = sent_per_payload_byte(kind.name, nodes) * bytes / gpus_in_node;
    } else {
      outside_bytes = sent_bytes / gpus_in_node;
    }
  }
  const bool is_known =
      (inside_bytes == 0 || rates.gpu_bytes_per_s > 0) && (outside_bytes == 0 || rates.nic_bytes_per_s > 0);
  if (!is_known) return 0;
  return std::max(inside_bytes == 0 ? 0 : inside_bytes / (kNvlinkShare * rates.gpu_bytes_per_s),
                  outside_bytes == 0 ? 0 : outside_bytes / rates.nic_bytes_per_s);
}

}  // namespace packsim
