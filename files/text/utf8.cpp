#include "files/text/utf8.hpp"

namespace packsim {
namespace {

// How sequences of a length start, and the least code point that needs that length.
struct SequenceForm {
  unsigned char mask;
  unsigned char lead;
  std::size_t n_bytes;
  char32_t least;
};

constexpr SequenceForm kForms[] = {
    {0x80, 0x00, 1, 0x0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};

bool is_surrogate(char32_t code_point) {
  return code_point >= 0xD800 && code_point <= 0xDFFF;
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  constexpr char32_t kLast = 0x10FFFF;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const SequenceForm& form : kForms) {
    if ((byte(0) & form.mask) != form.lead) continue;
    if (text.size() < form.n_bytes) return {};
    char32_t code_point = byte(0) & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < form.n_bytes; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) return {};
      code_point = code_point << 6U | (byte(i) & 0x3FU);
    }
    if (code_point < form.least || code_point > kLast || is_surrogate(code_point)) return {};
    return {.code_point = code_point, .n_bytes = form.n_bytes};
  }
  return {};
}

}  // namespace packsim
