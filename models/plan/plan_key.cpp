#include "models/plan/plan_key.hpp"

namespace packsim {
namespace {

template <typename Texts>
std::string joined(const Texts& texts, std::string_view between) {
  std::string all;
  for (const auto& text : texts) {
    if (!all.empty()) all += between;
    if constexpr (std::is_same_v<typename Texts::value_type, int>) all += std::to_string(text);
    if constexpr (!std::is_same_v<typename Texts::value_type, int>) all += text;
  }
  return all;
}

}  // namespace

std::string expected_of(const PlanKey& key) {
  if (!key.is_list) return expected_of(key.option);
  if (key.list_words == nullptr)
    return "array of integers in " + std::to_string(key.option.least) + ".." +
           std::to_string(key.option.most);
  const std::vector<std::string_view> words = key.option.words();
  return (words.size() == 1 ? std::string(words.front()) : expected_of(key.option)) + ", or an array of " +
         joined(key.list_words(), ", ");
}

std::string plan_value_text(const PlanValue& value) {
  if (const auto* const numbers = std::get_if<std::vector<int>>(&value))
    return joined(*numbers, kBetweenElements);
  if (const auto* const words = std::get_if<std::vector<std::string>>(&value))
    return joined(*words, kBetweenElements);
  if (const auto* const word = std::get_if<std::string>(&value)) return *word;
  if (const auto* const boolean = std::get_if<bool>(&value)) return text_of(OptionValue(*boolean));
  if (const auto* const number = std::get_if<double>(&value)) return text_of(OptionValue(*number));
  return text_of(OptionValue(std::get<std::int64_t>(value)));
}

}  // namespace packsim
