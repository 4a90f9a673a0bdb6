#include "experiment/tune/stopwatch_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "experiment/tune/case_checks.hpp"
#include "files/read_file.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/bad_rows.hpp"
#include "scenarios/loader/lengths/csv_record.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

constexpr std::string_view kHeader = "pack_tokens,sp_degree,gc_layers,step_s,peak_memory_bytes";
constexpr std::size_t kNColumns = 5;
constexpr std::string_view kOutOfMemory = "oom";

// Comments made empty lines, so that lines keep their numbers.
std::string without_comments(std::string_view text) {
  std::string left;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    left += line.starts_with('#') ? (line.ends_with('\n') ? "\n" : "") : line;
    text.remove_prefix(end);
  }
  return left;
}

std::string joined(const std::vector<std::string_view>& fields) {
  return fmt::format("{}", fmt::join(fields, ","));
}

template <typename T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads the fields of one line; the first one that is wrong is reported.
class RowReader {
 public:
  RowReader(const CsvRecord& record, BadRows& bad_rows) : record_(record), bad_rows_(bad_rows) {}

  bool good() const { return good_; }

  std::int64_t integer(std::size_t column, std::int64_t low, std::int64_t high, std::string_view name) {
    const auto value = number_from<std::int64_t>(record_.fields[column]);
    if (value && *value >= low && *value <= high) return *value;
    refuse(fmt::format("{} an integer in {}..{}", name, low, high), quote(record_.fields[column]));
    return low;
  }

  double positive(std::size_t column, std::string_view name, std::string_view or_else) {
    const auto value = number_from<double>(record_.fields[column]);
    if (value && std::isfinite(*value) && *value > 0) return *value;
    refuse(fmt::format("{} a number over 0{}", name, or_else), quote(record_.fields[column]));
    return 0;
  }

  void refuse(const std::string& expected, const std::string& got) {
    if (good_) bad_rows_.add(record_.line, expected, got);
    good_ = false;
  }

 private:
  const CsvRecord& record_;
  BadRows& bad_rows_;
  bool good_ = true;
};

void check_case(const ProfiledCase& one, const Scenario& scenario, RowReader& row) {
  if (const std::string mistake = degree_mistake(scenario, one.sequence.ulysses); !mistake.empty()) {
    row.refuse(fmt::format("an SP degree that the scenario can have ({})", mistake),
               fmt::format("{}", one.sequence.ulysses));
    return;
  }
  if (one.pack_tokens % one.sequence.ulysses != 0)
    row.refuse(fmt::format("pack_tokens a multiple of the sp_degree {}", one.sequence.ulysses),
               fmt::format("{}", one.pack_tokens));
  const std::int64_t smallest = smallest_iteration_tokens(scenario, one.pack_tokens, one.sequence.ulysses);
  if (one.feasible() && smallest > scenario.training.tokens_per_iteration)
    row.refuse(fmt::format("oom, or packs that a time of the scenario's {} tokens an iteration can be of",
                           scenario.training.tokens_per_iteration),
               fmt::format("{} tokens with a pack for every rank", smallest));
}

ProfiledCase read_case(const CsvRecord& record, const Scenario& scenario, RowReader& row) {
  ProfiledCase one;
  one.pack_tokens = row.integer(0, 1, kMostTokens, "pack_tokens");
  one.sequence.ulysses = static_cast<int>(row.integer(1, 1, kMostGpus, "sp_degree"));
  one.gc_layers = static_cast<int>(row.integer(2, 0, scenario.model.n_layers, "gc_layers"));
  const std::string_view memory = record.fields[4];
  if (memory == kOutOfMemory) {
    if (!record.fields[3].empty()) row.refuse("no step_s beside oom", quote(record.fields[3]));
    one.infeasible_reason = "out of memory";
  } else {
    one.step_s = row.positive(3, "step_s", ", or oom as peak_memory_bytes");
    if (!memory.empty()) one.peak_memory_bytes = row.positive(4, "peak_memory_bytes", ", oom or nothing");
  }
  if (row.good()) check_case(one, scenario, row);
  return one;
}

class StopwatchReader {
 public:
  StopwatchReader(const Scenario& scenario, BadRows& bad_rows) : scenario_(scenario), bad_rows_(bad_rows) {}

  void read(const CsvRecord& record) {
    if (!record.error.empty()) {
      bad_rows_.add(record.line, record.error, record.got);
    } else if (!has_header_) {
      has_header_ = true;
      if (joined(record.fields) != kHeader)
        bad_rows_.add(record.line, "the header " + std::string(kHeader), quote(joined(record.fields)));
    } else if (record.fields.size() != kNColumns) {
      bad_rows_.add(record.line, fmt::format("{} fields", kNColumns),
                    fmt::format("{}", record.fields.size()));
    } else {
      read_row(record);
    }
  }

  std::vector<ProfiledCase> cases() && { return std::move(cases_); }

 private:
  void read_row(const CsvRecord& record) {
    RowReader row(record, bad_rows_);
    ProfiledCase one = read_case(record, scenario_, row);
    if (!row.good()) return;
    const auto [first, is_new] =
        lines_.emplace(std::tuple(one.pack_tokens, one.sequence.ulysses, one.gc_layers), record.line);
    if (!is_new) {
      row.refuse("another case than before", fmt::format("that of line {} again", first->second));
      return;
    }
    cases_.push_back(std::move(one));
  }

  const Scenario& scenario_;
  BadRows& bad_rows_;
  bool has_header_ = false;
  std::map<std::tuple<std::int64_t, int, int>, std::int64_t> lines_;
  std::vector<ProfiledCase> cases_;
};

}  // namespace

std::vector<ProfiledCase> read_stopwatch(const std::string& path, const Scenario& scenario) {
  const std::string bytes = read_file(path);
  const std::string text = without_comments(without_byte_order_mark(bytes));
  Problems problems;
  std::vector<ProfiledCase> cases;
  {
    BadRows bad_rows(path, problems);
    StopwatchReader stopwatch(scenario, bad_rows);
    CsvReader reader(text);
    for (CsvRecord record; reader.next(record);) {
      const bool is_blank = record.error.empty() && record.fields.size() == 1 && record.fields[0].empty();
      if (!is_blank) stopwatch.read(record);
    }
    cases = std::move(stopwatch).cases();
    if (cases.empty() && bad_rows.count() == 0) bad_rows.add("whole file", "at least one timed case", "none");
  }
  problems.throw_if_any();
  return cases;
}

std::string stopwatch_template(const Scenario& scenario, std::span<const std::int64_t> lengths_tokens,
                               std::span<const int> sp_degrees) {
  std::string comments = fmt::format(
      "# step_s: mean seconds of an iteration of {} tokens over {} GPUs, ISF packs, ten iterations or more\n"
      "# peak_memory_bytes: of the fullest GPU, or oom and no step_s\n"
      "# gc_layers: the fewest that the memory model has fit; change them where memory is left or lacking\n",
      scenario.training.tokens_per_iteration, scenario.cluster.n_gpus());
  std::string rows;
  for (const std::int64_t pack_tokens : lengths_tokens) {
    for (const int sp_degree : sp_degrees) {
      const ProfiledCase one = planned_case(scenario, pack_tokens, sp_degree);
      if (one.infeasible_reason.empty()) {
        rows += fmt::format("{},{},{},,\n", pack_tokens, sp_degree, one.gc_layers);
      } else {
        comments += fmt::format("# not here: {} tokens at SP {}: {}\n", pack_tokens, sp_degree,
                                one.infeasible_reason);
      }
    }
  }
  return comments + std::string(kHeader) + "\n" + rows;
}

}  // namespace packsim
