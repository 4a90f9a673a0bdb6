#pragma once

#include <memory>

#include "experiment/plans/pack_cache.hpp"
#include "experiment/results/report.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The data set of a scenario, and what strategies have made of it so far.
struct DataSet {
  DrawnLengths drawn;
  LengthSummary summary;
  std::unique_ptr<PackCache> packs;
};

/// Throws what draw_lengths() throws.
DataSet draw_data(const Scenario& scenario);

}  // namespace packsim
