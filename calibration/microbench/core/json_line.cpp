#include "calibration/microbench/core/json_line.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace packsim::microbench {
namespace {

constexpr int kDeepest = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json whole() {
    Json value = any(0);
    skip_space();
    if (at_ != text_.size()) refuse("the end of the line");
    return value;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const {
    throw std::invalid_argument("column " + std::to_string(at_ + 1) + ": expected " + expected + ", got " +
                                (at_ < text_.size() ? "\"" + std::string(text_.substr(at_, 12)) + "\""
                                                    : std::string("the end of the line")));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Json any(int depth) {
    if (depth > kDeepest) refuse("fewer brackets within brackets");
    skip_space();
    Json value;
    if (at_ >= text_.size()) refuse("a value");
    if (text_[at_] == '{') return object(depth);
    if (text_[at_] == '[') return array(depth);
    if (text_[at_] == '"') {
      value.type = Json::Type::text;
      value.text = string();
    } else if (take_word("true") || take_word("false")) {
      value.type = Json::Type::boolean;
      value.number = text_[at_ - 2] == 'u' ? 1 : 0;
    } else if (!take_word("null")) {
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), value.number);
      if (error != std::errc() || !std::isfinite(value.number)) refuse("a value");
      value.type = Json::Type::number;
      at_ = static_cast<std::size_t>(end - text_.data());
    }
    return value;
  }

  Json array(int depth) {
    Json value;
    value.type = Json::Type::array;
    ++at_;
    if (take(']')) return value;
    do value.items.push_back(any(depth + 1));
    while (take(','));
    if (!take(']')) refuse("\",\" or \"]\"");
    return value;
  }

  Json object(int depth) {
    Json value;
    value.type = Json::Type::object;
    ++at_;
    if (take('}')) return value;
    do {
      skip_space();
      if (at_ >= text_.size() || text_[at_] != '"') refuse("a name in quotes");
      const std::string name = string();
      if (!take(':')) refuse("\":\"");
      value.fields[name] = any(depth + 1);
    } while (take(','));
    if (!take('}')) refuse("\",\" or \"}\"");
    return value;
  }

  std::uint32_t four_hex_digits() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || end != digits.data() + 4) refuse("four hexadecimal digits");
    at_ += 4;
    return code;
  }

  // Code points above the first 128 as UTF-8; halves of a pair are kept as they come.
  static void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xC0 | (code >> 6));
      text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
      text += static_cast<char>(0xE0 | (code >> 12));
      text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }

  std::string string() {
    static constexpr std::string_view kEscapes = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    std::string text;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) refuse("no control character in a text");
      if (text_[at_] != '\\') {
        text += text_[at_++];
        continue;
      }
      ++at_;
      if (at_ < text_.size() && text_[at_] == 'u') {
        ++at_;
        append_utf8(text, four_hex_digits());
        continue;
      }
      const std::size_t escape = at_ < text_.size() ? kEscapes.find(text_[at_]) : std::string_view::npos;
      if (escape == std::string_view::npos) refuse("an escape");
      text += kMeanings[escape];
      ++at_;
    }
    if (at_ >= text_.size()) refuse("\"\\\"\"");
    ++at_;
    return text;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::field(const std::string& name) const {
  const auto at = fields.find(name);
  return at == fields.end() ? nullptr : &at->second;
}

Json parse_json(std::string_view line) {
  return Reader(line).whole();
}

std::string json_text(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += "\\u00";
      quoted += kHex[static_cast<unsigned char>(c) >> 4];
      quoted += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text;
  return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

std::string json_array(std::span<const double> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + json_number(values[i]);
  return text + "]";
}

}  // namespace packsim::microbench
