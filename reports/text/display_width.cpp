#include "reports/text/display_width.hpp"

#include <algorithm>

#include "files/text/utf8.hpp"

namespace packsim::formats_detail {
namespace {

struct BlockRange {
  char32_t first;
  char32_t last;
};

// Blocks with characters that are wide in Unicode 14 (UAX 11, classes W and F). A block counts as a whole, so
// a few narrow symbols in it get one column too many.
constexpr BlockRange kWideBlocks[] = {
    {0x1100, 0x115F},    // Hangul Jamo
    {0x231A, 0x231B},    // watch, hourglass
    {0x2329, 0x232A},    // angle brackets
    {0x23E9, 0x23F3},    // buttons of players
    {0x25FD, 0x25FE},    // squares
    {0x2600, 0x27BF},    // symbols, dingbats
    {0x2B1B, 0x2B55},    // squares, stars
    {0x2E80, 0x303E},    // CJK radicals, punctuation
    {0x3040, 0xA4CF},    // kana, CJK, Yi
    {0xA960, 0xA97F},    // Hangul Jamo
    {0xAC00, 0xD7A3},    // Hangul
    {0xF900, 0xFAFF},    // CJK compatibility
    {0xFE10, 0xFE6F},    // vertical and small forms
    {0xFF00, 0xFF60},    // fullwidth forms
    {0xFFE0, 0xFFE6},    // fullwidth signs
    {0x16FE0, 0x1B2FF},  // Tangut, Khitan, kana
    {0x1F000, 0x1FAFF},  // emoji
    {0x20000, 0x3FFFD},  // CJK extensions
};

constexpr BlockRange kCombiningAccents = {0x0300, 0x036F};

bool is_in(const BlockRange& block, char32_t c) {
  return c >= block.first && c <= block.last;
}

std::size_t columns_of_character(const Utf8Character& character) {
  if (!character.code_point) return 1;
  const char32_t c = *character.code_point;
  if (is_in(kCombiningAccents, c)) return 0;
  return std::ranges::any_of(kWideBlocks, [c](const BlockRange& block) { return is_in(block, c); }) ? 2 : 1;
}

// The longest end of the text that fits into the columns.
std::string_view end_within(std::string_view text, std::size_t columns) {
  std::size_t width = display_columns(text);
  while (!text.empty() && width > columns) {
    const Utf8Character character = first_character(text);
    width -= columns_of_character(character);
    text.remove_prefix(character.n_bytes);
  }
  return text;
}

}  // namespace

std::size_t display_columns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    columns += columns_of_character(character);
    text.remove_prefix(character.n_bytes);
  }
  return columns;
}

std::string_view start_within(std::string_view text, std::size_t columns) {
  std::size_t width = 0;
  std::size_t n_bytes = 0;
  while (n_bytes < text.size()) {
    const Utf8Character character = first_character(text.substr(n_bytes));
    width += columns_of_character(character);
    if (width > columns && n_bytes > 0) break;
    n_bytes += character.n_bytes;
  }
  return text.substr(0, n_bytes);
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view kGap = "..";
  if (display_columns(text) <= columns) return std::string(text);
  if (columns <= kGap.size() + 1) return std::string(start_within(text, columns));
  const std::size_t shown = columns - kGap.size();
  return std::string(start_within(text, shown - shown / 2)).append(kGap).append(end_within(text, shown / 2));
}

}  // namespace packsim::formats_detail
