#include "calibration/microbench/core/measurement_file.hpp"

#include <catch2/catch.hpp>
#include <memory>

#include "calibration/microbench/core/command_line.hpp"
#include "calibration/microbench/core/json_line.hpp"
#include "tests/microbench/fakes.hpp"

namespace packsim::microbench {
namespace {

const std::string kSource = format_line(SourceLine{"GPU A", "test", {{"driver", "1.2 \"beta\""}}});
const std::string kMeasured = format_line(MeasuredLine{"adamw parameters=1", "fake", {1e-3, 0.25}, {}, {}});

}  // namespace

TEST_CASE("lines are those of the measurement format") {
  CHECK(kSource ==
        R"({"packsim_measurements": 1, "source": {"id": "", "gpu": "GPU A", "provenance": "test", )"
        R"("details": {"driver": "1.2 \"beta\""}}})");
  const MeasuredLine line{
      "launch_gap", "cuda", {1e-6, 1.5e-6, 0.1}, {"noisy", "throttled"}, {{"power_w", "640"}}};
  CHECK(format_line(line) ==
        R"({"case": "launch_gap", "library": "cuda", "source": "", "samples_s": [1e-06, 1.5e-06, 0.1], )"
        R"("flags": ["noisy", "throttled"], "details": {"power_w": 640}})");
  CHECK(format_skipped("launch_gap", "a\nb") == R"({"skipped": "launch_gap", "reason": "a\u000ab"})");
  CHECK(format_began("launch_gap") == R"({"began": "launch_gap"})");
  CHECK(format_end(false) == R"({"end": "interrupted"})");
}

TEST_CASE("numbers and texts survive writing and reading") {
  const std::string text = "quote \" slash \\ line \n tab \t \xc3\xa9";
  CHECK(parse_json(json_text(text)).text == text);
  for (const double value : {1.0 / 3, 1e-300, 6.02e23, 0.0})
    CHECK(parse_json(json_number(value)).number == value);
  CHECK(parse_json(R"( {"a": [1, -2.5e3, true, null, "\u00e9\/"], "b": {}} )").field("a")->items[4].text ==
        "\xc3\xa9/");
  for (const char* wrong : {"", "{", "{\"a\" 1}", "[1,]", "1 2", "\"a", "tru", "{\"a\": \"\\q\"}", "[1e999]"})
    CHECK_THROWS_AS(parse_json(wrong), std::invalid_argument);
  CHECK_THROWS_AS(parse_json(std::string(100000, '[')), std::invalid_argument);
}

TEST_CASE("a file goes on after what it holds, and a torn last line is cut off") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  const std::string whole = kSource + "\n" + kMeasured + "\n" + format_skipped("launch_gap", "why") + "\n";
  write_text(path, whole + "{\"case\": \"adamw param");
  {
    MeasurementFile file(path, "GPU A");
    CHECK(file.cut_bytes() == 21);
    CHECK(file.has_measured("adamw parameters=1"));
    CHECK_FALSE(file.has_measured("adamw parameters=2"));
    CHECK(file.skip_reason("launch_gap") == "why");
    file.append(format_end(true));
  }
  CHECK(read_text(path) == whole + "{\"end\": \"complete\"}\n");
  // Killed while the first line was being written.
  write_text(path, kSource.substr(0, 9));
  MeasurementFile(path, "GPU A").append(kSource);
  CHECK(read_text(path) == kSource + "\n");
}

TEST_CASE("a case that a budget cut short is not measured until a whole line follows") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  const std::string cut =
      format_line(MeasuredLine{"adamw parameters=1", "fake", {1e-3, 0.25}, {"noisy", "cut"}, {}});
  write_text(path, kSource + "\n" + cut + "\n");
  CHECK_FALSE(MeasurementFile(path, "GPU A").has_measured("adamw parameters=1"));
  write_text(path, kSource + "\n" + cut + "\n" + kMeasured + "\n");
  CHECK(MeasurementFile(path, "GPU A").has_measured("adamw parameters=1"));
}

TEST_CASE("a case that began and has no result, no reason and no end of the run after it was broken off") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  const auto broken_off_after = [&](const std::vector<std::string>& lines) {
    std::string text = kSource + "\n";
    for (const std::string& line : lines) text += line + "\n";
    write_text(path, text);
    return MeasurementFile(path, "GPU A").broken_off();
  };
  const std::string began = format_began("adamw parameters=1");
  CHECK(broken_off_after({began}) == "adamw parameters=1");
  CHECK(broken_off_after({began, kSource}) == "adamw parameters=1");
  CHECK(broken_off_after({began, format_began("launch_gap")}) == "launch_gap");
  CHECK(broken_off_after({began, kMeasured}).empty());
  CHECK(broken_off_after({began, format_skipped("adamw parameters=1", "why")}).empty());
  CHECK(broken_off_after({began, format_end(false)}).empty());
}

TEST_CASE("other files, other GPUs and wrong lines are refused and left as they are") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  const auto refusal_of = [&](const std::string& text) -> std::string {
    write_text(path, text);
    try {
      MeasurementFile(path, "GPU A");
    } catch (const UserError& error) {
      CHECK(read_text(path) == text);
      return error.what();
    }
    return "none";
  };
  CHECK(refusal_of("my shopping list") ==
        path + ":1: expected a measurement file (\"packsim_measurements\"), got another file");
  CHECK(refusal_of("a,b\n1,2\n") ==
        path + ":1: expected a measurement file (\"packsim_measurements\": 1), got another file");
  CHECK(refusal_of(format_line(SourceLine{"GPU B", "", {}}) + "\n") ==
        path +
            ":1: expected measurements of this GPU (GPU A), got those of GPU B: give another file to --out");
  const std::string wrong = refusal_of(kSource + "\n{\"case\": 3}\n" + kMeasured + "\nnothing\n{\"x\": 1}\n");
  CHECK_THAT(wrong, Catch::Contains(path + ":2: expected \"samples_s\", got none"));
  CHECK_THAT(wrong, Catch::Contains(path + ":4: column 1: expected a value"));
  CHECK_THAT(wrong, Catch::Contains(path + ":5: expected a line with"));
}

TEST_CASE("two runs do not write one file") {
  const Folder folder;
  const MeasurementFile first(folder.file("m.jsonl"), "GPU A");
  CHECK_THROWS_WITH(MeasurementFile(folder.file("m.jsonl"), "GPU A"),
                    Catch::Contains("another run is writing"));
}

TEST_CASE("any number of runs write to a device") {
  const MeasurementFile first("/dev/null", "GPU A");
  CHECK_NOTHROW(MeasurementFile("/dev/null", "GPU A"));
}

TEST_CASE("a full disk and a folder that is not there are told with the system's words") {
  MeasurementFile full("/dev/full", "GPU A");
  CHECK_THROWS_WITH(full.append(kSource), Catch::Contains("/dev/full: cannot be written") &&
                                              Catch::Contains("No space left on device"));
  CHECK_THROWS_WITH(MeasurementFile("/no/such/m.jsonl", "GPU A"),
                    "/no/such/m.jsonl: cannot be opened: No such file or directory");
}

}  // namespace packsim::microbench
