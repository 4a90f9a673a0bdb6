// Reports that are read back, explained and compared.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "reports/formats/formats.hpp"
#include "reports/saved/diff.hpp"
#include "reports/saved/explain.hpp"
#include "reports/tables/rounded_parts.hpp"
#include "reports/tables/time_parts.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "tests/cli/program.hpp"
#include "tests/reports/example_report.hpp"

using namespace packsim;
using Catch::Contains;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

Report report_with_source() {
  Report report = example_report();
  report.manifest.version = "1";
  report.manifest.scenario_hash = "ab";
  report.lengths.sources = {{.name = "a.csv", .hash = "cd", .n_samples = 2, .n_tokens = 3}};
  return report;
}

SavedReport saved(const TemporaryFolder& folder, const Report& report,
                  const std::string& name = "report.json") {
  write_text(folder / name, to_json(report));
  return load_report(folder / name);
}

StrategyResult random_run(const std::string& name, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  StrategyResult run = example_run(name, std::exp(20 * uniform(random) - 10));
  double sum = 0;
  const auto draw = [&] {
    const double part = uniform(random) < 0.3 ? 0 : std::exp(8 * uniform(random));
    sum += part;
    return part;
  };
  for (double& part : run.times->shares.by_cause) part = draw();
  run.times->shares.idle = draw() + 1e-3;
  sum += 1e-3;
  for (double& part : run.times->shares.by_cause) part /= sum;
  run.times->shares.idle /= sum;
  return run;
}

}  // namespace

TEST_CASE("A report that is read back has the numbers that were written") {
  const TemporaryFolder folder;
  Report report = report_with_source();
  report.runs[1].failure = "no";
  report.runs[1].times.reset();
  report.runs[1].differences = {"another job", "and more"};
  const SavedReport read = saved(folder, report);
  CHECK(load_report(folder.string()).runs.size() == 2);  // the folder's report.json
  CHECK(read.baseline == "isf");
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[0].times->gpu_days == 5);
  CHECK(read.runs[0].times->shares.of(Cause::linear) == 0.75);
  CHECK(read.runs[0].times->shares.idle == 0.25);
  CHECK(read.runs[0].abr == 0.25);
  CHECK(read.runs[0].packs == 800);
  CHECK(read.runs[1].failure == "no");
  CHECK(read.runs[1].differences == "another job; and more");
  CHECK_FALSE(read.runs[1].times);
  CHECK(read.manifest.at("version") == "1");
  CHECK(read.manifest.at("parallelism.zero_stage") == "1");
  CHECK(read.manifest.at("lengths of a.csv") == "cd");
}

TEST_CASE("What is no report is refused with its place, all mistakes at once") {
  const TemporaryFolder folder;
  const std::string path = folder / "report.json";
  nlohmann::json json = nlohmann::json::parse(to_json(report_with_source()));
  json["format"] = 2;
  write_text(path, json.dump());
  CHECK_THROWS_WITH(load_report(path), path + ": /format: expected 3, got 2 (number)");
  json["format"] = 3;
  json["runs"][0]["gpu_days"] = -1;
  json["runs"][1]["feasible"] = "yes";
  json["manifest"].erase("version");
  write_text(path, json.dump());
  CHECK_THROWS_WITH(
      load_report(path),
      Contains("/runs/0/gpu_days: expected number >= 0, got -1") &&
          Contains("/runs/1/feasible: expected true or false, got \"yes\"") &&
          Contains("/manifest/version: expected string of at least one character, got nothing"));
  write_text(path, to_json(report_with_source()).replace(0, 1, "["));
  CHECK_THROWS_AS(load_report(path), ScenarioError);
  CHECK_THROWS_AS(load_report(folder / "nothing.json"), std::exception);

  Report report = report_with_source();
  report.runs[0].times->shares.idle = 0.5;
  write_text(path, to_json(report));
  CHECK_THROWS_WITH(
      load_report(path),
      path + ": /runs/0/idle_fraction: expected fractions of the time that add up to 1, got 1.25");
}

TEST_CASE("Parts are rounded to whole units that add up to the total") {
  // 1.4 + 2.4 + 3.2 = 7: 1 + 2 + 3 = 6, and the first of the largest remainders gets the missing one.
  CHECK(rounded_parts({1.4, 2.4, 3.2}, 7) == std::vector<std::int64_t>{2, 2, 3});
  CHECK(rounded_parts({0.2, 0.7, 0.1}, 1) == std::vector<std::int64_t>{0, 1, 0});
  CHECK(rounded_parts({3, 4}, 7) == std::vector<std::int64_t>{3, 4});
  CHECK(rounded_parts({}, 0).empty());
}

TEST_CASE("The parts of an explanation add up to both runs and to their difference, to the last digit") {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    Report report = report_with_source();
    report.runs = {random_run("a", random), random_run("b", random)};
    const SavedReport read = saved(folder, report);
    const Explanation explanation = explain(read, "a", "b");
    std::int64_t first = 0;
    std::int64_t second = 0;
    std::int64_t change = 0;
    for (const ExplainedPart& part : explanation.parts) {
      first += part.first_units;
      second += part.second_units;
      change += part.change_units();
    }
    CHECK(first == explanation.first_units);
    CHECK(second == explanation.second_units);
    CHECK(change == second - first);
    // Within a unit of what they are; and the larger run has four digits.
    CHECK(std::abs(explanation.gpu_days(first) - report.runs[0].times->gpu_days) <=
          0.5000001 * explanation.gpu_days(1));
    CHECK(std::max(first, second) >= 1000);
    for (const formats_detail::TimePart& part : formats_detail::time_parts()) {
      const auto found = std::ranges::find(explanation.parts, part.name, &ExplainedPart::name);
      const double expected = part.fraction_of(report.runs[0].times->shares) * report.runs[0].times->gpu_days;
      const std::int64_t units = found == explanation.parts.end() ? 0 : found->first_units;
      CHECK(std::abs(explanation.gpu_days(units) - expected) <= 1.0001 * explanation.gpu_days(1));
    }
    const nlohmann::json json = nlohmann::json::parse(explanation_json(explanation));
    double sum = 0;
    for (const auto& part : json["parts"]) sum += part["change_gpu_days"].get<double>();
    CHECK(sum ==
          Approx(json["change_gpu_days"].get<double>()).margin(1e-9 * json["first_gpu_days"].get<double>()));
  }
}

TEST_CASE("An explanation has the largest change first, and bars that begin where the last one ended") {
  const TemporaryFolder folder;
  Report report = report_with_source();
  report.runs[0].times->shares = {};
  report.runs[0].times->shares.by_cause[static_cast<std::size_t>(Cause::linear)] = 0.4;   // 2 of 5
  report.runs[0].times->shares.idle = 0.6;                                                // 3 of 5
  report.runs[1].times->shares.by_cause[static_cast<std::size_t>(Cause::linear)] = 0.75;  // 3 of 4
  report.runs[1].times->shares.idle = 0.25;                                               // 1 of 4
  report.runs[1].balance->abr = 0.125;
  const SavedReport read = saved(folder, report);
  CHECK(explanation_text(explain(read, "isf", "hbp"), 60) ==
        R"(hbp takes 4.000 GPU-days: 1.000 fewer (-20.0%) than isf.

GPU-days         first  second  change
isf              5.000                  ====================
  idle           3.000   1.000  -2.000              --------
  linear layers  2.000   3.000  +1.000              ++++
hbp                      4.000  -1.000  ================

Attention time in which DP ranks wait (ABR): 0.250 in isf,
  0.125 in hbp.
)");
  CHECK_THAT(explanation_text(explain(read, "isf", "isf"), 80),
             Contains("isf takes as long as isf: 5.000 GPU-days."));
}

TEST_CASE("Runs that cannot be explained are refused by name") {
  const TemporaryFolder folder;
  Report report = report_with_source();
  report.runs.push_back(example_misfit("wide"));
  report.runs.push_back(example_misfit("broken"));
  report.runs.back().failure = "no solver";
  report.runs.push_back(example_misfit("empty"));
  report.runs.back().feasible = true;
  const SavedReport read = saved(folder, report);
  const std::string path = folder / "report.json";
  CHECK_THROWS_WITH(explain(read, "isf", "hpb"),
                    path + ": expected a run of the report, got \"hpb\" (did you mean hbp?)");
  CHECK_THROWS_WITH(explain(read, "wide", "isf"),
                    path +
                        ": expected a run that has a time (isf, hbp), got wide, "
                        "which does not fit in memory");
  CHECK_THROWS_WITH(explain(read, "isf", "broken"), Contains("got broken, which failed: no solver"));
  CHECK_THROWS_WITH(explain(read, "isf", "empty"), Contains("got empty, which trains no iteration"));
}

TEST_CASE("Two reports differ in their job, in runs and in what the runs take") {
  const TemporaryFolder folder;
  Report old = report_with_source();
  old.runs.push_back(example_run("gone", 3));
  old.runs.push_back(example_run("large", 3));
  Report fresh = report_with_source();
  fresh.manifest.seed = 5;
  fresh.manifest.command = "another";
  fresh.runs[1] = example_run("hbp", 4.4);
  fresh.runs.push_back(example_run("young", 3));
  fresh.runs.push_back(example_misfit("large"));
  const SavedReport before = saved(folder, old, "old.json");
  const SavedReport now = saved(folder, fresh, "new.json");
  const ReportDiff found = diff(before, now);
  CHECK(diff_text(found, 80) == R"(seed: 0 -> 5

GPU-days  before   now   change          largest part
isf         5.00  5.00   +0.00%
hbp         4.00  4.40  +10.00%  linear layers +0.300
large       3.00   OOM        -
Only in the new report: young
Only in the old report: gone
)");
  CHECK(regressions(found, 0.11) ==
        std::vector<std::string>{"large: OOM, 3.00 GPU-days before", "gone: not in the new report"});
  CHECK(regressions(found, 0.05).front() == "hbp: 4.40 GPU-days, 4.00 before (+10.00%)");
  const nlohmann::json json = nlohmann::json::parse(diff_json(found));
  CHECK(json["runs"][1]["change_fraction"] == Approx(0.1));
  CHECK(json["runs"][2]["now_gpu_days"].is_null());
  CHECK(json["added"] == nlohmann::json{"young"});

  const ReportDiff same = diff(before, before);
  CHECK(same.values.empty());
  CHECK(regressions(same, 0).empty());
  CHECK_THAT(diff_text(same, 80), Contains("Both reports are of the same job"));
}
