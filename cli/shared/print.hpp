#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace packsim {

/// Prints text for people. Names, paths and values from files are data: what would act on a terminal is
/// escaped, and of very long lines the middle is left out (files/text/printable.hpp).
void print_text(std::FILE* stream, std::string_view text);

/// Prints JSON and other files for programs, byte by byte.
void print_exact(std::string_view text);

template <typename... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stderr, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace packsim
