#include "reports/text/style.hpp"

#include <fmt/color.h>

namespace packsim::formats_detail {
namespace {

std::string styled(bool is_on, fmt::text_style style, std::string_view text) {
  return is_on && !text.empty() ? fmt::format(style, "{}", text) : std::string(text);
}

}  // namespace

std::string Style::bold(std::string_view text) const {
  return styled(is_on_, fmt::emphasis::bold, text);
}

std::string Style::good(std::string_view text) const {
  return styled(is_on_, fmt::emphasis::bold | fg(fmt::terminal_color::green), text);
}

std::string Style::bad(std::string_view text) const {
  return styled(is_on_, fg(fmt::terminal_color::red), text);
}

std::string Style::warning(std::string_view text) const {
  return styled(is_on_, fmt::emphasis::bold | fg(fmt::terminal_color::yellow), text);
}

}  // namespace packsim::formats_detail
