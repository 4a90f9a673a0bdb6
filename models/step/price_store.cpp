#include "models/step/price_store.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/step/reached_rates.hpp"

namespace packsim {

AttentionPricer& PriceStore::attention_of(std::string_view pass, const AttentionShape& shape, int ring) {
  const auto known = std::ranges::find_if(attention_, [&](const KnownAttention& one) {
    return one.pass == pass && one.shape == shape && one.ring == ring;
  });
  if (known != attention_.end()) return known->pricer;
  AttentionPricer pricer(profile_, pass, shape, reached_attention_flop_per_s(cluster_), ring);
  return attention_.emplace_back(std::string(pass), shape, ring, std::move(pricer)).pricer;
}

const std::shared_ptr<TokenGrid>& PriceStore::grid_of(const Transformer& model, const ParallelPlan& plan) {
  const LayerBasis basis(model, plan);
  const auto known = std::ranges::find(grids_, basis, &KnownGrid::basis);
  if (known != grids_.end()) return known->grid;
  return grids_.emplace_back(basis, std::make_shared<TokenGrid>()).grid;
}

void PriceStore::forget_unused_grids() {
  std::erase_if(grids_, [](const KnownGrid& known) { return known.grid.use_count() == 1; });
}

}  // namespace packsim
