// Any bytes as a histogram of lengths: an accepted one has each length as often as its member says,
// ascending.

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/naive_length.hpp"

namespace {

using packsim::testing::expect;
using Counts = std::map<std::int64_t, std::uint64_t>;

// How often each length occurs; nothing where it is no histogram.
std::optional<Counts> naive_counts(std::string_view bytes) {
  const auto root = nlohmann::json::parse(bytes, nullptr, false);
  if (!root.is_object() || !root.contains("histogram") || !root["histogram"].is_structured())
    return std::nullopt;
  Counts counts;
  for (const auto& [key, count] : root["histogram"].items()) {
    const auto length = packsim::testing::naive_length(key);
    if (!length || !count.is_number_unsigned()) return std::nullopt;
    counts[*length] = std::min<std::uint64_t>(count.get<std::uint64_t>(), 1'000'000'000);
  }
  return counts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), n_bytes);
  const std::optional<Counts> expected = naive_counts(bytes);
  std::uint64_t total = 0;
  if (expected) {
    for (const auto& [length, count] : *expected) total += count;
  }
  // A hundred million lengths are allowed, and take 400 MB.
  if (total > 100'000 && total <= 100'000'000) return -1;

  packsim::Problems problems;
  const std::vector<std::int32_t> lengths = packsim::parse_lengths("input.json", bytes, problems);
  if (problems.size() > 0) return 0;
  expect(expected.has_value() && total == lengths.size(), "as many lengths as the counts say");
  std::size_t at = 0;
  for (const auto& [length, count] : *expected) {
    for (std::uint64_t i = 0; i < count; ++i) expect(lengths[at++] == length, "lengths ascend");
  }
  return 0;
}
