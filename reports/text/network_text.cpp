#include "reports/text/network_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/network/cluster_network.hpp"
#include "models/network/network_rates.hpp"

namespace packsim::formats_detail {
namespace {

std::string rate_text(double bytes_per_s) {
  if (!std::isfinite(bytes_per_s)) return "as much as it can";
  return bytes_per_s < 1e12 ? fmt::format("{:.3g} GB/s", bytes_per_s / 1e9)
                            : fmt::format("{:.3g} TB/s", bytes_per_s / 1e12);
}

}  // namespace

std::string network_text(const Cluster& cluster) {
  const NetworkDesign design = network_of(cluster);
  if (design.links.empty()) return "";
  const NetworkRates rates = network_rates(cluster);
  std::string text = fmt::format("network {}:", design.name);
  if (cluster.gpus_per_node > 1)
    text += fmt::format(" a GPU sends {} to the others of its node", rate_text(rates.gpu_bytes_per_s));
  if (cluster.nodes > 1) {
    text += fmt::format("{} {} out of it", cluster.gpus_per_node > 1 ? " and" : " a GPU sends",
                        rate_text(rates.nic_bytes_per_s()));
  }
  text += "\n";
  for (const PartRate& part : rates.parts) {
    if (part.nodes == 1 || part.nodes >= cluster.nodes) continue;
    text += fmt::format("  a GPU sends {} out of the {} nodes that share switches with it\n",
                        rate_text(part.gpu_bytes_per_s), part.nodes);
  }
  if (cluster.nodes > 1) {
    text += fmt::format("  half of the nodes send {} to the other half\n",
                        rate_text(bisection_bytes_per_s(design, cluster.nodes)));
    if (rates.latency_s > 0)
      text += fmt::format("  latency from node to node: {:.3g} us\n", 1e6 * rates.latency_s);
  }
  return text;
}

}  // namespace packsim::formats_detail
