#pragma once

#include <memory>

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/plans/pack_cache.hpp"
#include "experiment/results/report.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The data set of a scenario, and what strategies have made of it so far.
struct DataSet {
  DrawnLengths drawn;
  LengthSummary summary;
  /// The draws of a scenario's mixture, which `drawn` and `summary` describe, and those of the same mixture
  /// standing still. Null: there is no mixture; every sample is trained once in each epoch.
  std::unique_ptr<const MixedDraws> mixture;
  std::unique_ptr<const MixedDraws> still_mixture;
  std::unique_ptr<PackCache> packs;
};

/// Throws what draw_lengths() and draw_mixture() throw.
DataSet draw_data(const Scenario& scenario);

}  // namespace packsim
