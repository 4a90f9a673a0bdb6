#include "scenarios/loader/profiles/read_measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "files/read_file.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

const std::vector<std::string> kFlags = {"noisy",     "throttled",      "cut", "host_bound", "recompiled",
                                         "published", "read_off_figure"};
const std::vector<std::string> kEnds = {"complete", "interrupted"};

// An object of texts; numbers and truth values are taken as their text.
std::map<std::string, std::string> read_details(JsonReader& reader) {
  std::map<std::string, std::string> details;
  const Json* members = reader.value("details");
  if (members == nullptr) return details;
  if (!members->is_object()) {
    reader.refuse("details", "object");
    return details;
  }
  for (const auto& [key, value] : members->items()) {
    if (value.is_string()) {
      details[key] = value.get<std::string>();
    } else if (value.is_number() || value.is_boolean()) {
      details[key] = value.dump();
    } else {
      reader.refuse("details", "texts", key + ": " + describe(value));
    }
  }
  return details;
}

constexpr double kShortest_s = 1e-12;
constexpr double kLongest_s = 1e6;

void read_seconds(JsonReader& reader, std::string_view key, const Json* values, bool may_be_0,
                  std::vector<double>& seconds) {
  const std::string expected =
      may_be_0 ? "numbers of at least 0, in seconds" : "at least one number over 0, in seconds";
  if (values == nullptr || !values->is_array() || values->empty()) {
    reader.refuse(key, expected);
    return;
  }
  seconds.reserve(values->size());
  for (const Json& value : *values) {
    if (!value.is_number() || value.get<double>() < 0 || (value.get<double>() == 0 && !may_be_0)) {
      reader.refuse(key, expected, describe(value));
      return;
    }
    // Nothing takes less than a clock can tell or more than eleven days; a unit has been mixed up.
    if (value.get<double>() > 0 && (value.get<double>() < kShortest_s || value.get<double>() > kLongest_s)) {
      reader.refuse(key, fmt::format("numbers from {} to {}, in seconds", kShortest_s, kLongest_s),
                    describe(value));
      return;
    }
    seconds.push_back(value.get<double>());
  }
}

void read_parts(JsonReader& reader, Measurement& row) {
  const Json* parts = reader.value("parts_s");
  if (parts == nullptr) return;
  if (!parts->is_object()) {
    reader.refuse("parts_s", "object");
    return;
  }
  for (const auto& [part, values] : parts->items()) {
    std::vector<double>& seconds = row.parts_s[part];
    read_seconds(reader, "parts_s", &values, true, seconds);
    if (values.is_array() && values.size() != row.samples_s.size()) {
      reader.refuse("parts_s", fmt::format("{} numbers of {}, as of samples_s", row.samples_s.size(), part),
                    fmt::format("{}", values.size()));
    }
  }
}

void read_flags(JsonReader& reader, Measurement& row) {
  const Json* flags = reader.value("flags");
  if (flags == nullptr) return;
  if (!flags->is_array()) {
    reader.refuse("flags", "array");
    return;
  }
  for (const Json& flag : *flags) {
    if (flag.is_string() && std::ranges::find(kFlags, flag.get<std::string>()) != kFlags.end()) {
      row.flags.push_back(flag.get<std::string>());
    } else {
      reader.refuse("flags",
                    "some of noisy, throttled, cut, host_bound, recompiled, published, read_off_figure",
                    describe(flag));
    }
  }
}

// Reads the lines of one file one after another.
class LineReader {
 public:
  LineReader(const std::string& path, Problems& problems) : path_(path), problems_(problems) {}

  void read(std::string_view line, std::int64_t number);
  std::int64_t n_lines() const { return n_lines_; }
  Measurements take() { return std::move(measurements_); }

 private:
  void read_source(JsonReader& line);
  void read_case(JsonReader& line, const std::string& place);
  void read_skipped(JsonReader& line);

  const std::string& path_;
  Problems& problems_;
  Measurements measurements_;
  std::set<std::string> source_ids_;
  std::int64_t n_lines_ = 0;
};

void LineReader::read(std::string_view line, std::int64_t number) {
  const bool first = n_lines_++ == 0;
  std::optional<Json> root = parse_json(path_, line, problems_, number);
  if (!root) return;
  const JsonDocument document{.file = fmt::format("{}:{}", path_, number),
                              .hash = {},
                              .root = std::make_shared<const Json>(std::move(*root))};
  JsonReader reader(document, problems_);
  if (reader.silent()) return;
  if (first || reader.has("packsim_measurements")) {
    reader.integer("packsim_measurements", 1, 1);
    if (first && !reader.has("source")) reader.refuse("source", "object, as this is the first line");
  }
  if (reader.has("source") && !reader.has("case")) {
    read_source(reader);
  } else if (reader.has("case")) {
    read_case(reader, document.file);
  } else if (reader.has("skipped")) {
    read_skipped(reader);
  } else if (reader.has("end")) {
    measurements_.complete = reader.one_of("end", kEnds) == 0;
  } else if (reader.has("began")) {
    reader.string("began");  // of use to the program that goes on with the file
  } else if (!first) {
    problems_.add(
        {document.file, "", "one of the keys source, case, began, skipped, end", describe(*document.root)});
    reader.allow_any_keys();
  }
}

void LineReader::read_source(JsonReader& line) {
  JsonReader reader = line.object("source");
  if (reader.silent()) return;
  MeasurementSource source;
  source.id = reader.string("id", "");
  source.gpu = reader.string("gpu");
  source.provenance = reader.string("provenance", "");
  source.licence = reader.string("licence", "");
  source.details = read_details(reader);
  if (reader.has("plan")) source.plan = read_parallelism(reader.object("plan"), default_plan());
  const auto same = std::ranges::find(measurements_.sources, source.id, &MeasurementSource::id);
  if (same == measurements_.sources.end()) {
    source_ids_.insert(source.id);
    measurements_.sources.push_back(std::move(source));
    return;
  }
  // A resumed run: what changed since, such as the start, is kept beside what was.
  if (same->gpu != source.gpu)
    reader.refuse("gpu", quote(same->gpu) + ", as the source of this id before", quote(source.gpu));
  if (same->plan != source.plan) reader.refuse("plan", "that of the source of this id before", "another");
  for (const auto& [key, text] : source.details) {
    std::string& known = same->details[key];
    if (known.find(text) == std::string::npos) known += (known.empty() ? "" : "; ") + text;
  }
}

void LineReader::read_case(JsonReader& line, const std::string& place) {
  Measurement row;
  row.place = place;
  const std::string text = line.string("case");
  bool good = !text.empty();
  if (good) {
    try {
      row.kernel = KernelCase::parse(text);
    } catch (const std::invalid_argument& error) {
      line.refuse("case", "a kernel case", quote(text) + " (" + error.what() + ")");
      good = false;
    }
  }
  row.library = line.string("library");
  row.source = line.string("source", "");
  if (!source_ids_.contains(row.source))
    line.refuse("source", "the id of a source of a line before", quote(row.source));
  read_seconds(line, "samples_s", line.value("samples_s"), false, row.samples_s);
  read_parts(line, row);
  row.peak_memory_bytes = line.optional_positive("peak_memory_bytes");
  read_flags(line, row);
  row.note = line.string("note", "");
  line.optional_object("details").allow_any_keys();  // clocks, power and the like, for people
  if (good) measurements_.rows.push_back(std::move(row));
}

void LineReader::read_skipped(JsonReader& line) {
  SkippedCase skipped;
  skipped.kernel = line.string("skipped");
  skipped.reason = line.string("reason");
  measurements_.skipped.push_back(std::move(skipped));
}

MeasurementFile read_lines(const std::string& path, Problems& problems) {
  const std::string text = read_file(path);
  LineReader reader(path, problems);
  MeasurementFile file;
  std::int64_t number = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    ++number;
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      file.warnings.push_back(fmt::format(
          "{}:{}: the last line has no end (a run was killed while it wrote?); ignored", path, number));
      break;
    }
    reader.read(rest.substr(0, end), number);
    rest.remove_prefix(end + 1);
  }
  if (reader.n_lines() == 0)
    problems.add({fmt::format("{}:1", path), "", "a line with \"packsim_measurements\": 1", "none"});
  file.measurements = reader.take();
  return file;
}

// Ids of `more` that `all` has already get the file's name in front.
void append(Measurements& all, Measurements more, const std::string& path) {
  std::map<std::string, std::string> new_ids;
  const auto taken = [&](const std::string& id) {
    return std::ranges::find(all.sources, id, &MeasurementSource::id) != all.sources.end();
  };
  const std::string stem = std::filesystem::path(path).stem().string();
  for (MeasurementSource& source : more.sources) {
    std::string id = source.id;
    if (taken(id)) id = source.id.empty() ? stem : stem + ":" + source.id;
    for (int i = 2; taken(id); ++i) id = fmt::format("{}-{}", stem, i);
    new_ids[source.id] = id;
    source.id = id;
    all.sources.push_back(std::move(source));
  }
  for (Measurement& row : more.rows) {
    row.source = new_ids[row.source];
    all.rows.push_back(std::move(row));
  }
  std::ranges::move(more.skipped, std::back_inserter(all.skipped));
}

}  // namespace

MeasurementFile read_measurements(const std::string& path) {
  Problems problems;
  MeasurementFile file = read_lines(path, problems);
  problems.throw_if_any();
  return file;
}

MeasurementFile read_measurements(const std::vector<std::string>& paths) {
  Problems problems;
  MeasurementFile all;
  all.measurements.complete = true;
  std::set<std::filesystem::path> read;
  for (const std::string& path : paths) {
    std::error_code no_such_file;  // which read_lines reports
    if (!read.insert(std::filesystem::weakly_canonical(path, no_such_file)).second) {
      problems.add({path, "", "every measurement file once", "it again"});
      continue;
    }
    MeasurementFile file = read_lines(path, problems);
    std::ranges::move(file.warnings, std::back_inserter(all.warnings));
    all.measurements.complete = all.measurements.complete && file.measurements.complete;
    append(all.measurements, std::move(file.measurements), path);
  }
  problems.throw_if_any();
  return all;
}

}  // namespace packsim
