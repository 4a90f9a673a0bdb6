#include "reports/formats/terminal_format.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "example_report.hpp"
#include "reports/formats/html_format.hpp"

using namespace packsim;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The first line that begins with `start`, and those after it.
std::vector<std::string> lines_from(const std::string& text, const std::string& start) {
  std::vector<std::string> lines = lines_of(text);
  const auto found =
      std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(start); });
  REQUIRE(found != lines.end());
  return {found, lines.end()};
}

// Code points, as a terminal counts its columns.
std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the table is aligned: every line ends in the same column, whatever the names") {
  Report report = example_report();
  report.runs[1].name = "h\u00fcbsch, and a good deal longer";
  report.runs[1].counts.repeated_tokens = 1'234'567;
  const auto table = lines_from(to_terminal(report, 100), "run ");
  REQUIRE(table[1].ends_with("tokens"));
  for (std::size_t line = 1; line < 4; ++line) CHECK(columns_of(table[line]) == columns_of(table[0]));
  CHECK(table[2].starts_with("isf * "));
  CHECK(table[3].ends_with(" 1.23M"));
}

TEST_CASE("eight runs fit in 180 columns") {
  Report report = example_report();
  report.runs.resize(8, example_run("first_fit_decreasing", 123.4));
  for (StrategyResult& run : report.runs) {
    run.packs = 1'234'567;
    run.balance->ave_t_tokens = 1'048'576;
    run.counts.dropped_tokens = run.counts.truncated_tokens = run.counts.padded_tokens =
        run.counts.repeated_tokens = 123'456'789;
  }
  for (const std::string& line : lines_of(to_terminal(report, 180))) CHECK(columns_of(line) <= 180);
}

TEST_CASE("a narrow terminal wraps sentences but not the table") {
  const auto wide = lines_from(to_terminal(example_report(), 180), "run ");
  const auto narrow = lines_from(to_terminal(example_report(), 60), "run ");
  for (std::size_t line = 0; line < 4; ++line) CHECK(wide[line] == narrow[line]);
  CHECK(narrow.size() > wide.size());
}

TEST_CASE("a run that does not fit shows OOM for its times and by how much memory exceeds") {
  Report report = example_report();
  report.runs.push_back(example_misfit("too big"));
  const std::string text = to_terminal(report, 160);
  CHECK(contains(lines_from(text, "too big ")[0], "OOM"));
  // 96e9 bytes are 89.4 GiB, 80e9 are 74.5 GiB.
  CHECK(contains(
      text, "too big does not fit in GPU memory: group 128K needs 89.4 of 74.5 GiB (14.9 GiB too much)"));
  CHECK_FALSE(contains(text, "nan"));
}

TEST_CASE("the last line says who wins, by how much, and at what loss of data") {
  Report report = example_report();
  CHECK(lines_of(to_terminal(report, 160)).back() == "hbp is 1.25x faster than isf: 4.00 vs 5.00 GPU-days.");
  report.runs[1].counts.dropped_tokens = 1'500;
  CHECK(lines_of(to_terminal(report, 160)).back() ==
        "hbp is 1.25x faster than isf: 4.00 vs 5.00 GPU-days, but hbp leaves 1.50k more tokens untrained.");
  report.runs = {example_run("isf", 5)};
  CHECK(lines_of(to_terminal(report, 160)).back() == "isf takes 5.00 GPU-days, 15.0 h of wall time.");
  report.runs = {example_misfit("isf"), example_run("hbp", 4)};
  CHECK(lines_of(to_terminal(report, 160)).back() ==
        "hbp takes the least of what fits, 4.00 GPU-days; the baseline isf does not fit in memory.");
  report.runs = {example_misfit("isf")};
  CHECK(lines_of(to_terminal(report, 160)).back() == "No run fits in GPU memory.");
  report.runs.clear();
  CHECK(lines_of(to_terminal(report, 160)).back() == "Nothing was compared.");
}

TEST_CASE("a run of another job keeps its numbers, is marked with the reason, and never wins") {
  Report report = example_report();
  report.runs[1].differences = {"trains 3.7 % of the data less than isf",
                                "cuts 9 samples into pieces, isf cuts 0"};
  const std::string text = to_terminal(report, 180);
  CHECK(contains(lines_from(text, "hbp !")[0], "4.00"));
  CHECK(contains(
      text, "hbp is not compared with the others: trains 3.7 % of the data less than isf; cuts 9 samples"));
  CHECK(lines_of(text).back() == "isf takes 5.00 GPU-days, 15.0 h of wall time.");
  report.runs[0].differences = {"iterations train 9 tokens on average, not the 90 of tokens_per_iteration"};
  CHECK(
      lines_of(to_terminal(report, 400)).back() ==
      "No run is called the fastest, because none trains the job that was asked for (isf: iterations train 9 "
      "tokens on average, not the 90 of tokens_per_iteration; the reasons of the others are below the "
      "table).");
  Report one = report;
  one.runs.resize(1);
  CHECK(
      lines_of(to_terminal(one, 400)).back() ==
      "No run is called the fastest, because none trains the job that was asked for (isf: iterations train 9 "
      "tokens on average, not the 90 of tokens_per_iteration).");
  report.runs[1].differences.clear();
  CHECK(lines_of(to_terminal(report, 180)).back() ==
        "hbp takes the least of what fits, 4.00 GPU-days; the baseline isf trains another job.");
}

TEST_CASE("a run that is packed anew in each epoch says how many of its packs are new") {
  Report report = example_report();
  CHECK_FALSE(contains(to_terminal(report, 180), "is packed anew in each epoch"));
  report.runs[0].repacking = Repacking{.later_packs = 5000, .new_packs = 4980};
  report.runs[1].repacking = Repacking{.later_packs = 1200, .new_packs = 0};
  const std::string text = to_terminal(report, 180);
  CHECK(contains(text,
                 "isf is packed anew in each epoch: 4,980 of 5,000 packs of later epochs hold other samples "
                 "than any pack before\n"));
  CHECK(contains(text,
                 "hbp is packed anew in each epoch: 0 of 1,200 packs of later epochs hold other samples than "
                 "any pack before, so all epochs train the same packs\n"));
}

TEST_CASE("a run that failed says why and takes no other with it") {
  Report report = example_report();
  report.runs.push_back({.name = "broken", .strategy = "ffd", .failure = "no\aroom", .feasible = false});
  const std::string text = to_terminal(report, 180);
  CHECK(contains(lines_from(text, "broken ")[0], "failed"));
  CHECK(contains(text, "broken failed: no"));
  CHECK_FALSE(contains(text, "\a"));
  CHECK(lines_of(text).back() == "hbp is 1.25x faster than isf: 4.00 vs 5.00 GPU-days.");
  report.runs = {report.runs.back(), example_run("hbp", 4)};
  report.baseline = "broken";
  CHECK(lines_of(to_terminal(report, 180)).back() ==
        "hbp takes the least of what fits, 4.00 GPU-days; the baseline broken failed.");
}

TEST_CASE("variability and failures have their columns, lines and sentence where the scenario has them") {
  const std::string without = to_terminal(example_report(), 180);
  for (const char* word : {"variability", "failures", "effective"}) CHECK_FALSE(contains(without, word));

  const std::string text = to_terminal(failing_report(), 240);
  const auto table = lines_from(text, "run ");
  CHECK(contains(table[0], "variability  + failures      5 to 95%  failures  checkpoint  effective"));
  CHECK(contains(table[2], "+8.0%           -             -         -       1,800         0%"));
  CHECK(contains(table[3], "+8.0%        4.50  4.25 to 5.25     0.250       1,800      88.8%"));
  CHECK(lines_from(text, "variability")[0] ==
        "variability GPUs spread by 2.0%, kernels by 5.0%; GPU 3 takes 1.15 times as long; seed 9");
  CHECK(lines_from(text, "failures")[0] ==
        "failures    a unit of 8 GPUs fails every 50,000 h; checkpoints every 1,800 s, writes of 40.0 s, "
        "25.0% of it in front of the work; restarts of 450 s; 2 spare units, repairs of 12.0 h");
  CHECK(lines_of(text).back() ==
        "hbp is 1.25x faster than isf: 4.00 vs 5.00 GPU-days. With failures hbp takes 4.50 GPU-days (4.25 to "
        "5.25 in 90 % of runs).");

  Report one = failing_report();
  one.runs.resize(1);
  one.manifest.variability = {};
  CHECK(
      lines_of(to_terminal(one, 180)).back() ==
      "isf takes 5.00 GPU-days, 15.0 h of wall time. With failures isf would never finish: they come faster "
      "than it makes progress.");
  CHECK_FALSE(contains(to_terminal(one, 180), "variability"));
  one.manifest.failures = FailureModel{.unit_mtbf_h = 100, .checkpoint_write_s = 7};
  CHECK(contains(
      to_terminal(one, 180),
      "a GPU fails every 100 h; checkpoints at the best interval, writes of 7.00 s; restarts of 0 s; "
      "replacements at hand"));
}

TEST_CASE("the lower bound has a column beside every run and a table of its parts") {
  Report report = example_report();
  CHECK(!contains(to_terminal(report, 100), "lower bound  "));
  report.bounds = {example_bound()};
  report.runs[1].bound = BoundGap{.gpu_days = 3.2, .above_fraction = 0.25};
  const auto table = lines_from(to_terminal(report, 200), "lower bound");
  CHECK(contains(table[1], "ZeRO 1, as planned"));
  // 1.6, 0.4, 0.5, 0.2, 0.3, 0.2 and 0 of 3.2.
  std::istringstream parts(table[1].substr(table[1].find("50.0%")));
  std::string part;
  for (const char* expected : {"50.0%", "12.5%", "15.6%", "6.2%", "9.4%", "6.2%", "0%"}) {
    parts >> part;
    CHECK(part == expected);
  }
  const auto runs = lines_from(to_terminal(report, 200), "run ");
  CHECK(contains(runs[0], "  bound  "));
  CHECK(contains(runs[3], "+25.0%"));
}

TEST_CASE("what normalisers do to each run's loss has a table, where a run has been trained") {
  Report report = example_report();
  CHECK(!contains(to_terminal(report, 200), "misplaced loss"));
  CHECK(!contains(to_html(report), "Loss weights"));
  for (const char* normaliser : {"stable", "token_mean", "sample_mean", "longalign", "sum"}) {
    report.runs[1].loss_bias.push_back(
        {.normaliser = normaliser, .misplaced_fraction = 0.25, .long_sample_weight = 0.5});
  }
  report.runs[1].loss_bias[1] = {
      .normaliser = "token_mean", .misplaced_fraction = 0.125, .long_sample_weight = 0.75};
  const auto table = lines_from(to_terminal(report, 200), "misplaced loss");
  std::istringstream cells(table[1].substr(table[1].find("12.5%")));
  std::string cell;
  for (const char* expected : {"12.5%", "0.750", "25.0%", "0.500", "25.0%", "0.500"}) {
    cells >> cell;
    CHECK(cell == expected);
  }
  CHECK(contains(to_html(report), "Loss weights"));
}

TEST_CASE(
    "how runs use their GPUs and what they cost has a table, with prices, failures and power where given") {
  Report report = example_report();
  for (StrategyResult& run : report.runs) {
    run.times->utilisation = {.tokens_per_s_per_gpu = 4285.4,
                              .samples_per_s = 37.2,
                              .model_flop_per_s_per_gpu = 281e12,
                              .mfu_fraction = 0.284,
                              .hfu_fraction = 0.3};
    run.cost = RunCost{.gpu_hours = 24 * run.times->gpu_days};
  }
  report.runs.push_back(example_misfit("big"));
  auto table = lines_from(to_terminal(report, 120), "use and cost");
  CHECK(table[0] == "use and cost  tokens/s  samples/s  TFLOP/s    MFU    HFU  GPU-hours");
  CHECK(table[1] == "                 a GPU   all GPUs    a GPU");
  CHECK(table[2] == "isf *            4,285       37.2      281  28.4%  30.0%        120");
  CHECK(table[3] == "hbp              4,285       37.2      281  28.4%  30.0%       96.0");
  CHECK(table[4] == "big                OOM        OOM      OOM    OOM    OOM        OOM");

  report.runs[1].cost = {.gpu_hours = 96,
                         .money = 240,
                         .money_low = 220,
                         .money_high = 261.5,
                         .money_with_failures = 270,
                         .energy_kwh = 67.2};
  report.manifest.gpu_hour_price = 2.5;
  const std::string priced = to_terminal(report, 120);
  table = lines_from(priced, "use and cost");
  CHECK(table[0].ends_with("  GPU-hours  cost  90% interval  cost + failures  energy"));
  CHECK(table[1].ends_with("                                                     kWh"));
  CHECK(table[3].ends_with("       96.0   240    220 to 262              270    67.2"));
  CHECK(table[2].ends_with("        120     -             -                -       -"));
  for (std::size_t line = 0; line < 5; ++line) CHECK(columns_of(table[line]) <= 120);
  CHECK(contains(priced, "cluster     h100_x8, 8 GPUs at 2.50 an hour"));
  for (const char* cell : {"<h2>Use of the GPUs, and cost</h2>", ">220 to 262</td>", ">67.2</td>",
                           "h100_x8, 8 GPUs at 2.50 an hour", "<dt>energy (kWh)</dt>"})
    CHECK(contains(to_html(report), cell));

  report.runs = {example_misfit("big")};
  CHECK_FALSE(contains(to_terminal(report, 120), "use and cost"));
  CHECK_FALSE(contains(to_html(report), "and cost</h2>"));
}

TEST_CASE("waits for plans have their columns where a run has them") {
  Report report = example_report();
  CHECK_FALSE(contains(to_terminal(report, 240), "plan wait"));
  report.runs[1].planning = PlanningCost{.exposed_s = 3.43, .gpu_days = 9.25};
  const auto table = lines_from(to_terminal(report, 240), "run ");
  CHECK(contains(table[0], "plan wait  + planning"));
  CHECK(contains(table[2], "        -           -"));
  CHECK(contains(table[3], "     3.43        9.25"));
}

TEST_CASE("no text from outside sends control codes to the terminal") {
  Report report = example_report();
  report.runs[0].name = "red\x1b[31m";
  report.manifest.scenario_name = "a\rb";
  report.manifest.warnings = {"beep\a"};
  for (const char character : to_terminal(report, 160)) {
    CHECK((character == '\n' || static_cast<unsigned char>(character) >= 0x20));
  }
}
