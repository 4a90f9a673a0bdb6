#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "packing/algorithms/shuffle.hpp"
#include "packing/flexsp/global_batch.hpp"
#include "tests/packing/naive_packers.hpp"

namespace packsim::testing {

inline Lengths random_lengths(Generator& generator, std::size_t n, std::uint32_t longest) {
  Lengths lengths(n);
  for (std::int32_t& length : lengths)
    length = static_cast<std::int32_t>(1 + uniform_up_to(generator, longest));
  return lengths;
}

inline std::vector<ItemIndex> all_items(const Lengths& lengths) {
  std::vector<ItemIndex> items(lengths.size());
  std::iota(items.begin(), items.end(), ItemIndex{0});
  return items;
}

inline flexsp::Cluster cluster_of(int n_gpus, std::int64_t gpu_tokens, const std::vector<int>& degrees) {
  flexsp::Cluster cluster{.kinds = {}, .n_gpus = n_gpus};
  for (const int degree : degrees) {
    cluster.kinds.push_back(
        {degree, gpu_tokens * degree, flexsp::published_cost(flexsp::kPublishedModels[0], degree)});
  }
  return cluster;
}

}  // namespace packsim::testing
