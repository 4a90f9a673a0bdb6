#pragma once

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cstddef>
#include <limits>

namespace packsim {

/// The capacity of links without a rate, more than any network carries.
inline constexpr double kUnlimited = 1e30;

/// A graph for a maximum flow between two of its vertices.
class FlowGraph {
 public:
  explicit FlowGraph(std::size_t n_vertices) : graph_(n_vertices) {}

  void add_link(std::size_t from, std::size_t to, double capacity) {
    const Edge there = add_edge(from, to, {}, graph_).first;
    const Edge back = add_edge(to, from, {}, graph_).first;
    graph_[there] = {std::min(capacity, kUnlimited), 0, back};
    graph_[back] = {0, 0, there};
  }

  /// The maximum flow; infinite if links without a rate can carry all of it.
  double flow(std::size_t from, std::size_t to) {
    const double flow = boost::boykov_kolmogorov_max_flow(
        graph_, get(&Properties::capacity, graph_), get(&Properties::residual, graph_),
        get(&Properties::reverse, graph_), get(boost::vertex_index, graph_), from, to);
    return flow < kUnlimited / 2 ? flow : std::numeric_limits<double>::infinity();
  }

 private:
  struct Properties;
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::bidirectionalS>;
  using Edge = Traits::edge_descriptor;
  struct Properties {
    double capacity = 0;
    double residual = 0;
    Edge reverse;
  };

  boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, Properties>
      graph_;
};

}  // namespace packsim
