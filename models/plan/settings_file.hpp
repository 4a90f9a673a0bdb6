#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "packing/policies/policies.hpp"

namespace packsim {

/// How a settings file reads.
enum class SettingsSyntax : std::uint8_t { json, yaml, arguments, overrides, plan };
inline constexpr std::array<PolicyName<SettingsSyntax>, 5> kSettingsSyntaxNames = {{
    {SettingsSyntax::json, "json", "an object; a dot in a key begins an inner one"},
    {SettingsSyntax::yaml, "yaml", "the same as YAML"},
    {SettingsSyntax::arguments, "arguments", "--key value, as an array of bash"},
    {SettingsSyntax::overrides, "overrides", "key=value, as an array of bash"},
    {SettingsSyntax::plan, "plan", "the plan in packsim's own keys"},
}};

/// Facts of a job (reports/settings/settings_facts.hpp) and the values of each, in words.
using FactWords = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// One key of a settings file and what it says.
struct SettingsLine {
  std::string key;
  std::string fact;      ///< whose value is written; empty: `constant` is
  std::string constant;  ///< JSON
  /// The value in words, and the JSON that says it. Other values are not written. Empty: the value itself is.
  std::vector<std::pair<std::string, std::string>> words;
  FactWords when;    ///< written only if each fact has one of the values
  FactWords unless;  ///< not written if a fact has one of the values
};

/// How a trainer is told a plan: a file of models/trainers/settings.
struct SettingsFile {
  std::string file;  ///< the name of what is written
  SettingsSyntax syntax = SettingsSyntax::json;
  std::string text;  ///< what it is and how it is passed on
  /// What holds without being said. Where the plan is otherwise, readers are told.
  std::vector<std::pair<std::string, std::string>> implies;
  std::vector<SettingsLine> lines;
};

}  // namespace packsim
