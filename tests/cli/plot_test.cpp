// Charts of a report that the program itself wrote, as files.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"
#include "tests/cli/small_job.hpp"

using Catch::Contains;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// The files of a small job's report, which is made once.
const std::map<std::string, std::string>& report_files() {
  static const std::map<std::string, std::string> files = [] {
    const TemporaryFolder folder;
    write_text(folder / "small.json", packsim_test::small_job());
    REQUIRE(run_shell(folder, "packsim compare small.json --quiet --out report").exit_code == 0);
    std::map<std::string, std::string> texts;
    for (const char* name : {"report.json", "charts.json"})
      texts[name] = read_text((folder / "report/") + name);
    return texts;
  }();
  return files;
}

// A folder with that report in `report`.
class ReportFolder : public TemporaryFolder {
 public:
  ReportFolder() {
    fs::create_directory(*this / "report");
    for (const auto& [name, text] : report_files()) write_text((*this / "report/") + name, text);
  }
  ProgramRun plot(const std::string& arguments) const {
    return run_shell(*this, "packsim plot " + arguments);
  }
};

void check_fails(const ProgramRun& run, int exit_code, const std::string& message) {
  CAPTURE(message, run.out);
  CHECK(run.exit_code == exit_code);
  CHECK_THAT(run.err, Contains(message));
}

}  // namespace

TEST_CASE("every chart of a report is drawn as a picture with text and marks") {
  const ReportFolder folder;
  const Json list = Json::parse(folder.plot("report --json").out);
  CHECK(list.size() == Json::parse(read_text(folder / "report/charts.json"))["specs"].size());
  CHECK(list.size() >= 5);
  REQUIRE(folder.plot("report --chart all --out pictures --quiet").err == "");
  const std::string names = folder.plot("report/report.json").out;
  for (const Json& chart : list) {
    const std::string name = chart["name"];
    CAPTURE(name);
    CHECK_THAT(names, Contains(name) && Contains(chart["title"].get<std::string>()));
    const std::string svg = read_text(folder / ("pictures/" + name + ".svg"));
    CHECK_THAT(svg, Catch::StartsWith("<svg ") && Contains("</text>"));
    // The rows are drawn, not only axes: groups of their own hold marks.
    CHECK_THAT(svg, Contains("class=\"mark-rect role-mark") || Contains("class=\"mark-line role-mark") ||
                        Contains("class=\"mark-symbol role-mark"));
  }
}

TEST_CASE("a chart is written as svg, png or a whole spec, to a file or standard output") {
  const ReportFolder folder;
  const std::string text = folder.plot("report --chart lengths --out - --format json").out;
  REQUIRE(folder.plot("report/charts.json --chart lengths --out a/b.json").out == "a/b.json\n");
  CHECK(read_text(folder / "a/b.json") == text);
  const Json spec = Json::parse(text);
  CHECK(spec["datasets"].size() == 1);  // of all data sets that which it shows
  CHECK(spec["datasets"]["lengths"] ==
        Json::parse(read_text(folder / "report/charts.json"))["datasets"]["lengths"]);

  CHECK_THAT(folder.plot("report --chart lengths --out - --format svg").out, Catch::StartsWith("<svg "));
  // An IHDR has width and height behind the signature of 8 bytes, its length and name.
  const auto png_width = [&](const std::string& scale) {
    const std::string png = folder.plot("report --chart lengths --out - --format png --scale " + scale).out;
    REQUIRE_THAT(png, Catch::StartsWith("\x89PNG\r\n\x1a\n"));
    int width = 0;
    for (std::size_t i = 16; i < 20; ++i) width = width * 256 + static_cast<unsigned char>(png[i]);
    return width;
  };
  CHECK(png_width("3") == 3 * png_width("1"));
}

TEST_CASE("what plot cannot write is told with what was expected") {
  const ReportFolder folder;
  const auto fails = [&](const std::string& arguments, const std::string& message, int exit_code = 2) {
    check_fails(folder.plot("report " + arguments), exit_code, message);
  };
  fails("--chart gpu_dys --out a.svg",
        "expected a chart of the report, got \"gpu_dys\" (did you mean gpu_days?)");
  fails("--chart gpu_days --out a.pgn",
        "--out: expected a file that ends in .svg, .png or .json, or a --format, got \"a.pgn\"");
  fails("--chart gpu_days", "--out: expected a file that ends in .svg, .png or .json, or -, got none");
  fails("--chart gpu_days --out -", "--format: expected svg, png or json with --out -, got none");
  fails("--chart gpu_days --out a.svg --format png", "--format: expected svg or none for \"a.svg\", got png");
  fails("--chart gpu_days --out a.svg --format pmg",
        "one of svg, png, json (did you mean png?), got \"pmg\"");
  fails("--chart gpu_days --out a.svg --scale 2", "--scale: expected a png, got svg");
  fails("--chart gpu_days --out a.json --json", "--json: expected no --chart");
  fails("--chart all", "--out: expected a folder, got none");
  fails("--chart all --out -", "--out: expected a folder for --chart all, got -");
  fails("--chart all --out a --set from=isf", "--set: expected a --chart NAME to change, got --chart all");
  fails("--out a.svg", "--out: expected a --chart NAME or --chart all to write");
  fails("--chart gpu_days --out /dev/full --format json", "/dev/full: cannot write: No space left", 3);
  fails("--chart gpu_days --out - --format json >/dev/full", "standard output: No space left", 3);
  write_text(folder / "file", "");
  fails("--chart all --out file --format json", "file/gpu_days.json: cannot write: Not a directory", 3);
  for (const char* none : {"a.svg", "a", "a.json"}) CHECK_FALSE(fs::exists(folder / none));
}

TEST_CASE("a report without charts says how to write them; other files say what they lack") {
  const ReportFolder folder;
  fs::remove(folder / "report/charts.json");
  const std::string message = "Run packsim compare again with --out report";
  check_fails(folder.plot("report"), 2, message);
  check_fails(folder.plot("report/report.json"), 2, message);
  check_fails(folder.plot("nothing"), 3, "nothing: No such file or directory");
  write_text(folder / "a.json", "{}");
  check_fails(folder.plot("a.json"), 2, "a.json: /specs: expected object, got nothing");
  // A name becomes the name of a file, and must not lead to another folder.
  write_text(folder / "c.json", R"({"theme": {}, "datasets": {}, "specs": {"../a": {}}})");
  check_fails(folder.plot("c.json"), 2, "/specs/..~1a: expected a name of a-z, 0-9 and _, got \"../a\"");
}

TEST_CASE("without a Python that has vl-convert, plot names the command that installs it") {
  const ReportFolder folder;
  const std::string svg = "report --chart gpu_days --out a.svg";
  check_fails(folder.plot(svg + " --python no/python"), 2,
              "--python: expected a Python interpreter, got \"no/python\"");
  check_fails(run_shell(folder, "PACKSIM_PYTHON=no/python packsim plot " + svg), 2,
              "PACKSIM_PYTHON: expected a Python interpreter, got \"no/python\"");
  // An environment without packages has no vl-convert.
  write_text(folder / "bare", "#!/bin/sh\nexec python3 -I -S \"$@\"\n");
  fs::permissions(folder / "bare", fs::perms::owner_all);
  check_fails(folder.plot(svg + " --python ./bare"), 3,
              "\n  ./bare -m pip install 'vl-convert-python>=1.9'\n");
  // The copy has no Python beside it.
  fs::create_directory(folder / "bin");
  fs::copy_file(packsim_test::program(), folder / "bin/packsim");
  check_fails(run_shell(folder, "PATH=/nowhere bin/packsim plot " + svg), 3,
              "there is no python3. Install it with\n  python3 -m venv ~/.packsim-charts && ");
  CHECK(run_shell(folder, "PATH=/nowhere bin/packsim plot report --chart gpu_days --out a.json").exit_code ==
        0);
  CHECK_FALSE(fs::exists(folder / "a.svg"));
}

TEST_CASE("what vl-convert does not draw is told with its text, and modules of the folder are not run") {
  const ReportFolder folder;
  const auto spec = [&](const std::string& text) {
    write_text(folder / "c.json", R"({"theme": {}, "datasets": {}, "specs": {"bad": )" + text + "}}");
    return folder.plot("c.json --chart bad --out a.svg");
  };
  const std::string v6 = R"({"$schema": "https://vega.github.io/schema/vega-lite/v6.json", )";
  check_fails(spec(v6 + R"("mark": "no_mark", "encoding": {}})"), 3, "could not draw bad: ");
  check_fails(spec(R"({"$schema": "https://vega.github.io/schema/vega-lite/v3.json", "mark": "bar"})"), 3,
              "expected a spec for Vega-Lite 5.8, ");
  // A spec loads nothing from a network.
  check_fails(spec(v6 + R"("data": {"url": "http://127.0.0.1:9/a.csv"}, "mark": "bar", "encoding": {}})"), 3,
              "External data url not allowed");
  write_text(folder / "dies", "#!/bin/sh\nexit 9\n");
  fs::permissions(folder / "dies", fs::perms::owner_all);
  check_fails(folder.plot("report --chart gpu_days --out a.svg --python ./dies"), 3,
              "./dies could not draw and ended with 9");
  write_text(folder / "vl_convert.py", "open('was_run', 'w')");
  CHECK(folder.plot("report --chart gpu_days --out b.svg").exit_code == 0);
  CHECK_FALSE(fs::exists(folder / "was_run"));
  CHECK_FALSE(fs::exists(folder / "a.svg"));
}
