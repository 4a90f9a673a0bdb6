#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_profile.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "validation/cluster_hardware.hpp"
#include "validation/validation_row.hpp"

namespace packsim {

/// Published steps beside what a framework profile says of them, each with its interval.
class PredictedRows {
 public:
  /// data: kept by reference.
  explicit PredictedRows(const DataPaths& data) : data_(data) {}

  ValidationRow row(const PublishedStep& step, const FrameworkProfile& profile);
  /// A hardware profile by its name, loaded once.
  ClusterHardware& hardware(const std::string& name);

 private:
  const DataPaths& data_;
  std::map<std::string, ClusterHardware> hardware_;
};

/// The share of the rows with an interval that are outside it.
double share_outside(const std::vector<ValidationRow>& rows);

}  // namespace packsim
