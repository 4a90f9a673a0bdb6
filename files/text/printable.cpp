#include "files/text/printable.hpp"

#include <algorithm>
#include <vector>

#include "files/text/visible.hpp"

namespace packsim {
namespace {

std::string joined(const std::vector<std::string>& characters, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += characters[i];
  return text;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most_characters) {
  if (text.size() <= most_characters && is_plain(text)) return std::string(text);
  const std::vector<std::string> characters = shown_characters(text, "");
  const std::size_t n = characters.size();
  if (n <= most_characters) return joined(characters, 0, n);
  const std::string gap = " ...(" + std::to_string(n) + " characters)... ";
  const std::size_t shown = most_characters > gap.size() ? most_characters - gap.size() : 0;
  return joined(characters, 0, shown - shown / 2) + gap + joined(characters, n - shown / 2, n);
}

std::string printable_name(std::string_view name) {
  return printable(name, kLongestName);
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines += printable(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string message_lines(std::string_view program, std::string_view message) {
  std::string lines;
  for (std::size_t start = 0; start <= message.size();) {
    const std::size_t end = std::min(message.find('\n', start), message.size());
    lines.append(program).append(": ") += printable(message.substr(start, end - start)) + "\n";
    start = end + 1;
  }
  return lines;
}

}  // namespace packsim
