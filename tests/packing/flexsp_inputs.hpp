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

// Compute time of a group as published: the sum of (a1 s^2 + a2 s) / d over its sequences of s tokens, plus
// b1 once, where d is gpus_per_pack.
inline double published_compute_ms(const flexsp::PublishedModel& model, const Lengths& lengths,
                                   int gpus_per_pack) {
  double time_ms = 0;
  for (const double length : lengths)
    time_ms += (model.attention_ms * (length * length) + model.token_ms * length) / gpus_per_pack;
  return time_ms + model.fixed_ms;
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
