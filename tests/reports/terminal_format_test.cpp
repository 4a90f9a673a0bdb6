#include "reports/formats/terminal_format.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "example_report.hpp"
#include "reports/text/display_width.hpp"
#include "terminal_lines.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_of(text))
    widest = std::max(widest, formats_detail::display_columns(line));
  return widest;
}

// Lines before the table.
std::size_t verdict_lines(const std::string& text) {
  return lines_of(text).size() - lines_from(text, "run ").size();
}

// Without escape sequences, which all look like \x1b[31m.
std::string without_colour(std::string text) {
  while (true) {
    const std::size_t begin = text.find("\x1b[");
    if (begin == std::string::npos) return text;
    text.erase(begin, text.find('m', begin) + 1 - begin);
  }
}

// A report with all that outputs can show, and numbers and names from anywhere.
Report any_report(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
  const std::vector<std::string> pieces = {"\u6a21\u578b",
                                           "planner",
                                           "\U0001f680",
                                           "e\u0301",
                                           " ",
                                           "\x1b[31m",
                                           "\xff",
                                           "a_rather_long_word_without_any_space_in_it",
                                           "\u202e",
                                           "-",
                                           "\n"};
  const auto text = [&](unsigned most) {
    std::string name;
    for (unsigned i = below(most); i > 0; --i) name += pieces[below(pieces.size())];
    return name;
  };
  const auto number = [&] { return std::pow(10, static_cast<double>(below(1600)) / 100 - 5); };
  Report report = below(2) == 0 ? failing_report() : example_report();
  report.manifest.scenario_name = text(40);
  report.manifest.model = text(10);
  report.manifest.gpu_hour_price = number();
  for (unsigned i = below(3); i > 0; --i) report.manifest.warnings.push_back(text(60));
  for (unsigned i = below(9); i > 0; --i) report.runs.push_back(example_run(text(30), number()));
  for (StrategyResult& run : report.runs) {
    run.times->gpu_days_low = run.times->gpu_days * 0.8;
    run.times->gpu_days_high = run.times->gpu_days * 1.3;
    run.times->errors.own = 0.1;
    run.times->largest_uncertainty = text(40);
    run.times->evidence.extrapolated = 0.5;
    run.cost =
        RunCost{.gpu_hours = number(), .money = number(), .money_low = number(), .money_high = number()};
    run.counts.dropped_tokens = static_cast<std::int64_t>(below(3) * number());
    run.groups.resize(1 + below(20), run.groups[0]);
    for (PlannedGroup& group : run.groups) group.sequence.ulysses = static_cast<int>(1 + below(64));
    if (below(6) == 0) run.differences = {text(20), text(20)};
    if (below(6) == 0) run = example_misfit(text(30));
    if (below(9) == 0) run.failure = text(90);
    run.plan.tp_degree = static_cast<int>(1 + below(8));
  }
  report.baseline = report.runs[below(report.runs.size())].name;
  return report;
}

}  // namespace

TEST_CASE(
    "whatever the names and numbers, no line is wider than the terminal, nor the verdict over 23 lines") {
  std::mt19937 random(21);
  for (int round = 0; round < 200; ++round) {
    const Report report = any_report(random);
    for (const int width : {40, 80, 120, 200}) {
      CAPTURE(round, width);
      const std::string text = to_terminal(report, {.width_columns = width, .explain = round % 10 == 0});
      REQUIRE(widest_line(text) <= static_cast<std::size_t>(width));
      REQUIRE(verdict_lines(text) <= 24);  // an empty line is before the table
      const std::string coloured =
          to_terminal(report, {.width_columns = width, .explain = round % 10 == 0, .colour = true});
      REQUIRE(without_colour(coloured) == text);
      REQUIRE(coloured != text);
      REQUIRE(std::ranges::none_of(text,
                                   [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }));
    }
  }
}

TEST_CASE("a small report, word for word, at 80 columns") {
  Report report = example_report();
  StrategyResult& hbp = report.runs[1];
  // hbp: 4 GPU-days, 3.6 of them linear layers and 0.4 idle; isf: 5, of them 3.75 and 1.25.
  hbp.times->shares.by_cause[static_cast<std::size_t>(Cause::linear)] = 0.9;
  hbp.times->shares.idle = 0.1;
  for (StrategyResult& run : report.runs) {
    run.times->gpu_days_low = run.times->gpu_days / 1.1;
    run.times->gpu_days_high = run.times->gpu_days * 1.1;
    run.times->errors.own = 0.03;
    run.times->utilisation.mfu_fraction = 0.3;
    run.counts.dropped_samples = 2;
    run.counts.dropped_tokens = 300'000;
  }
  hbp.speedup = {.value = 1.25, .low = 1.25 / 1.072, .high = 1.25 * 1.072};
  hbp.cost = RunCost{.gpu_hours = 96, .money = 240, .money_low = 218.2, .money_high = 264};
  hbp.bound = BoundGap{.gpu_days = 3.2, .space = "packs, SP and ZeRO 1", .above_fraction = 0.25};
  hbp.groups[0].n_dp_ranks = 4;
  hbp.groups[0].micro_batches_per_rank = 2;
  report.manifest.gpu_hour_price = 2.5;
  report.manifest.warnings = {"no step had ZeRO 2"};
  report.runs.push_back(example_misfit("too big"));
  CHECK(to_terminal(report, {}) == R"(example
llama-3.1-8b on h100_x8, 8 GPUs at 2.50 an hour: 2 samples, 3 tokens, 1 epoch

Decision   Run hbp: it is faster than the other one at 90%.
Best plan  hbp, 1.25 times as fast as the baseline isf (90%: 1.17 to 1.34).
Cost       4.00 GPU-days (90%: 3.64 to 4.40), 12.0 h of wall time, MFU 30.0%;
           25.0% above the least possible over packs, SP and ZeRO 1 (lower
           bound). Money: 240 (90%: 218 to 264).
Why        It saves 1.00 GPU-days against isf: +0.850 as GPUs wait 68% less for
           each other, +0.150 as linear layers take 4% less.
Set        no model parallelism; ZeRO 1; gradients in bf16; gradients and
           weights travel beside computation.
           packs up to  SP  CP  GC layers  ZeRO  DP ranks  micro-batches
           128K          8   1         32     1         4              2
Doubts     isf is next with 5.00 GPU-days, 25.0% more (90%: +16.6% to +34.0%).
           Not compared: too big does not fit in memory.

run      GPU-days  90%  speed-up  its 90%   bound  wall  cost    MFU    ABR
                                                      h
hbp          4.00  10%     1.25x       7%  +25.0%  12.0   240  30.0%  0.250
isf *        5.00  10%     1.00x        -       -  15.0     -  30.0%  0.250
too big       OOM  OOM       OOM      OOM     OOM   OOM   OOM    OOM  0.250
19 more columns: see --wide, --columns and --explain.

WARNING no step had ZeRO 2
isf, hbp: 2 samples over-long and left out, 300k tokens never trained.
* the baseline; OOM: does not fit in memory.
too big does not fit in memory: group 128K needs 89.4 of 74.5 GiB (14.9 GiB too
  much).
)");
}

TEST_CASE("a report of many runs is one screen, and --wide shows what that has no room for") {
  Report report = example_report();
  for (int i = 0; i < 30; ++i) {
    report.runs.push_back(example_run("run " + std::to_string(i), 6 + i));
    report.runs.back().differences = {"cuts samples"};
  }
  report.baseline = "run 29";
  const std::string text = to_terminal(report, {});
  CHECK(std::ranges::count(text, '\n') <= 35);
  const auto table = lines_from(text, "run ");
  // The best, as many others as there is room for, and the baseline.
  CHECK(table[2].starts_with("hbp "));
  CHECK(table[3].starts_with("isf "));
  const auto end = std::ranges::find_if(table, [](const auto& line) { return line.starts_with("run 29 *"); });
  REQUIRE(end != table.end());
  const auto n_shown = static_cast<std::size_t>(end - table.begin()) - 1;  // without titles and units
  CHECK(end[1].starts_with(std::to_string(32 - n_shown) + " more runs, "));
  CHECK_THAT(text, Catch::Contains("--wide says more: ") && !Catch::Contains("run 28 "));
  const std::string wide = to_terminal(report, {.wide = true});
  CHECK_THAT(wide, Catch::Contains("run 28 !") &&
                       Catch::Contains("run 28 is not compared with the others: cuts samples."));
  CHECK_THAT(wide, !Catch::Contains("more runs") && !Catch::Contains("--wide"));
}

TEST_CASE("runs are sorted by GPU-days, behind them those of another job, behind these those without times") {
  Report report = example_report();
  report.runs = {example_misfit("big"), example_run("isf", 5), example_run("half", 1), example_run("hbp", 4)};
  report.runs[2].differences = {"trains half of the data"};
  const auto table = lines_from(to_terminal(report, {}), "run ");
  CHECK(table[2].starts_with("hbp "));
  CHECK(table[3].starts_with("isf *"));
  CHECK(table[4].starts_with("half !"));
  CHECK(table[5].starts_with("big "));
}

TEST_CASE("more columns fit into a wider terminal, the more important ones first") {
  const Report report = example_report();
  std::vector<std::string> before;
  for (const int width : {40, 60, 80}) {
    std::vector<std::string> shown;
    std::istringstream titles(lines_from(to_terminal(report, {.width_columns = width}), "run ")[0]);
    for (std::string title; titles >> title;) shown.push_back(title);
    CAPTURE(width, shown);
    CHECK(shown.size() > before.size());
    CHECK(shown[1] == "GPU-days");
    for (const std::string& title : before) CHECK(std::ranges::count(shown, title) == 1);
    before = shown;
  }
}

TEST_CASE("no two columns have the same priority, title or key") {
  std::set<int> priorities;
  std::set<std::string> names;
  std::size_t n_columns = 0;
  for (const RunValue& value : run_values()) {
    if (!value.column) continue;
    ++n_columns;
    CHECK(value.column->priority >= 1);
    priorities.insert(value.column->priority);
    names.emplace(value.column->title);
  }
  CHECK(priorities.size() == n_columns);
  CHECK(names.size() == n_columns);
  CHECK(find_column("") == nullptr);
  CHECK(find_column("gpu_days")->title == "GPU-days");
  CHECK(find_column("90%")->priority == 2);
}

TEST_CASE("chosen columns are shown in the given order, also those that the report has no values for") {
  const std::vector<Column> chosen = {*find_column("cr"), *find_column("GPU-days"),
                                      *find_column("plan wait")};
  const auto table =
      lines_from(to_terminal(example_report(), {.width_columns = 40, .columns = chosen}), "run ");
  CHECK(table[0] == "run    CR  GPU-days  plan wait");
  CHECK(table[2] == "hbp     0      4.00          -");
}

TEST_CASE("--explain defines every column that the report can show, and only these") {
  const std::string text = to_terminal(example_report(), {.explain = true});
  CHECK(lines_from(text, "ABR slots ")[0].starts_with("ABR slots        ABR over slots"));
  CHECK_FALSE(holds(text, "plan wait"));
  CHECK_FALSE(holds(to_terminal(example_report(), {}), "ABR over slots"));
}

TEST_CASE("colours only decorate: bold, and the best run green") {
  const std::string text = to_terminal(example_report(), {.colour = true});
  CHECK(holds(text, "\x1b[1m\x1b[32mhbp  "));
  CHECK(text.starts_with("\x1b[1mexample\x1b[0m\n"));
}

TEST_CASE(
    "where the table of settings is too wide, no setting is lost: sentences below the table have them") {
  const std::string text = unwrapped(to_terminal(example_report(), {.width_columns = 60}));
  CHECK(holds(text, "each group as below the table"));
  CHECK(holds(text,
              "Set: packs up to 128K, SP 8, CP 1, GC layers 32, ZeRO 1, DP ranks 1, micro-batches varies."));
}

TEST_CASE("a run that does not fit is not marked as one of another job") {
  Report report = example_report();
  report.runs.push_back(example_misfit("big"));
  report.runs.back().differences = {"trains nothing"};
  const std::string text = to_terminal(report, {});
  CHECK_FALSE(holds(text, "big !"));
  CHECK_FALSE(holds(text, "another job"));
}

TEST_CASE("a run that may not fit says so, beside what it is not compared for") {
  Report report = example_report();
  PlannedGroup& group = report.runs[0].groups[0];
  group.verdict = MemoryVerdict::may_not_fit;
  group.memory_error = 0.05;
  group.peak_memory_bytes = 80.0 * 1024 * 1024 * 1024;
  group.gpu_memory_bytes = 79.6 * 1024 * 1024 * 1024;
  report.runs[0].differences = {"trains nothing"};
  const std::string text = to_terminal(report, {.width_columns = 200});
  CHECK(holds(text,
              "may not fit in GPU memory: group 128K needs 80.0 of 79.6 GiB, and the estimate may be 5 % too "
              "low"));
  CHECK(holds(text, "is not compared with the others: trains nothing"));
}

TEST_CASE("the next run is named in the verdict however many groups the best one has") {
  Report report = example_report();
  report.runs[1].groups.resize(8, report.runs[1].groups[0]);
  report.runs[1].failures = FailureCost{.gpu_days = 4.5, .gpu_days_p05 = 4.25, .gpu_days_p95 = 5.25};
  report.manifest.scenario_description = "long";
  const std::string text = to_terminal(report, {});
  CHECK(text.find("isf is next") < text.find("run  "));
  CHECK(verdict_lines(text) <= 24);
}
