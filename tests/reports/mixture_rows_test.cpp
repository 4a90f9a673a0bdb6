#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "example_report.hpp"
#include "reports/formats/formats.hpp"
#include "reports/formats/terminal_format.hpp"
#include "reports/tables/mixture_rows.hpp"

using namespace packsim;
using namespace packsim::formats_detail;

using Rows = std::vector<std::vector<std::string>>;

TEST_CASE("every output of a mixture names what its numbers rest on") {
  const Report report = priced_report();
  for (const std::string& text : {to_json(report), to_html(report), to_terminal(report, {})})
    CHECK(text.find("Rewards are assumed.") != std::string::npos);
  CHECK(to_terminal(example_report(), {}).find("Mixture") == std::string::npos);
}

TEST_CASE("arms show their probabilities at the start and the end, and what became of their samples") {
  const Report report = priced_report();
  const Rows rows = mixture_arm_rows(report, true);
  REQUIRE(rows.size() == 5);
  // Both groups of easy together: 3 samples of 25 tokens, 3 draws, 1 sample never drawn.
  CHECK(rows[1] == std::vector<std::string>{"easy", "all", "0.600 to 0.500", "3", "8.33", "3", "1"});
  CHECK(rows[2] == std::vector<std::string>{"easy", "0", "0.500 to 0.750", "2", "10.0", "3", "0"});
  CHECK(rows[4] == std::vector<std::string>{"hard", "all", "0.400 to 0.500", "2", "20.0", "3", "0"});
  CHECK(mixture_arm_rows(report, false).size() == 3);
  CHECK(mixture_arm_rows(example_report(), true).empty());
}

TEST_CASE("runs show their GPU-days with rewards and beside the mixture that stands still") {
  Report report = priced_report();
  report.runs[0].counts.trained_tokens = 1000;
  const Rows rows = mixture_run_rows(report);
  REQUIRE(rows.size() == 3);
  // 5 GPU-days for 1 000 tokens beside 4 for 1 000: 1.25. Rewards take .25 more.
  CHECK(rows[1] == std::vector<std::string>{"isf", "window", "prior", "2", "1", "90.0%", "1.25x", "5.00",
                                            "0.250", "5.0%", "5.25"});
}

TEST_CASE("ways to measure rewards are rows, and what is hidden has a column where there is any") {
  Report report = priced_report();
  Rows rows = probe_rows(report);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].back() == "hidden");
  CHECK(rows[1] ==
        std::vector<std::string>{"as the scenario says", "4", "8", "0.250", "5.0%", "12.5%", "0.0400"});
  for (StrategyResult& run : report.runs) run.mixture->probes.front().hidden_gpu_days = 0;
  CHECK(probe_rows(report)[0].back() == "by passes");
  CHECK(probe_rows(example_report()).empty());
}

TEST_CASE("tables of a mixture fit every terminal that is wide enough for their names") {
  for (const int width : {80, 100, 200}) {
    const std::string text = to_terminal(priced_report(), {.width_columns = width});
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      CHECK(end - begin <= static_cast<std::size_t>(width));
  }
}

TEST_CASE("report.json has the mixture of the job, and of each run") {
  const auto written = nlohmann::json::parse(to_json(priced_report()));
  CHECK(written["mixture"]["windows"][1]["probabilities"]["groups"][0][0] == 0.75);
  CHECK(written["mixture"]["windows"][1]["rewards"]["subsets"][1] == 2);
  CHECK(written["mixture"]["windows"][0]["rewards"].is_null());
  CHECK(written["mixture"]["samples_by_draws"] == nlohmann::json({1, 3, 0, 1}));
  CHECK(written["runs"][0]["mixture"]["windows"][0]["probes_s"] == 9);
  CHECK(written["runs"][0]["mixture"]["probes"][0]["gpu_days"] == 0.25);
  CHECK(written["runs"][0]["mixture"]["still"]["gpu_days"] == 4);
  CHECK(nlohmann::json::parse(to_json(example_report()))["runs"][0]["mixture"].is_null());
}
