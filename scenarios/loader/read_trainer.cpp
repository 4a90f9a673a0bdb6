#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/loader/readers.hpp"
#include "scenarios/training_stacks.hpp"

namespace packsim {
namespace {

// A value of the key, or one word of its lists.
std::optional<PlanValue> value_of(const PlanKey& key, const Json& value) {
  if (value.is_boolean() && key.option.type == OptionType::boolean) return PlanValue(value.get<bool>());
  if (value.is_number_integer() && key.option.type == OptionType::integer) {
    const auto number = value.get<std::int64_t>();
    if (number >= key.option.least && number <= key.option.most) return PlanValue(number);
  }
  if (!value.is_string() || key.option.type != OptionType::word) return std::nullopt;
  std::vector<std::string_view> words = key.option.words();
  if (key.list_words != nullptr) std::ranges::copy(key.list_words(), std::back_inserter(words));
  const std::string word = value.get<std::string>();
  return std::ranges::find(words, word) == words.end() ? std::nullopt : std::optional<PlanValue>(word);
}

// "any", or the values that the way can run.
void read_limit(JsonReader& reader, const PlanKey& key, TrainerWay& way) {
  const Json* value = reader.value(key.name());
  if (value == nullptr) return;
  KeyLimit limit{.key = &key};
  bool is_read = *value == "any" || (value->is_array() && !value->empty());
  for (const Json& one : value->is_array() ? *value : Json::array()) {
    const std::optional<PlanValue> read = value_of(key, one);
    if (read) limit.values.push_back(*read);
    is_read = is_read && read.has_value();
  }
  if (is_read) {
    way.limits.push_back(std::move(limit));
  } else {
    reader.refuse(key.name(), "\"any\", or an array of values, each " + expected_of(key));
  }
}

// The files that say a plan in this way.
std::vector<SettingsFile> read_settings(JsonReader& reader, const DataPaths& data, Problems& problems) {
  const Json* value = reader.value("settings");
  if (value == nullptr) return {};
  std::vector<SettingsFile> files;
  const std::string folder = std::filesystem::path(reader.file()).parent_path().string();
  for (const Json& one : value->is_array() ? *value : Json::array({nullptr})) {
    if (!one.is_string()) {
      reader.refuse("settings", "array of names of settings files");
      continue;
    }
    const FoundFile found = find_named_file(kSettingsFiles, one.get<std::string>(), folder, data);
    if (!found.found()) {
      reader.refuse("settings", found.expected, found.got);
      continue;
    }
    const JsonDocument document = read_json(found.path, problems);
    files.push_back(read_settings_file(JsonReader(document, problems)));
  }
  return files;
}

TrainerWay read_way(JsonReader& reader, const DataPaths& data, Problems& problems) {
  TrainerWay way{.name = reader.string("name")};
  if (!reader.has("zero_stage")) reader.refuse("zero_stage", "\"any\", or an array of stages");
  for (const std::string_view key : kTrainerKeys) read_limit(reader, *find_plan_key(key), way);
  way.checkpointed_layers = reader.one_of("checkpointed_layers", kLayerCountNames, LayerCounts::all_or_none);
  way.copies_key_value_heads = reader.boolean("copies_key_value_heads", true);
  way.gathers_beside_ulysses = reader.boolean("gathers_beside_ulysses", false);
  way.ulysses_first = reader.boolean("ulysses_first", false);
  way.offloaded_together =
      reader.one_of("offloaded_together", kOffloadedTogetherNames, OffloadedTogether::none);
  way.settings = read_settings(reader, data, problems);
  return way;
}

std::vector<std::string> read_own_strategies(JsonReader& reader) {
  const Json* value = reader.value("own_strategies");
  if (value == nullptr) return {};
  std::vector<std::string> own;
  for (const Json& one : value->is_array() ? *value : Json::array({nullptr})) {
    const bool is_known = one.is_string() && find_strategy(one.get<std::string>()) != nullptr;
    if (is_known) own.push_back(one.get<std::string>());
    if (!is_known) reader.refuse("own_strategies", "array of strategies (packsim list strategies)");
  }
  return own;
}

}  // namespace

Trainer read_trainer(JsonReader reader, const DataPaths& data, Problems& problems) {
  Trainer trainer;
  if (reader.silent()) return trainer;
  reader.string("$schema", "");  // for editors
  reader.integer("format", 1, 1);
  trainer.name = reader.string("name");
  trainer.source = reader.string("source");
  if (const TrainingStack* stack = reader.row_of("stack", kTrainingStacks)) trainer.stack = stack->name;
  trainer.micro_batches = reader.one_of("micro_batches", kMicroBatchCountNames, MicroBatchCounts::any);
  trainer.pack_lengths = reader.one_of("pack_lengths", kVarietyNames, Variety::many);
  trainer.degrees = reader.one_of("degrees", kVarietyNames, Variety::many);
  trainer.takes_plans = reader.boolean("takes_plans", true);
  trainer.own_strategies = read_own_strategies(reader);
  trainer.not_priced = reader.string("not_priced", "");
  for (JsonReader& way : reader.objects("ways")) trainer.ways.push_back(read_way(way, data, problems));
  return trainer;
}

}  // namespace packsim
