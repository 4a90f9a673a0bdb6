#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

std::vector<std::string> strings_of(const std::vector<std::string_view>& words) {
  return {words.begin(), words.end()};
}

bool is_word_of(const Json& value, const std::vector<std::string>& words) {
  return value.is_string() && std::ranges::find(words, value.get_ref<const std::string&>()) != words.end();
}

// A word of the key, or an array of some.
std::optional<PlanValue> read_words(JsonReader& reader, const PlanKey& key) {
  const std::vector<std::string> words = strings_of(key.option.words());
  const std::vector<std::string> list_words = strings_of(key.list_words());
  const Json* value = reader.word_or_array(key.name(), words, list_words);
  if (value == nullptr) return std::nullopt;
  if (is_word_of(*value, words)) return value->get<std::string>();
  const bool is_list =
      value->is_array() && (key.may_be_empty || !value->empty()) &&
      std::ranges::all_of(*value, [&](const Json& one) { return is_word_of(one, list_words); });
  if (is_list) return value->get<std::vector<std::string>>();
  reader.refuse(key.name(), expected_of(key));
  return std::nullopt;
}

std::optional<PlanValue> read_integers(JsonReader& reader, const PlanKey& key) {
  const std::vector<int> numbers =
      reader.integers(key.name(), static_cast<int>(key.option.least), static_cast<int>(key.option.most));
  return reader.has(key.name()) ? std::optional<PlanValue>(numbers) : std::nullopt;
}

// The value that an option of one value has in the plan.
OptionValue option_value_in(const PlanKey& key, const ParallelPlan& plan) {
  return std::visit(
      [](auto&& value) -> OptionValue {
        if constexpr (std::is_constructible_v<OptionValue, decltype(value)>) return value;
        return {};
      },
      key.get(plan));
}

std::optional<PlanValue> read_one(JsonReader& reader, const PlanKey& key, const ParallelPlan& plan) {
  return std::visit([](auto&& value) { return std::optional<PlanValue>(value); },
                    read_option_value(reader, key.option, option_value_in(key, plan)));
}

}  // namespace

void read_plan_value(JsonReader& reader, const PlanKey& key, ParallelPlan& plan) {
  const std::size_t before = reader.n_problems();
  std::optional<PlanValue> value;
  if (!key.is_list) value = read_one(reader, key, plan);
  if (key.is_list && key.list_words != nullptr) value = read_words(reader, key);
  if (key.is_list && key.list_words == nullptr) value = read_integers(reader, key);
  if (value && reader.n_problems() == before) key.set(plan, *value);
}

ParallelPlan read_parallelism(JsonReader reader, ParallelPlan plan) {
  for (const PlanKey& key : plan_keys()) {
    if (key.part == PlanPart::parallelism || key.part == PlanPart::training)
      read_plan_value(reader, key, plan);
  }
  return plan;
}

}  // namespace packsim
