#include "cli/shared/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace packsim {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int terminal_width_columns() {
  constexpr int kUnknown = 80;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view text = environment("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && columns > 0 ? columns : kUnknown;
}

bool wants_colour(const std::string& choice, bool is_terminal) {
  if (choice != "auto") return choice == "always";
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view forced = environment("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") return true;
  return environment("TERM") != "dumb" && is_terminal;
}

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

}  // namespace packsim
