#pragma once

#include <span>
#include <string>

#include "planning/tune/tune.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The name of the strategy that tuned scenarios have.
inline constexpr const char* kTunedStrategy = "hbp-tuned";

/// The scenario's file with a strategy hbp-tuned of these groups, in the place of the one it has by that name
/// or behind the others. Relative paths in it are made to hold from the folder of `path`, where it is going
/// to be written. Checkpointed layers that the memory model has not fit are left to it ("auto").
///
/// Throws FileError where the scenario's file cannot be read again.
std::string tuned_scenario(const Scenario& scenario, std::span<const TunedGroup> groups,
                           const std::string& path, const DataPaths& data);

}  // namespace packsim
