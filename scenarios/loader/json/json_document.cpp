#include "scenarios/loader/json/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "files/read_file.hpp"
#include "scenarios/loader/json/file_text.hpp"

namespace packsim {
namespace {

// Scenario files need 6 levels; a limit keeps functions that walk the tree off the end of the stack.
constexpr std::size_t kMostLevels = 64;
constexpr std::string_view kWordEnds = " \t\r\n{}[]:,\"";

// What nlohmann says of a syntax error, in parts:
// "[...] parse error at line 1, column 7: syntax error while parsing value - unexpected '}'; expected ...",
// or
// "... - invalid string: forbidden character after backslash; last read: ...".
struct Complaint {
  std::string context;  // "while parsing value"
  std::string what;     // "'}'"
  bool unexpected = false;
};

Complaint complaint_of(const std::string& message) {
  constexpr std::string_view kUnexpected = "unexpected ";
  const std::size_t context = message.find("while parsing ");
  const std::size_t dash = message.find(" - ");
  if (context == std::string::npos || dash == std::string::npos) return {.context = "", .what = message};
  std::string what = message.substr(dash + 3);
  const bool unexpected = what.starts_with(kUnexpected);
  what = unexpected ? what.substr(kUnexpected.size(), what.find(';') - kUnexpected.size())
                    : what.substr(0, what.find("; last read"));
  return {.context = message.substr(context, dash - context), .what = what, .unexpected = unexpected};
}

class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder(const std::string& file, std::string_view text, std::optional<std::int64_t> line,
                  Problems& problems)
      : file_(file), text_(text), line_(line), problems_(problems) {}

  Json& root() { return root_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not part of JSON text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override;
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override;

 private:
  // An object or array that is still open.
  struct Level {
    Json* value = nullptr;
    std::string key = {};             // of the member that is being read
    std::set<std::string> keys = {};  // seen so far
  };

  bool put(Json value) {
    add(std::move(value));
    return true;
  }
  bool open(Json value);
  bool close() {
    levels_.pop_back();
    return true;
  }
  Json* add(Json value);
  std::string pointer() const;
  void refuse_text(std::size_t offset, const std::string& got);
  std::string line_place() const { return fmt::format("line {}", *line_); }
  std::string text_place(std::size_t offset) const;
  std::size_t word_start(std::size_t offset) const;
  std::string_view word_at(std::size_t start) const;

  const std::string& file_;
  std::string_view text_;
  std::optional<std::int64_t> line_;
  Problems& problems_;
  Json root_;
  std::vector<Level> levels_;
};

// Pointers to open values stay valid: a value only gets new members while its own members are closed.
Json* DocumentBuilder::add(Json value) {
  if (levels_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Level& level = levels_.back();
  if (level.value->is_array()) return &level.value->get_ref<Json::array_t&>().emplace_back(std::move(value));
  // A second value of one key goes behind the first, where no look-up finds it.
  auto& members =
      static_cast<std::vector<Json::object_t::value_type>&>(level.value->get_ref<Json::object_t&>());
  return &members.emplace_back(level.key, std::move(value)).second;
}

bool DocumentBuilder::open(Json value) {
  if (levels_.size() == kMostLevels) {
    problems_.add({file_, line_ ? line_place() : "top level",
                   fmt::format("at most {} levels of nesting", kMostLevels), "more"});
    return false;
  }
  levels_.push_back({.value = add(std::move(value))});
  return true;
}

bool DocumentBuilder::key(string_t& key) {
  Level& level = levels_.back();
  level.key = std::move(key);
  if (!level.keys.insert(level.key).second) {
    problems_.add({file_, line_ ? line_place() + ": " + pointer() : pointer(), "one value", "a second one"});
  }
  return true;
}

bool DocumentBuilder::parse_error(std::size_t position, const std::string& last_token,
                                  const nlohmann::detail::exception& error) {
  constexpr int kNumberOverflow = 406;
  const std::size_t last = std::min(std::max<std::size_t>(position, 1) - 1, text_.size());
  // `last_token` is the text of a string or number, and `last` its last character.
  const std::size_t token_start = last - std::min(last, std::max<std::size_t>(last_token.size(), 1) - 1);
  const Complaint complaint = complaint_of(error.what());
  if (error.id == kNumberOverflow) {
    refuse_text(token_start, last_token + " (too large a number)");
  } else if (complaint.what.starts_with("invalid literal")) {
    refuse_text(word_start(last), quote(word_at(word_start(last))));
  } else if (complaint.what == "string literal" || complaint.what == "number literal") {
    refuse_text(token_start, complaint.what + " " + complaint.context);
  } else if (complaint.unexpected) {
    refuse_text(last, complaint.what + " " + complaint.context);
  } else {
    refuse_text(last, complaint.what);
  }
  return false;
}

std::string DocumentBuilder::pointer() const {
  std::string pointer;
  for (const Level& level : levels_) {
    // The element that is being read is in the array already.
    pointer +=
        "/" + (level.value->is_array() ? std::to_string(level.value->size() - 1) : pointer_step(level.key));
  }
  return pointer;
}

void DocumentBuilder::refuse_text(std::size_t offset, const std::string& got) {
  problems_.add({file_, text_place(offset), "valid JSON", got});
}

std::string DocumentBuilder::text_place(std::size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto continues_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  const std::string_view in_line = before.substr(line_start);
  const auto column =
      static_cast<std::ptrdiff_t>(in_line.size()) - std::ranges::count_if(in_line, continues_character) + 1;
  return fmt::format("line {}, column {}", line_.value_or(1) + std::ranges::count(before, '\n'), column);
}

std::size_t DocumentBuilder::word_start(std::size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const std::size_t comment = before.rfind("*/");
  const std::size_t after_comment = comment == std::string_view::npos ? 0 : comment + 2;
  return std::max(before.find_last_of(kWordEnds) + 1, after_comment);  // npos + 1 is 0
}

std::string_view DocumentBuilder::word_at(std::size_t start) const {
  const std::string_view rest = text_.substr(start);
  return rest.substr(0, rest.find_first_of(kWordEnds, 1));
}

}  // namespace

std::optional<Json> parse_json(const std::string& file, std::string_view text, Problems& problems,
                               std::optional<std::int64_t> line, Comments comments) {
  text = without_byte_order_mark(text);
  DocumentBuilder builder(file, text, line, problems);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    problems.add({file, fmt::format("line {}", line.value_or(1)), "valid JSON",
                  line ? "an empty line" : "an empty file"});
    return std::nullopt;
  }
  constexpr bool kNothingBehind = true;
  if (!Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, kNothingBehind,
                       comments == Comments::allowed))
    return std::nullopt;
  return std::move(builder.root());
}

JsonDocument read_json(const std::string& path, Problems& problems, Comments comments) {
  const std::string text = read_file(path == "-" ? "/dev/stdin" : path);
  JsonDocument document{.file = path, .hash = hash_of(text), .root = nullptr};
  problems.add_file(path, document.hash);
  if (std::optional<Json> root = parse_json(path, text, problems, std::nullopt, comments)) {
    document.root = std::make_shared<const Json>(std::move(*root));
  }
  return document;
}

}  // namespace packsim
