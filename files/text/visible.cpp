#include "files/text/visible.hpp"

#include <array>
#include <cstdio>

#include "files/text/utf8.hpp"

namespace packsim {
namespace {

struct UnseenRange {
  char32_t first;
  char32_t last;
};

// Characters that are not seen but change what is: Unicode 15.1, chapters 9.2 and 23, and UAX 9.
constexpr UnseenRange kUnseen[] = {
    {0x00, 0x1F},        // C0
    {0x7F, 0x9F},        // DEL, C1
    {0xAD, 0xAD},        // soft hyphen
    {0x61C, 0x61C},      // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200F},    // zero-width spaces and joiners, direction marks
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides of direction
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates of direction, deprecated formats
    {0x3164, 0x3164},    // Hangul filler
    {0xFE00, 0xFE0E},    // variation selectors; the last of them, U+FE0F, is part of many emoji
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler
    {0xFFF9, 0xFFFB},    // interlinear annotations
    {0x1D173, 0x1D17A},  // musical formats
    {0xE0000, 0xE0FFF},  // tags, variation selectors
};

bool is_noncharacter(char32_t c) {
  return (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFEU) == 0xFFFEU;
}

std::string code_of(char32_t c) {
  const auto number = static_cast<unsigned>(c);
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(),
                number <= 0xFF     ? "\\x%02x"
                : number <= 0xFFFF ? "\\u%04x"
                                   : "\\U%08x",
                number);
  return text.data();
}

}  // namespace

bool acts(char32_t c) {
  for (const UnseenRange& range : kUnseen) {
    if (c >= range.first && c <= range.last) return true;
  }
  return is_noncharacter(c);
}

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c == 0x7F) return false;  // all of UTF-8 but ASCII is negative or above
    if ((static_cast<unsigned char>(c) & 0x80U) != 0) return false;
  }
  return true;
}

std::vector<std::string> shown_characters(std::string_view text, std::string_view kept) {
  std::vector<std::string> shown;
  while (!text.empty()) {
    const auto [code_point, n_bytes] = first_character(text);
    const bool stays =
        code_point && (!acts(*code_point) || (n_bytes == 1 && kept.find(text[0]) != std::string_view::npos));
    shown.push_back(stays ? std::string(text.substr(0, n_bytes))
                          : code_of(code_point.value_or(static_cast<unsigned char>(text[0]))));
    text.remove_prefix(n_bytes);
  }
  return shown;
}

std::string visible(std::string_view text, std::string_view kept) {
  if (is_plain(text)) return std::string(text);
  std::string all;
  for (const std::string& character : shown_characters(text, kept)) all += character;
  return all;
}

}  // namespace packsim
