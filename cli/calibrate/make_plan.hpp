#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/data_paths.hpp"

namespace CLI {
class App;
}

namespace packsim {

/// What a user says of the plan to make.
struct MeasurementListRequest {
  std::vector<std::string> models;  ///< empty: those of the shipped scenarios
  bool quick = false;
  int n_gpus = 8;
  int gpus_per_node = 8;
  double gpu_memory_gb = 80;
};

void add_plan_options(CLI::App& command, MeasurementListRequest& request);

/// A plan file. description, unless null, is set to its size and estimated time.
std::string make_plan_text(const MeasurementListRequest& request, const DataPaths& data,
                           std::string* description);

}  // namespace packsim
