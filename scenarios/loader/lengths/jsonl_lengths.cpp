#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/lengths/data_files.hpp"
#include "scenarios/loader/lengths/length_formats.hpp"
#include "scenarios/loader/lengths/length_text.hpp"

namespace packsim::length_formats {
namespace {

// The members of an object that make up its length; none where it has no length.
std::vector<std::string> summed_keys(const Json& object) {
  if (object.contains("tokens")) return {"tokens"};
  if (object.contains("length")) return {"length"};
  if (object.contains("prompt") && object.contains("response")) return {"prompt", "response"};
  return {};
}

// The keys that a row may have; for a row with a text, also the command that counts its tokens.
std::string expected_keys(const Json& object, const std::string& file) {
  const std::string expected = "tokens, length, input_ids, or prompt and response";
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) return fmt::format("{} (of texts: {})", expected, measuring_command(file, key));
  }
  return expected;
}

void add_token_ids(const Json& ids, std::int64_t line, std::vector<std::int32_t>& lengths_tokens,
                   BadRows& bad_rows) {
  const auto is_id = [](const Json& id) { return integer_of(id).has_value(); };
  if (ids.is_array() && is_length(static_cast<std::int64_t>(ids.size())) && std::ranges::all_of(ids, is_id)) {
    lengths_tokens.push_back(static_cast<std::int32_t>(ids.size()));
  } else {
    bad_rows.add(fmt::format("line {}: /input_ids", line), "an array of integers", describe(ids));
  }
}

void add_object(const Json& object, std::int64_t line, std::vector<std::int32_t>& lengths_tokens,
                BadRows& bad_rows) {
  const std::vector<std::string> keys = summed_keys(object);
  if (keys.empty() && object.contains("input_ids")) {
    add_token_ids(object["input_ids"], line, lengths_tokens, bad_rows);
    return;
  }
  if (keys.empty()) {
    bad_rows.add(line, expected_keys(object, bad_rows.file()), describe(object));
    return;
  }
  std::int32_t n_tokens = 0;  // two of the largest lengths fit
  for (const std::string& key : keys) {
    const auto length = length_from_json(object[key]);
    if (!length) {
      bad_rows.add(fmt::format("line {}: /{}", line, key), length_range(), describe(object[key]));
      return;
    }
    n_tokens += *length;
  }
  if (is_length(n_tokens)) {
    lengths_tokens.push_back(n_tokens);
  } else {
    bad_rows.add(line, "prompt + response an " + length_range(), fmt::format("{}", n_tokens));
  }
}

void add_line(std::string_view text, std::int64_t line, std::vector<std::int32_t>& lengths_tokens,
              BadRows& bad_rows) {
  Problems problems;
  const std::optional<Json> value = parse_json(bad_rows.file(), text, problems, line);
  for (const Problem& problem : problems.all()) bad_rows.add(problem.place, problem.expected, problem.got);
  if (!value || problems.size() > 0) return;
  if (value->is_object()) {
    add_object(*value, line, lengths_tokens, bad_rows);
  } else if (const auto length = length_from_json(*value)) {
    lengths_tokens.push_back(*length);
  } else {
    bad_rows.add(line, length_range() + " or an object", describe(*value));
  }
}

}  // namespace

std::vector<std::int32_t> jsonl(std::string_view bytes, BadRows& bad_rows) {
  std::vector<std::int32_t> lengths_tokens;
  std::string_view rest = without_last_line_ends(without_byte_order_mark(bytes));
  for (std::int64_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    add_line(rest.substr(0, end), line, lengths_tokens, bad_rows);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lengths_tokens;
}

}  // namespace packsim::length_formats
