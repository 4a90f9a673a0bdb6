#include "reports/settings/settings_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace packsim {
namespace {

constexpr std::string_view kPlainCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./";

bool is_plain(const std::string& text) {
  return !text.empty() && text.find_first_not_of(kPlainCharacters) == std::string::npos;
}

// A value in one line. JSON is YAML, but words without quotes are what people write.
std::string inline_yaml(const Json& value) {
  const bool is_word = value.is_string() && is_plain(value.get<std::string>());
  return is_word ? value.get<std::string>() : value.dump();
}

void add_yaml(const Json& object, const std::string& indent, std::string& text) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      text += fmt::format("{}{}:\n", indent, key);
      add_yaml(value, indent + "  ", text);
    } else {
      text += fmt::format("{}{}: {}\n", indent, key, inline_yaml(value));
    }
  }
}

// Dots in keys begin inner objects.
Json nested(const std::vector<SettingsValue>& values) {
  Json root = Json::object();
  for (const auto& [key, value] : values) {
    Json* place = &root;
    std::size_t from = 0;
    for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', from)) {
      place = &(*place)[key.substr(from, dot - from)];
      from = dot + 1;
    }
    (*place)[key.substr(from)] = value;
  }
  return root;
}

// A word of bash.
std::string shell_word(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return is_plain(text) ? text : "'" + text + "'";
}

std::string shell_words(const Json& value) {
  if (!value.is_array()) return shell_word(value);
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(shell_word(one));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string shell_array(const std::vector<SettingsValue>& values, SettingsSyntax syntax) {
  std::string text = "ARGS=(\n";
  for (const auto& [key, value] : values) {
    if (syntax == SettingsSyntax::overrides) {
      text += fmt::format("  {}={}\n", key, shell_word(value));
    } else {
      text +=
          value.is_null() ? fmt::format("  {}\n", key) : fmt::format("  {} {}\n", key, shell_words(value));
    }
  }
  return text + ")\n";
}

}  // namespace

std::string settings_text(const SettingsFile& file, const std::vector<SettingsValue>& values) {
  std::vector<SettingsValue> last;
  for (const SettingsValue& value : values) {
    const auto before = std::ranges::find(last, value.first, &SettingsValue::first);
    if (before == last.end()) {
      last.push_back(value);
    } else {
      before->second = value.second;
    }
  }
  const std::string comment = "# " + file.text + "\n";
  switch (file.syntax) {
    case SettingsSyntax::json:
      return nested(last).dump(2) + "\n";
    case SettingsSyntax::yaml: {
      std::string text = comment;
      add_yaml(nested(last), "", text);
      return text;
    }
    case SettingsSyntax::arguments:
    case SettingsSyntax::overrides:
      return comment + shell_array(last, file.syntax);
    case SettingsSyntax::plan:
      break;  // has no keys of its own
  }
  return {};
}

}  // namespace packsim
