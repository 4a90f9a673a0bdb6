
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "example_report.hpp"
#include "reports/formats/formats.hpp"

using namespace packsim;

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The cells of a line, without the quotes around those that have separators in them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

TEST_CASE("report.csv has one line per run and the keys of report.json") {
  const std::vector<std::string> lines = split(to_csv(example_report()), '\n');
  REQUIRE(lines.size() == 3);
  const auto run = nlohmann::json::parse(to_json(example_report()))["runs"][0];
  std::string header = lines[0];
  REQUIRE(header.back() == '\r');
  header.pop_back();
  for (const std::string& key : split(header, ',')) CHECK(run.contains(key));
  CHECK(cells_of(lines[1]).size() == split(header, ',').size());
}

TEST_CASE("groups are their plans in words, joined by semicolons") {
  Report report = example_report();
  report.runs[0].groups.push_back({.capacity_tokens = 16384, .sequence = {.ulysses = 1}, .gc_layers = 0});
  report.runs[0].plan.tp_degree = 2;
  CHECK(to_csv(report).find(",\"131072 tokens, SP 8, GC 32, TP 2; 16384 tokens, TP 2\"\r\n") !=
        std::string::npos);
}

TEST_CASE("cells with separators, quotes or line ends are quoted, quotes doubled") {
  Report report = example_report();
  report.runs[0].name = "4 groups, \"tuned\"";
  report.runs[1].name = "two\nlines";
  const std::string csv = to_csv(report);
  CHECK(csv.find("\r\n\"4 groups, \"\"tuned\"\"\",isf,") != std::string::npos);
  CHECK(csv.find("\r\n\"two\nlines\",isf,") != std::string::npos);
}

TEST_CASE("what a run does not have is an empty cell") {
  Report report = example_report();
  report.runs = {example_misfit("too big")};
  const std::vector<std::string> lines = split(to_csv(report), '\n');
  CHECK(lines[1].find("nan") == std::string::npos);
  const std::vector<std::string> keys = split(lines[0], ',');
  const std::vector<std::string> cells = cells_of(lines[1]);
  REQUIRE(cells.size() == keys.size());
  std::map<std::string, std::string> run;
  for (std::size_t i = 0; i < keys.size(); ++i) run[keys[i]] = cells[i];
  CHECK(run.at("name") == "too big");
  CHECK(run.at("iterations") == "100");
  CHECK(run.at("abr") == "0.25");
  for (const char* key :
       {"step_mean_s", "gpu_days", "gpu_days_low", "largest_uncertainty", "wall_hours", "speedup",
        "bound_gpu_days", "gpu_days_with_planning", "gpu_days_with_failures", "linear_fraction",
        "idle_fraction", "measured_fraction", "mean_reordering_iterations"}) {
    CAPTURE(key);
    CHECK(run.at(key).empty());
  }
}
