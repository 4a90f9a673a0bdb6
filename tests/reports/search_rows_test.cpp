#include "reports/tables/search_rows.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "example_report.hpp"
#include "reports/formats/formats.hpp"
#include "reports/formats/terminal_format.hpp"

using namespace packsim;
using formats_detail::search_rows;

namespace {

SearchedPlan example_plan(std::vector<SearchedGroup> groups, double gpu_days) {
  return {.strategy = "isf", .plan = {.zero_stage = 1}, .groups = std::move(groups), .gpu_days = gpu_days};
}

// "hbp" was searched, "isf" was not.
Report searched_report() {
  Report report = example_report();
  PlanSearch& search = report.runs[1].search.emplace();
  search.n_candidates = 1234;
  search.n_too_large = 200;
  search.n_ruled_out = 1000;
  search.n_simulated = 34;
  search.tried_tokens = 4'000'000;
  search.chosen = example_plan({{.capacity_tokens = 16384, .sequence = {.ulysses = 2}, .gc_layers = 8},
                                {.capacity_tokens = 131072, .sequence = {.ulysses = 8, .ring = 2}}},
                               4);
  return report;
}

}  // namespace

TEST_CASE("a report without a search has no table of plans found") {
  CHECK(search_rows(example_report()).empty());
  CHECK(to_terminal(example_report(), {.wide = true}).find("plan found") == std::string::npos);
}

TEST_CASE("each searched run shows its plan, the second best and the usual one with what they cost") {
  Report report = searched_report();
  report.runs[1].search->runner_up = example_plan({{.capacity_tokens = 65536}}, 4.1);
  report.runs[1].search->runner_up->strategy = "ffd";
  report.runs[1].search->runner_up->plan.zero_stage = 3;
  report.runs[1].search->usual = example_plan({{.capacity_tokens = 131072, .sequence = {.ulysses = 8}}}, 5);
  report.runs[1].search->usual->plan.pp_degree = 4;
  const auto rows = search_rows(report);
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[1].size() == rows[0].size());
  // 4.1 / 4 = 1.025 and 5 / 4 = 1.25.
  CHECK(rows[1] == std::vector<std::string>{"hbp", "16K at SP 2, GC 8; 128K at SP 8, CP 2; ZeRO 1",
                                            "ffd: 64K at SP 1; ZeRO 3", "+2.5%", "128K at SP 8; PP 4, ZeRO 1",
                                            "+25.0%", "1,234", "34"});
  for (const std::string& page : {to_terminal(report, {.wide = true}), to_html(report)}) {
    for (const std::string& cell : rows[1]) CHECK(page.find(cell) != std::string::npos);
  }
}

TEST_CASE("plans that were not found have no cost, those of another job no percentage") {
  Report report = searched_report();
  report.runs[1].search->usual = example_plan({{.capacity_tokens = 131072}}, 3);
  report.runs[1].search->usual->trains_asked_job = false;
  const auto rows = search_rows(report);
  CHECK(rows[1][2] == "-");
  CHECK(rows[1][3] == "-");
  CHECK(rows[1][5] == "another job");
}

TEST_CASE("report.json has the counts of a search and its plans, null where there are none") {
  Report report = searched_report();
  const auto runs = nlohmann::json::parse(to_json(report))["runs"];
  CHECK(runs[0]["plan_search"].is_null());
  const auto& search = runs[1]["plan_search"];
  CHECK(search["n_candidates"] == 1234);
  CHECK(search["n_too_large"] == 200);
  CHECK(search["n_ruled_out"] == 1000);
  CHECK(search["n_simulated"] == 34);
  CHECK(search["tried_tokens"] == 4'000'000);
  CHECK(search["runner_up"].is_null());
  CHECK(search["chosen"]["gpu_days"] == 4);
  CHECK(search["chosen"]["trains_asked_job"] == true);
  const nlohmann::json long_group = {
      {"capacity_tokens", 131072}, {"sp_degree", 8}, {"cp_degree", 2}, {"gc_layers", 0}};
  CHECK(search["chosen"]["groups"][1] == long_group);
}
