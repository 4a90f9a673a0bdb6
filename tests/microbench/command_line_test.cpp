#include "calibration/microbench/core/command_line.hpp"

#include <catch2/catch.hpp>

namespace packsim::microbench {
namespace {

CommandLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "packsim_microbench");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

}  // namespace

TEST_CASE("options are given as --name value and --name=value") {
  const CommandLine line =
      parse({"--plan", "a", "--plan=b", "--out=o.jsonl", "--noise", "0.25", "--budget-s=150"});
  CHECK(line.plans == std::vector<std::string>{"a", "b"});
  CHECK(line.out == "o.jsonl");
  CHECK(line.noise_fraction == Approx(0.0025));  // a quarter of a percent
  CHECK(line.budget_s == 150);
  CHECK(line.min_samples == 10);
  CHECK(line.warmup_s == 0.2);
  CHECK(line.min_case_s == 0.15);
  CHECK(line.case_timeout_s == 120);
  CHECK(line.text == "packsim_microbench --plan a --plan=b --out=o.jsonl --noise 0.25 --budget-s=150");
}

TEST_CASE("every mistake of the command line is told at once") {
  CHECK_THROWS_WITH(parse({"--noise", "much", "--min-samples=0", "--list=1", "--fast", "--out"}),
                    "--noise: expected a number in 0.001..100, got \"much\"\n"
                    "--min-samples: expected an integer in 1..1000000, got \"0\"\n"
                    "--list: expected no value, got \"--list=1\"\n"
                    "expected an option (see --help), got \"--fast\"\n"
                    "--out: expected FILE, got nothing");
  CHECK_THROWS_WITH(parse({}),
                    "--plan: expected at least one plan file, got none\n"
                    "--out: expected a measurement file, got none");
  CHECK_THROWS_WITH(parse({"--plan=a", "--out=b", "--min-samples=3000"}),
                    "--max-samples: expected at least --min-samples (3000), got 1000");
  CHECK_THROWS_WITH(parse({"--plan=a", "--out=b", "--case-seconds=30"}),
                    "--case-timeout-s: expected at least 5 times --case-seconds (150), got 120");
}

TEST_CASE("--help names every option and needs no other") {
  CHECK(parse({"--help"}).help);
  for (const char* option :
       {"--plan FILE", "--out FILE", "--budget-s", "--noise PERCENT", "--verify", "--dry-run"})
    CHECK_THAT(help_text(), Catch::Contains(option));
}

}  // namespace packsim::microbench
