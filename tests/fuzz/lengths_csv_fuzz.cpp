// Any bytes as a CSV file of lengths: it is accepted if and only if a naive splitter finds lengths in every
// row, and with the same lengths.

#include <algorithm>
#include <vector>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/naive_length.hpp"

namespace {

using packsim::testing::expect;
using packsim::testing::naive_length;
using Rows = std::vector<std::vector<std::string>>;

// Fields, character after character; nothing where a quote is not closed or is followed by other text.
std::optional<Rows> naive_rows(std::string_view text) {
  enum class State { start, plain, quoted, closed };
  State state = State::start;
  Rows rows = {{""}};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = rows.back().back();
    if (state == State::quoted) {
      if (c != '"') field += c;
      if (c == '"' && text.substr(i + 1, 1) == "\"")
        field += text[i++];
      else if (c == '"')
        state = State::closed;
    } else if (c == '"' && state == State::start) {
      state = State::quoted;
    } else if (c == ',') {
      rows.back().emplace_back();
      state = State::start;
    } else if (c == '\n') {
      rows.push_back({""});
      state = State::start;
    } else if (c == '\r' && text.substr(i + 1, 1) == "\n") {
      continue;
    } else if (state == State::closed) {
      return std::nullopt;
    } else {
      field += c;
      state = State::plain;
    }
  }
  return state == State::quoted ? std::nullopt : std::optional(rows);
}

std::optional<std::vector<std::int32_t>> naive_lengths(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::optional<Rows> rows = naive_rows(text);
  if (!rows) return std::nullopt;
  const std::vector<std::string>& head = rows->front();
  std::vector<std::string> names;
  const bool has_header = head.size() > 1 || !naive_length(head[0]);
  if (has_header) {
    names = std::ranges::count(head, "tokens") > 0 ? std::vector<std::string>{"tokens"}
                                                   : std::vector<std::string>{"prompt", "response"};
    for (const std::string& name : names) {
      if (std::ranges::count(head, name) != 1) return std::nullopt;
    }
  }
  std::vector<std::int32_t> lengths;
  for (std::size_t r = has_header ? 1 : 0; r < rows->size(); ++r) {
    const std::vector<std::string>& row = (*rows)[r];
    if (row.size() != head.size()) return std::nullopt;
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (has_header && std::ranges::count(names, head[c]) == 0) continue;
      const auto length = naive_length(row[c]);
      if (!length) return std::nullopt;
      sum += *length;
    }
    if (sum > 16'777'216) return std::nullopt;
    lengths.push_back(static_cast<std::int32_t>(sum));
  }
  return lengths.empty() ? std::nullopt : std::optional(lengths);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), n_bytes);
  packsim::Problems problems;
  const std::vector<std::int32_t> lengths = packsim::parse_lengths("input.csv", bytes, problems);
  const auto expected = naive_lengths(packsim::testing::naive_text(bytes));
  expect(expected.has_value() == (problems.size() == 0), "rows with lengths are accepted, and no others");
  if (expected) expect(*expected == lengths, "lengths are those of the rows");
  return 0;
}
