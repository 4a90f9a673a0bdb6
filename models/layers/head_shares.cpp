#include "models/layers/head_shares.hpp"

#include <algorithm>

namespace packsim {

HeadShares head_shares(const Transformer& model, const ParallelPlan& plan) {
  const int heads = model.n_heads / plan.tp_degree;
  const int heads_per_kv_head = heads / std::max(1, model.n_kv_heads / plan.tp_degree);
  const int n_ulysses = plan.sequence.ulysses;
  HeadShares shares{.heads = (heads + n_ulysses - 1) / n_ulysses};
  for (int first = 0; first < heads; first += shares.heads) {
    const int last = std::min(heads, first + shares.heads) - 1;
    shares.kv_heads = std::max(shares.kv_heads, last / heads_per_kv_head - first / heads_per_kv_head + 1);
  }
  return shares;
}

}  // namespace packsim
