#pragma once

#include <optional>
#include <string>
#include <vector>

namespace packsim {

/// What GPUs cost. packsim ships no prices: they are the user's to say, with where they come from and when.
struct PriceList {
  struct Price {
    std::string cluster;        ///< cluster type: a name, the start of one, or a path
    double gpu_hour_price = 0;  ///< above 0
    std::string term = {};      ///< "on demand", "reserved for a year", "spot"; empty: not said
    /// Mean hours until the provider takes a node back; none: it does not.
    std::optional<double> spot_mtbf_hours = {};
    std::string hardware = {};  ///< the hardware profile that prices its kernels; empty: as without a list
  };

  std::string source;  ///< where the prices come from
  std::string date;    ///< when they held
  std::string currency = {};
  std::vector<Price> prices;
};

}  // namespace packsim
