// The tables of packsim compare --wide.

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "example_report.hpp"
#include "reports/formats/formats.hpp"
#include "reports/formats/terminal_format.hpp"
#include "reports/text/display_width.hpp"
#include "terminal_lines.hpp"

using namespace packsim;
using namespace packsim_test;
using formats_detail::display_columns;

namespace {

const TerminalOptions kWide = {.width_columns = 240, .wide = true};

}  // namespace

TEST_CASE("the table is aligned: every line ends in the same column, whatever the names") {
  Report report = example_report();
  report.runs[1].name = "h\u00fcbsch, and a good deal longer";
  report.runs[1].counts.repeated_tokens = 1'234'567;
  const auto table = lines_from(to_terminal(report, kWide), "run ");
  REQUIRE(table[1].ends_with("tokens"));
  for (std::size_t line = 1; line < 4; ++line)
    CHECK(display_columns(table[line]) == display_columns(table[0]));
  CHECK(table[3].starts_with("isf * "));
  CHECK(table[2].ends_with(" 1.23M"));
}

TEST_CASE("a run that does not fit shows OOM for its times and by how much memory exceeds") {
  Report report = example_report();
  report.runs.push_back(example_misfit("too big"));
  const std::string text = to_terminal(report, kWide);
  CHECK(holds(lines_from(text, "too big ")[0], "OOM"));
  // 96e9 bytes are 89.4 GiB, 80e9 are 74.5 GiB.
  CHECK(holds(text, "too big does not fit in memory: group 128K needs 89.4 of 74.5 GiB (14.9 GiB too much)"));
  CHECK_FALSE(holds(text, "nan"));
}

TEST_CASE("a run that is packed anew in each epoch says how many of its packs are new") {
  Report report = example_report();
  CHECK_FALSE(holds(to_terminal(report, kWide), "is packed anew in each epoch"));
  report.runs[0].repacking = Repacking{.later_packs = 5000, .new_packs = 4980};
  report.runs[1].repacking = Repacking{.later_packs = 1200, .new_packs = 0};
  const std::string text = to_terminal(report, kWide);
  CHECK(holds(text,
              "isf is packed anew in each epoch: 4,980 of 5,000 packs of later epochs hold other samples "
              "than any pack before.\n"));
  CHECK(holds(text,
              "hbp is packed anew in each epoch: 0 of 1,200 packs of later epochs hold other samples than "
              "any pack before, so all epochs train the same packs.\n"));
}

TEST_CASE("the lower bound has a column beside every run and a table of its parts") {
  Report report = example_report();
  CHECK(!holds(to_terminal(report, kWide), "lower bound  "));
  report.bounds = {example_bound()};
  report.runs[1].bound =
      BoundGap{.gpu_days = 3.2, .space = "packs, SP, TP 1, PP 1 and ZeRO 1-3", .above_fraction = 0.25};
  const auto table = lines_from(to_terminal(report, kWide), "lower bound");
  CHECK(holds(table[1], "ZeRO 1, as planned"));
  // 1.6, 0.4, 0.5, 0.2, 0.3, 0.2 and 0 of 3.2.
  std::istringstream parts(table[1].substr(table[1].find("50.0%")));
  std::string part;
  for (const char* expected : {"50.0%", "12.5%", "15.6%", "6.2%", "9.4%", "6.2%", "0%"}) {
    parts >> part;
    CHECK(part == expected);
  }
  const auto runs = lines_from(to_terminal(report, kWide), "run ");
  CHECK(holds(runs[0], "  bound  "));
  CHECK(holds(runs[2], "+25.0%"));
}

TEST_CASE("what normalisers do to each run's loss has a table, where a run has been trained") {
  Report report = example_report();
  CHECK(!holds(to_terminal(report, kWide), "misplaced loss"));
  CHECK(!holds(to_html(report), "Loss weights"));
  for (const char* normaliser : {"stable", "token_mean", "sample_mean", "longalign", "sum"}) {
    report.runs[1].loss_bias.push_back(
        {.normaliser = normaliser, .misplaced_fraction = 0.25, .long_sample_weight = 0.5});
  }
  report.runs[1].loss_bias[1] = {
      .normaliser = "token_mean", .misplaced_fraction = 0.125, .long_sample_weight = 0.75};
  const auto table = lines_from(to_terminal(report, kWide), "misplaced loss");
  std::istringstream cells(table[1].substr(table[1].find("12.5%")));
  std::string cell;
  for (const char* expected : {"12.5%", "0.750", "25.0%", "0.500", "25.0%", "0.500"}) {
    cells >> cell;
    CHECK(cell == expected);
  }
  CHECK(holds(to_html(report), "Loss weights"));
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
  auto table = lines_from(to_terminal(report, kWide), "use and cost");
  CHECK(table[0] == "use and cost  tokens/s  samples/s  TFLOP/s    MFU    HFU  GPU-hours");
  CHECK(table[1] == "                 a GPU   all GPUs    a GPU");
  CHECK(table[2] == "hbp              4,285       37.2      281  28.4%  30.0%       96.0");
  CHECK(table[3] == "isf *            4,285       37.2      281  28.4%  30.0%        120");
  CHECK(table[4] == "big                OOM        OOM      OOM    OOM    OOM        OOM");

  report.runs[1].cost = {.gpu_hours = 96,
                         .money = 240,
                         .money_low = 220,
                         .money_high = 261.5,
                         .money_with_failures = 270,
                         .energy_kwh = 67.2};
  report.manifest.gpu_hour_price = 2.5;
  const std::string priced = to_terminal(report, kWide);
  table = lines_from(priced, "use and cost");
  CHECK(table[0].ends_with("  GPU-hours  cost  90% interval  cost + failures  energy"));
  CHECK(table[1].ends_with("                                                     kWh"));
  CHECK(table[2].ends_with("       96.0   240    220 to 262              270    67.2"));
  CHECK(table[3].ends_with("        120     -             -                -       -"));
  for (std::size_t line = 0; line < 5; ++line) CHECK(display_columns(table[line]) <= 120);
  CHECK(holds(priced, "cluster     h100_x8, 8 GPUs at 2.50 an hour"));
  for (const char* cell : {"<h2>Use of the GPUs, and cost</h2>", ">220 to 262</td>", ">67.2</td>",
                           "h100_x8, 8 GPUs at 2.50 an hour", "<dt>energy (kWh)</dt>"})
    CHECK(holds(to_html(report), cell));

  report.runs = {example_misfit("big")};
  CHECK_FALSE(holds(to_terminal(report, kWide), "use and cost"));
  CHECK_FALSE(holds(to_html(report), "and cost</h2>"));
}

TEST_CASE("waits for plans have their columns where a run has them") {
  Report report = example_report();
  CHECK_FALSE(holds(to_terminal(report, kWide), "plan wait"));
  report.runs[1].planning = PlanningCost{.exposed_s = 3.43, .gpu_days = 9.25};
  const auto table = lines_from(to_terminal(report, kWide), "run ");
  CHECK(holds(table[0], "plan wait  + planning"));
  CHECK(holds(table[2], "     3.43        9.25"));
  CHECK(holds(table[3], "        -           -"));
}

TEST_CASE("variability and failures have their columns and lines where the scenario has them") {
  const std::string without = to_terminal(example_report(), kWide);
  for (const char* word : {"variability", "failures", "effective"}) CHECK_FALSE(holds(without, word));

  const std::string text = to_terminal(failing_report(), kWide);
  const auto table = lines_from(text, "run ");
  CHECK(holds(table[0], "variability  + failures      5 to 95%  failures  checkpoint  effective"));
  CHECK(holds(table[2], "+8.0%        4.50  4.25 to 5.25     0.250       1,800      88.8%"));
  CHECK(holds(table[3], "+8.0%           -             -         -       1,800         0%"));
  CHECK(lines_from(text, "variability")[0] ==
        "variability GPUs spread by 2.0%, kernels by 5.0%; GPU 3 takes 1.15 times as long; seed 9");
  CHECK(lines_from(text, "failures")[0] ==
        "failures    a unit of 8 GPUs fails every 50,000 h; checkpoints every 1,800 s, writes of 40.0 s, "
        "25.0% of it in front of the work; restarts of 450 s; 2 spare units, repairs of 12.0 h");
}
