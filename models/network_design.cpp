#include "models/network_design.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace packsim {
namespace {

std::string counted(const VertexGroup& group) {
  return std::to_string(group.count) + " " + group.name;
}

// Groups that repeat every `every_nodes` nodes nest in others if one number divides the other.
bool nest(const VertexGroup& one, const VertexGroup& other) {
  if (one.every_nodes == 0 || other.every_nodes == 0) return true;
  return one.every_nodes % other.every_nodes == 0 || other.every_nodes % one.every_nodes == 0;
}

constexpr std::int64_t kMostLinksOfRule = 65'536;

class MistakeFinder {
 public:
  MistakeFinder(const NetworkDesign& design, int gpus_per_node)
      : design_(design), gpus_per_node_(gpus_per_node) {}

  std::vector<DesignMistake> find() {
    check_groups();
    for (std::size_t i = 0; i < design_.links.size(); ++i) check_rule(i);
    check_use();
    return std::move(mistakes_);
  }

 private:
  void add(bool in_links, std::size_t index, std::string member, std::string expected, std::string got) {
    mistakes_.push_back({in_links, index, std::move(member), std::move(expected), std::move(got)});
  }

  void check_groups() {
    std::set<std::string> names;
    std::size_t n_gpu_groups = 0;
    for (std::size_t i = 0; i < design_.vertices.size(); ++i) {
      const VertexGroup& group = design_.vertices[i];
      if (!names.insert(group.name).second) add(false, i, "name", "a name of its own", group.name);
      if (group.kind == VertexKind::gpu) {
        if (++n_gpu_groups > 1) add(false, i, "kind", "one group of GPUs", "a second one");
        if (group.count != gpus_per_node_)
          add(false, i, "count", std::to_string(gpus_per_node_) + ", the GPUs of a node of the cluster",
              std::to_string(group.count));
      }
      for (std::size_t before = 0; before < i; ++before) {
        if (nest(design_.vertices[before], group)) continue;
        add(false, i, "every_nodes",
            "a divisor or a multiple of " + std::to_string(design_.vertices[before].every_nodes) +
                ", as of " + design_.vertices[before].name,
            std::to_string(group.every_nodes));
        break;
      }
    }
    if (n_gpu_groups == 0) add(false, 0, "kind", "a group of GPUs among the vertices", "none");
  }

  void check_rule(std::size_t index) {
    const LinkRule& rule = design_.links[index];
    const VertexGroup& from = design_.vertices[rule.from];
    const VertexGroup& to = design_.vertices[rule.to];
    if (!pairs_.insert(std::minmax(rule.from, rule.to)).second)
      add(true, index, "to", "each two groups in one rule", from.name + " and " + to.name + " once more");
    if (rule.from == rule.to && rule.wiring != Wiring::all)
      add(true, index, "wiring", "all within one group", "even");
    const bool divides = from.count % to.count == 0 || to.count % from.count == 0;
    if (rule.wiring == Wiring::even && !divides) {
      add(true, index, "wiring", "all, or numbers of vertices of which one divides the other",
          counted(from) + " and " + counted(to));
    }
    const std::int64_t n_links = std::int64_t{from.count} * to.count;
    if (rule.wiring == Wiring::all && n_links > kMostLinksOfRule) {
      add(true, index, "wiring", "at most " + std::to_string(kMostLinksOfRule) + " links in a block",
          std::to_string(n_links));
    }
    const bool skips_nic = !vertex_kind(from.kind).in_node != !vertex_kind(to.kind).in_node &&
                           from.kind != VertexKind::nic && to.kind != VertexKind::nic;
    if (skips_nic) add(true, index, "to", "a NIC between a node and a switch", from.name + " and " + to.name);
    const bool is_between_nics = from.kind == VertexKind::nic && to.kind == VertexKind::nic;
    if (is_between_nics) add(true, index, "to", "no link between NICs", from.name + " and " + to.name);
  }

  // Every vertex is at an end of some link.
  void check_use() {
    for (std::size_t i = 0; i < design_.vertices.size(); ++i) {
      const bool is_alone_in_node = design_.vertices[i].kind == VertexKind::gpu && gpus_per_node_ == 1;
      const bool is_used = std::ranges::any_of(
          design_.links, [&](const LinkRule& rule) { return rule.from == i || rule.to == i; });
      if (!is_used && !(is_alone_in_node && design_.links.empty()))
        add(false, i, "name", "vertices at an end of a link", design_.vertices[i].name + " without links");
    }
  }

  const NetworkDesign& design_;
  int gpus_per_node_;
  std::set<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<DesignMistake> mistakes_;
};

}  // namespace

const VertexKindRow& vertex_kind(VertexKind kind) {
  return *std::ranges::find(kVertexKinds, kind, &VertexKindRow::kind);
}

std::size_t NetworkDesign::group_of(VertexKind kind) const {
  return static_cast<std::size_t>(std::ranges::find(vertices, kind, &VertexGroup::kind) - vertices.begin());
}

bool NetworkDesign::is_below(std::size_t group, std::size_t other) const {
  const int every = vertices[group].every_nodes;
  const int other_every = vertices[other].every_nodes;
  if (every == other_every) return group < other;
  return every != 0 && (other_every == 0 || every < other_every);
}

WiredGroups wired_groups(const NetworkDesign& design, const LinkRule& rule) {
  const bool is_up = rule.from == rule.to || design.is_below(rule.from, rule.to);
  WiredGroups wired{.lower = is_up ? rule.from : rule.to, .upper = is_up ? rule.to : rule.from, .links = {}};
  const int n_lower = design.vertices[wired.lower].count;
  const int n_upper = design.vertices[wired.upper].count;
  // With even wiring, so many of one group share one of the other.
  const int lowers_per_upper = std::max(1, n_lower / n_upper);
  const int uppers_per_lower = std::max(1, n_upper / n_lower);
  for (int i = 0; i < n_lower; ++i) {
    int first = i / lowers_per_upper * uppers_per_lower;
    int last = first + uppers_per_lower;
    if (rule.wiring == Wiring::all) {
      first = wired.lower == wired.upper ? i + 1 : 0;
      last = n_upper;
    }
    for (int j = first; j < last; ++j) wired.links.emplace_back(i, j);
  }
  return wired;
}

std::vector<DesignMistake> mistakes_of(const NetworkDesign& design, int gpus_per_node) {
  return MistakeFinder(design, gpus_per_node).find();
}

}  // namespace packsim
