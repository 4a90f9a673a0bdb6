#include "models/step/price_store.hpp"

#include <algorithm>

namespace packsim {

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
