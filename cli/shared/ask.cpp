#include "cli/shared/ask.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "cli/shared/print.hpp"

namespace packsim {

bool can_ask() {
  return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

std::string ask(const std::string& question, const std::string& fallback) {
  while (true) {
    print_out("{}{}: ", question, fallback.empty() ? "" : fmt::format(" [{}]", fallback));
    std::fflush(stdout);
    std::string answer;
    const bool has_line = static_cast<bool>(std::getline(std::cin, answer));
    if (!answer.empty()) return answer;
    if (!fallback.empty()) return fallback;
    if (!has_line) throw std::invalid_argument(fmt::format("{}: expected an answer, got none", question));
  }
}

}  // namespace packsim
