#pragma once

#include <span>
#include <string>
#include <vector>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {

/// One "KEY=VALUE" of a command line that was applied to a scenario.
struct ScenarioChange {
  std::string key;      ///< as typed: "strategies.isf.capacity_tokens"
  std::string pointer;  ///< of the value: "/strategies/0/capacity_tokens"
  std::string added;    ///< of the first member on the way that was not there before; else the pointer
};

/// Applies settings to a scenario, in their order. A key is a path of members with dots between them; an
/// element of an array is named by its number or, in "strategies", by its name. Members that are missing are
/// added. A value is JSON, or a bare word. What cannot be applied is a problem.
std::vector<ScenarioChange> change_scenario(Json& scenario, std::span<const std::string> settings,
                                            Problems& problems);

/// The hash of a scenario that is not what a file holds: of its JSON on one line.
std::string hash_of_scenario(const Json& scenario);

/// The scenario as indented JSON, for readers.
std::string scenario_text_of(const Json& scenario);

/// The same problems, where those of a changed value name the setting instead of the place in the file.
Problems with_settings(const Problems& problems, const std::string& file,
                       std::span<const ScenarioChange> changes);

}  // namespace packsim
