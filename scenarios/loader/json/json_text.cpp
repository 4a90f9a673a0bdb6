#include "scenarios/loader/json/json_text.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace packsim {
namespace {

constexpr std::size_t kLongestText = 60;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string abbreviated(std::string text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText - 3;
  const auto inside_character = [&] { return (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U; };
  while (end > 0 && inside_character()) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::optional<std::int64_t> integer_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  // nlohmann keeps every integer that is not negative as unsigned.
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    return std::nullopt;
  return value.get<std::int64_t>();
}

std::string describe(const Json& value) {
  if (value.is_null()) return "null";
  return abbreviated(dumped(value)) + " (" + value.type_name() + ")";
}

std::string quote(std::string_view bytes) {
  return abbreviated(dumped(Json(std::string(bytes.substr(0, kLongestText)))));
}

std::string pointer_step(std::string_view key) {
  std::string step;
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  const std::string text = dumped(Json(step));
  return abbreviated(text.substr(1, text.size() - 2));
}

}  // namespace packsim
