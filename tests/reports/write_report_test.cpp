
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "example_report.hpp"
#include "reports/formats/formats.hpp"
#include "tests/cli/program.hpp"

using namespace packsim;
namespace fs = std::filesystem;
using packsim_test::read_text;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::string failure(const fs::path& directory) {
  try {
    write_report(example_report(), directory.string());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

}  // namespace

TEST_CASE("every format is written, into a folder that is made, and replaces older files") {
  const TemporaryFolder temporary;
  const fs::path folder = fs::path(temporary.string()) / "new" / "report";
  write_report(Report{}, folder.string());
  write_report(example_report(), folder.string());
  std::set<std::string> names;
  for (const ReportFormat& format : report_formats()) {
    names.emplace(format.file_name);
    CHECK(read_text(folder / format.file_name) == format.render(example_report()));
    CHECK_FALSE(format.summary.empty());
  }
  CHECK(names == std::set<std::string>{"charts.json", "report.csv", "report.html", "report.json"});
  CHECK(names_in(folder) == names);
}

TEST_CASE("who waits for a report hears of each file before it is made") {
  std::vector<std::string> names;
  const ReportFiles files =
      report_files(example_report(), [&](std::string_view name) { names.emplace_back(name); });
  CHECK(names == std::vector<std::string>{"report.json", "report.csv", "report.html", "charts.json"});
  REQUIRE(files.size() == 4);
  CHECK(files[2].first == "report.html");
  CHECK(files[2].second == to_html(example_report()));
}

TEST_CASE("a folder that cannot be made is named with the system's reason") {
  const TemporaryFolder temporary;
  write_text(temporary / "file", "text");
  CHECK(failure(fs::path(temporary.string()) / "file" / "report") ==
        (fs::path(temporary.string()) / "file" / "report" / "report.json").string() +
            ": cannot write: Not a directory");
}

TEST_CASE("a file that cannot be written is named, and no half file stays behind") {
  const TemporaryFolder temporary;
  fs::create_directories(fs::path(temporary.string()) / "report.json" / "in the way");
  CHECK(failure(temporary.string()) ==
        (fs::path(temporary.string()) / "report.json").string() + ": cannot write: Is a directory");
  CHECK(names_in(temporary.string()) == std::set<std::string>{"report.json"});
}
