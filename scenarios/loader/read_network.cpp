#include "scenarios/loader/read_network.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "sim/network/topology.hpp"

namespace packsim {
namespace {

constexpr int kMostVertices = 4096;
constexpr int kMostCables = 4096;
constexpr int kMostNodesOfBlock = 65'536;

constexpr std::array<PolicyName<Wiring>, 2> kWirings = {
    {{Wiring::even, "even",
      "Each vertex of the smaller group has an equal share of the larger one, in order."},
     {Wiring::all, "all", "Each vertex is linked to every vertex of the other group."}}};

VertexGroup read_vertex_group(JsonReader& reader, int gpus_per_node) {
  VertexGroup group{.name = reader.string("name"),
                    .kind = kVertexKinds[reader.one_of("kind", names_in(kVertexKinds))].kind};
  const bool is_for_each_gpu = group.kind == VertexKind::gpu || group.kind == VertexKind::nic;
  group.count = reader.integer("count", 1, kMostVertices, is_for_each_gpu ? gpus_per_node : 1);
  if (!vertex_kind(group.kind).in_node)
    group.every_nodes = reader.integer("every_nodes", 1, kMostNodesOfBlock, 0);
  const std::string kind(vertex_kind(group.kind).name);
  reader.describe_as({.text = "vertices of kind " + kind, .key = "kind", .word = kind});
  return group;
}

// A number, or the rate of NVLink or PCIe in the GPU's file.
std::optional<double> read_rate(JsonReader& reader, const Gpu& gpu) {
  constexpr std::string_view kKey = "bytes_per_s";
  const std::vector<std::string> rates_of_gpu = {"nvlink", "pcie"};
  const Json* value = reader.positive_or_word(kKey, rates_of_gpu);
  if (value == nullptr) return std::nullopt;
  if (value->is_number() && value->get<double>() > 0) return value->get<double>();
  const bool is_nvlink = *value == "nvlink";
  if (!is_nvlink && *value != "pcie") {
    reader.refuse(kKey, "a number over 0, nvlink or pcie");
    return std::nullopt;
  }
  const double rate = (is_nvlink ? gpu.nvlink_bytes_per_s : gpu.pcie_bytes_per_s).value_or(0);
  if (rate > 0) return rate;
  reader.refuse(kKey, fmt::format("a number over 0, as the file of the GPU {} has no rate of {}",
                                  gpu.driver_name, value->get<std::string>()));
  return std::nullopt;
}

LinkRule read_link_rule(JsonReader& reader, const std::vector<std::string>& names, const Gpu& gpu) {
  LinkRule rule;
  rule.from = reader.one_of_own("from", names);
  rule.to = reader.one_of_own("to", names);
  rule.wiring = reader.one_of("wiring", kWirings, Wiring::even);
  rule.cables = reader.integer("count", 1, kMostCables, 1);
  rule.bytes_per_s = read_rate(reader, gpu);
  rule.latency_s = reader.has("latency_s") ? reader.number("latency_s", 0) : 0;
  return rule;
}

}  // namespace

NetworkDesign read_network_design(JsonReader reader, const Gpu& gpu, int gpus_per_node) {
  if (reader.silent()) return {};
  const std::size_t before = reader.n_problems();
  reader.integer("format", 1, 1);
  reader.string("$schema", "");  // for editors
  NetworkDesign design{.name = reader.string("name"), .source = reader.string("source")};
  std::vector<JsonReader> vertices = reader.objects("vertices");
  for (JsonReader& vertex : vertices) design.vertices.push_back(read_vertex_group(vertex, gpus_per_node));
  const std::vector<std::string> names = names_in(design.vertices);
  std::vector<JsonReader> links = reader.objects("links");
  if (!names.empty()) {
    for (JsonReader& link : links) design.links.push_back(read_link_rule(link, names, gpu));
  }
  if (reader.n_problems() != before) return design;
  for (const DesignMistake& mistake : mistakes_of(design, gpus_per_node)) {
    JsonReader& place = mistake.in_links ? links[mistake.index] : vertices[mistake.index];
    place.refuse(mistake.member, mistake.expected, mistake.got);
  }
  return design;
}

std::optional<NetworkDesign> read_named_network(JsonReader& reader, const std::string& from_folder,
                                                const Cluster* cluster, const DataPaths& data,
                                                Problems& problems) {
  const std::string name = reader.file_name("network", kNetworkFiles);
  if (name.empty() || cluster == nullptr) return std::nullopt;
  const FoundFile file = find_named_file(kNetworkFiles, name, from_folder, data);
  if (!file.found()) {
    reader.refuse("network", file.expected, file.got);
    return std::nullopt;
  }
  const JsonDocument document = read_json(file.path, problems);
  return read_network_design(JsonReader(document, problems), cluster->gpu, cluster->gpus_per_node);
}

void check_network_paths(JsonReader& reader, std::string_view key, const Cluster& cluster) {
  try {
    const Topology topology(cluster);
  } catch (const std::invalid_argument& why) {
    reader.refuse(key,
                  fmt::format("a network with a path of at most {} links from every GPU to every other",
                              Route::kMostLinks),
                  why.what());
  }
}

}  // namespace packsim
