// Any bytes as a measurement file: an accepted one has as many measurements as lines with a case, each with
// a source and times that are above 0, and kernels whose text says the same.

#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/fuzz/input_file.hpp"

namespace {

using packsim::testing::expect;

// Lines with a key. The last one, which does not end, is no line.
std::int64_t naive_lines(std::string_view text, const char* key, const char* but_not) {
  std::int64_t n = 0;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    std::string_view line = text.substr(0, end);
    if (line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);
    const auto root = nlohmann::json::parse(line);
    if (root.contains(key) && !root.contains(but_not)) ++n;
  }
  return n;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  static const packsim::testing::InputFile file;
  file.write(data, n_bytes);
  packsim::Measurements read;
  try {
    read = packsim::read_measurements(file.path()).measurements;
  } catch (const packsim::ScenarioError& error) {
    packsim::testing::check_messages(error);
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), n_bytes);
  expect(std::ssize(read.rows) == naive_lines(text, "case", "none"), "a measurement for each case");
  expect(std::ssize(read.skipped) == naive_lines(text, "skipped", "case"), "a line for each skipped case");
  for (const packsim::Measurement& row : read.rows) {
    expect(read.source_of(row).id == row.source, "a measurement has a source");
    expect(packsim::KernelCase::parse(row.kernel.text()).text() == row.kernel.text(),
           "a kernel has one text");
    expect(!row.samples_s.empty() && std::isfinite(row.median_s()) && row.median_s() > 0,
           "times are above 0");
    expect(std::isfinite(row.relative_spread()) && row.relative_spread() >= 0, "a spread is at least 0");
  }
  return 0;
}
