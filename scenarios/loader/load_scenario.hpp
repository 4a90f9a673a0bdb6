#pragma once

#include <span>
#include <string>

#include "scenarios/loader/data_paths.hpp"
#include "scenarios/price_list.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What is done with strategies that have mistakes where nothing else of the scenario has.
enum class MistakenStrategies {
  refuse,     ///< as every other mistake
  leave_out,  ///< they go to Scenario::refused_strategies, unless all have mistakes: a degree may be too
              ///< large for one of the clusters that are compared, and right for the others
};

/// Reads a scenario with the model, cluster, profile and strategies that it names. Length files are looked
/// for but not read: see draw_lengths().
///
/// path: a file, "-" for standard input, whose relative paths are those of the current folder, or the name of
/// a scenario of the data root. settings: "KEY=VALUE", which change the scenario before it is read
/// (scenario_changes.hpp); the hash is then that of the changed scenario, written on one line. Throws
/// ScenarioError with every mistake in it and in the files that it names, FileError where the machine will
/// not read one of them.
Scenario load_scenario(const std::string& path, const DataPaths& data,
                       std::span<const std::string> settings = {},
                       MistakenStrategies mistaken = MistakenStrategies::refuse);

/// The same for a scenario that no file holds. name: for messages, and as the scenario's path. Relative paths
/// are those of the current folder, and the hash is that of the scenario written on one line.
Scenario load_scenario_text(const std::string& text, const std::string& name, const DataPaths& data,
                            std::span<const std::string> settings = {},
                            MistakenStrategies mistaken = MistakenStrategies::refuse);

/// A model, trainer, GPU, cluster type or profile by name or path, with the same errors. The cluster has one
/// node.
Trainer load_trainer(const std::string& name_or_path, const DataPaths& data);
Gpu load_gpu(const std::string& name_or_path, const DataPaths& data);
Transformer load_model(const std::string& name_or_path, const DataPaths& data);
Cluster load_cluster_type(const std::string& name_or_path, const DataPaths& data);
FrameworkProfile load_profile(const std::string& name_or_path, const DataPaths& data);
/// A file of prices, with the same errors.
PriceList load_price_list(const std::string& path);

}  // namespace packsim
