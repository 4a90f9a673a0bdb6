#include <algorithm>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

OptionValue read_word(JsonReader& reader, const Option& option, const OptionValue& before) {
  const std::vector<std::string_view> words = option.words();
  const std::vector<std::string> names(words.begin(), words.end());
  const auto fallback = std::ranges::find(names, std::get<std::string>(before)) - names.begin();
  return names[reader.one_of(option.name, names, static_cast<std::size_t>(fallback))];
}

}  // namespace

OptionValue read_option_value(JsonReader& reader, const Option& option, const OptionValue& before) {
  switch (option.type) {
    case OptionType::boolean:
      return reader.boolean(option.name, std::get<bool>(before));
    case OptionType::integer:
      return reader.integer(option.name, option.least, option.most, std::get<std::int64_t>(before));
    case OptionType::number:
      if (reader.value(option.name) == nullptr) return before;
      return reader.number(option.name, static_cast<double>(option.least), static_cast<double>(option.most));
    case OptionType::word:
      break;
  }
  return read_word(reader, option, before);
}

}  // namespace packsim
