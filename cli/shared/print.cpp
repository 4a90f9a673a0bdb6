#include "cli/shared/print.hpp"

#include "files/text/printable.hpp"

namespace packsim {

void print_text(std::FILE* stream, std::string_view text) {
  const std::string printed = printable_lines(text);
  std::fwrite(printed.data(), 1, printed.size(), stream);
}

void print_exact(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace packsim
