// Any bytes as a JSONL file of lengths: an accepted file has one length a line, which is what the line says.

#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/naive_length.hpp"

namespace {

using packsim::testing::expect;

std::int64_t naive_tokens(const nlohmann::json& line) {
  if (line.is_number()) return line.get<std::int64_t>();
  for (const char* key : {"tokens", "length"}) {
    if (line.contains(key)) return line[key].get<std::int64_t>();
  }
  return line["prompt"].get<std::int64_t>() + line["response"].get<std::int64_t>();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), n_bytes);
  packsim::Problems problems;
  const std::vector<std::int32_t> lengths = packsim::parse_lengths("input.jsonl", bytes, problems);
  if (problems.size() > 0) return 0;
  std::string_view rest = packsim::testing::naive_text(bytes);
  std::size_t n_lines = 0;
  for (; !rest.empty(); ++n_lines) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);
    expect(n_lines < lengths.size(), "no line is left out");
    expect(naive_tokens(nlohmann::json::parse(line)) == lengths[n_lines], "a length is that of its line");
    expect(lengths[n_lines] >= 0 && lengths[n_lines] <= 16'777'216, "lengths are in range");
  }
  expect(n_lines == lengths.size(), "as many lengths as lines");
  return 0;
}
