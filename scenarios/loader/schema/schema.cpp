#include "scenarios/loader/schema/schema.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "packing/options/token_count.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/schema/explore_keys.hpp"
#include "scenarios/loader/schema/key_texts.hpp"

namespace packsim {
namespace {

using Kind = ValueForm::Kind;

Json integer_schema(const ValueForm& form) {
  return {{"type", "integer"},
          {"minimum", static_cast<std::int64_t>(form.low)},
          {"maximum", static_cast<std::int64_t>(form.high)}};
}

Json number_schema(const ValueForm& form) {
  Json schema = {{"type", "number"}, {form.is_above_low ? "exclusiveMinimum" : "minimum", form.low}};
  if (form.high < std::numeric_limits<double>::max()) schema["maximum"] = form.high;
  return schema;
}

// Writes the schema of each object that records have, and in it those of its members.
class SchemaWriter {
 public:
  SchemaWriter(KeyRecords records, KeyTexts texts, const DataPaths& data)
      : records_(std::move(records)), texts_(std::move(texts)), data_(data) {}

  Json object(const std::string& place) const {
    Json schema = {{"type", "object"},
                   {"properties", Json::object()},
                   {"required", Json::array()},
                   {"additionalProperties", false}};
    for (const KeyRecord& key : keys_at(place)) {
      schema["properties"][key.key] = value(place, key);
      if (is_required_at(place, key.key)) schema["required"].push_back(key.key);
    }
    for (const ObjectRecord& object : records_.objects()) {
      if (object.place == place && !object.kind.text.empty()) schema["allOf"].push_back(keys_of_kind(object));
    }
    return schema;
  }

 private:
  // A key without a form is known only to be refused.
  static bool can_have(const KeyRecord& key) { return key.is_known && !key.forms.empty(); }

  static bool is_required(const KeyRecord& key) {
    return can_have(key) && key.was_missed && !key.was_left_out;
  }

  // Objects of all kinds know the key, and none does without it.
  bool is_required_at(const std::string& place, const std::string& key) const {
    bool was_missed = false;
    for (const ObjectRecord& object : records_.objects()) {
      if (object.place != place) continue;
      const auto known = std::ranges::find(object.keys, key, &KeyRecord::key);
      if (known == object.keys.end() || !can_have(*known) || known->was_left_out) return false;
      was_missed |= known->was_missed;
    }
    return was_missed;
  }

  // The keys of all kinds of the object together.
  std::vector<KeyRecord> keys_at(const std::string& place) const {
    KeyRecords together;
    for (ObjectRecord object : records_.objects()) {
      object.kind = {};
      if (object.place == place) together.add(object);
    }
    std::vector<KeyRecord> keys = together.find(place, "")->keys;
    std::erase_if(keys, [](const KeyRecord& key) { return !can_have(key); });
    return keys;
  }

  // What tells objects of the kind from others at the same place.
  static Json sign_of(const ObjectKind& kind) {
    Json sign = {{"required", {kind.key}}};
    if (!kind.word.empty()) sign["properties"] = {{kind.key, {{"const", kind.word}}}};
    return kind.has_key ? sign : Json{{"not", sign}};
  }

  // The keys that an object of one kind may have ("strategy": "isf"), and those that it needs.
  Json keys_of_kind(const ObjectRecord& object) const {
    Json names = Json::array();
    Json needed = Json::array();
    for (const KeyRecord& known : object.keys) {
      if (can_have(known)) names.push_back(known.key);
      if (is_required(known) && !is_required_at(object.place, known.key)) needed.push_back(known.key);
    }
    Json keys = {{"propertyNames", {{"enum", names}}}};
    if (!needed.empty()) keys["required"] = needed;
    return {{"if", sign_of(object.kind)}, {"then", keys}};
  }

  Json value(const std::string& place, const KeyRecord& key) const {
    std::vector<Json> forms;
    for (const ValueForm& form : key.forms) forms.push_back(form_schema(place + "/" + key.key, form));
    if (counts_tokens(key.key)) forms.push_back({{"type", "string"}, {"pattern", "^[0-9]+[KkMm]$"}});
    Json schema = forms.size() == 1 ? forms.front() : Json{{"anyOf", forms}};
    const std::string text = texts_.text_of(place, key.key);
    if (!text.empty()) schema["description"] = text;
    return schema;
  }

  Json form_schema(const std::string& place, const ValueForm& form) const {
    switch (form.kind) {
      case Kind::boolean:
        return {{"type", "boolean"}};
      case Kind::integer:
        return integer_schema(form);
      case Kind::number:
        return number_schema(form);
      case Kind::string:
        return {{"type", "string"}, {"minLength", static_cast<std::int64_t>(form.low)}};
      case Kind::words:
        return {{"enum", form.words}};
      case Kind::file_name:  // what is_path() takes for a path
        return {
            {"anyOf",
             {{{"enum", names_of(*form.files, data_)}}, {{"type", "string"}, {"pattern", "/|\\.json$"}}}}};
      case Kind::object:
        return object(place);
      case Kind::objects:
        return {
            {"type", "array"}, {"minItems", 1}, {"maxItems", kMostObjects}, {"items", object(place + "/[]")}};
      case Kind::integers:
        return {{"type", "array"}, {"items", integer_schema(form)}};
      case Kind::array_of_words:
        break;
    }
    return {{"type", "array"}, {"items", {{"enum", form.words}}}};
  }

  KeyRecords records_;
  KeyTexts texts_;
  const DataPaths& data_;
};

}  // namespace

Json schema_of(const FileKind& kind, const DataPaths& data) {
  const SchemaWriter writer(explore_keys(kind), KeyTexts(pages_of_keys(data), kind.described_as), data);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", kind.title}};
  schema.update(writer.object(""));
  return schema;
}

}  // namespace packsim
