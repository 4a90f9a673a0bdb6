#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/plan/settings_file.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// {"tp_degree": ["1", "2"]}: facts, and values of each in words.
FactWords read_fact_words(JsonReader& reader, std::string_view key) {
  FactWords facts;
  const Json* value = reader.value(key);
  if (value == nullptr) return facts;
  const auto is_word = [](const Json& one) { return one.is_string(); };
  const auto is_words = [&](const Json& one) { return one.is_array() && std::ranges::all_of(one, is_word); };
  if (!value->is_object() || !std::ranges::all_of(*value, is_words)) {
    reader.refuse(key, "an object of facts, each with an array of words");
    return facts;
  }
  for (const auto& [fact, words] : value->items())
    facts.emplace_back(fact, words.get<std::vector<std::string>>());
  return facts;
}

SettingsLine read_line(JsonReader& reader) {
  SettingsLine line;
  line.key = reader.string("key");
  if (!reader.silent() && reader.has("is") == reader.has("of"))
    reader.refuse("of", "a fact, or in its place \"is\" with what is always written");
  if (const Json* constant = reader.value("is")) line.constant = constant->dump();
  line.fact = reader.string("of", "");
  const Json* words = reader.value("as");
  if (words != nullptr && !words->is_object())
    reader.refuse("as", "an object: of each value what is written");
  if (words != nullptr && words->is_object()) {
    for (const auto& [word, said] : words->items()) line.words.emplace_back(word, said.dump());
  }
  line.when = read_fact_words(reader, "when");
  line.unless = read_fact_words(reader, "unless");
  return line;
}

}  // namespace

SettingsFile read_settings_file(JsonReader reader) {
  SettingsFile file;
  if (reader.silent()) return file;
  reader.integer("format", 1, 1);
  file.file = reader.string("file");
  file.syntax = reader.one_of("syntax", kSettingsSyntaxNames, SettingsSyntax::json);
  file.text = reader.string("text", "");
  for (auto& [fact, words] : read_fact_words(reader, "implies")) {
    for (std::string& word : words) file.implies.emplace_back(fact, std::move(word));
  }
  if (file.syntax == SettingsSyntax::plan) return file;
  for (JsonReader& line : reader.objects("keys")) file.lines.push_back(read_line(line));
  return file;
}

}  // namespace packsim
