#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/read_published_steps.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"
#include "validation/gate.hpp"
#include "validation/stack_fit.hpp"
#include "validation/step_simulation.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"
#include "validation/validation_text.hpp"

using namespace packsim;
using Catch::Matchers::Contains;

namespace {

ValidationRow row(const std::string& name, double error, std::optional<double> tolerance = {}) {
  return {.name = name,
          .published = 1,
          .predicted = 1 + error,
          .unit = "s",
          .error = error,
          .tolerance = tolerance,
          .outcome = outcome_of(error, tolerance)};
}

ValidationRow refused(const std::string& name) {
  ValidationRow row{.name = name, .published = 1, .unit = "s", .outcome = Outcome::refused};
  row.predicted = row.error;
  return row;
}

ValidationSet set_of(const std::vector<ValidationRow>& rows) {
  return {.name = "set", .title = "A set", .about = "made up", .rows = rows, .bounds = {}};
}

GateFindings against(const std::vector<ValidationRow>& before, const std::vector<ValidationRow>& now) {
  const std::vector<ValidationSet> old = {set_of(before)};
  const std::vector<ValidationSet> current = {set_of(now)};
  return check_gate(gate_json(old), current);
}

DataPaths shipped() {
  return packsim_test::kData;
}

}  // namespace

TEST_CASE("Errors over rows leave out those that are not modelled") {
  const std::vector<ValidationRow> rows = {row("a", -0.4), row("b", 0.1), refused("c"), row("d", 0.2),
                                           row("e", 0.3)};
  CHECK(mean_error(rows) == Approx(0.25));  // (.4 + .1 + .2 + .3) / 4
  CHECK(error_quantile(rows, 0.5) == Approx(0.2));
  CHECK(error_quantile(rows, 0.9) == Approx(0.4));
  CHECK(worst_error(rows) == Approx(0.4));
  CHECK(mean_error({}) == 0);
}

TEST_CASE("An error at its tolerance is met, one beyond is missed, one without is reported") {
  CHECK(outcome_of(-0.04, 0.04) == Outcome::met);
  CHECK(outcome_of(0.0401, 0.04) == Outcome::missed);
  CHECK(outcome_of(0.9, std::nullopt) == Outcome::reported);
}

TEST_CASE("The gate fails where an error has grown by more than its slack") {
  CHECK(against({row("a", 0.010)}, {row("a", -0.0119)}).failures.empty());
  const GateFindings findings = against({row("a", 0.010)}, {row("a", -0.0121)});
  REQUIRE(findings.failures.size() == 1);
  CHECK_THAT(findings.failures.front(), Contains("set: a: error 0.0121, was 0.01"));
}

TEST_CASE("The gate fails where a target is no longer met, however little the error has grown") {
  CHECK(against({row("a", 0.0399, 0.04)}, {row("a", 0.0401, 0.04)}).failures.size() == 1);
}

TEST_CASE("The gate fails where a row is no longer modelled, is new, or has gone") {
  CHECK(against({row("a", 0.1)}, {refused("a")}).failures.size() == 1);
  CHECK(against({row("a", 0.1)}, {row("a", 0.1), row("b", 0)}).failures.size() == 1);
  CHECK(against({row("a", 0.1), row("b", 0)}, {row("a", 0.1)}).failures.size() == 1);
}

TEST_CASE("The gate says which errors have shrunk") {
  const GateFindings findings =
      against({row("a", 0.1, 0.04), row("b", 0.1)}, {row("a", 0.03, 0.04), row("b", 0.099)});
  CHECK(findings.failures.empty());
  REQUIRE(findings.gains.size() == 1);
  CHECK_THAT(findings.gains.front(), Contains("set: a"));
}

TEST_CASE("The gate holds bounds on rows together") {
  ValidationSet set = set_of({row("a", 0.1)});
  set.bounds = {{"mean error", 0.1, 0.11}};
  const std::string gate = gate_json(std::vector{set});
  CHECK(check_gate(gate, std::vector{set}).failures.empty());
  set.bounds.front().value = 0.12;
  CHECK(check_gate(gate, std::vector{set}).failures.size() == 1);
}

TEST_CASE("What is no gate is refused") {
  CHECK_THROWS_AS(check_gate("[", std::vector{set_of({row("a", 0.1)})}), std::invalid_argument);
  CHECK_THROWS_AS(check_gate(R"({"set": {"a": 3}})", std::vector{set_of({row("a", 0.1)})}),
                  std::invalid_argument);
}

TEST_CASE("Generated tables replace what is between their marked lines, and nothing else") {
  ValidationSet set = set_of({row("a", 0.5)});
  set.name = "hbp-steps";
  const std::vector<ValidationSet> sets = {set};
  const auto part = [](const std::string& name, const std::string& text) {
    return kTablesBegin + name + " -->\n" + text + kTablesEnd + "\n";
  };
  const std::string others = part("hbp-memory", "kept\n") + "between\n" + part("summary", "kept\n");
  const std::string fresh = with_tables("before\n" + part("hbp-steps", "old\n") + others, sets);
  CHECK(fresh == "before\n" + part("hbp-steps", "\n" + set_markdown(set) + "\n") + others);
  CHECK(with_tables(fresh, sets) == fresh);
  CHECK(with_tables("no marks", sets) == "no marks");
  CHECK_THROWS_WITH(with_tables(part("hbp-stepz", ""), sets),
                    Contains("expected summary or one of hbp-steps,"));
  CHECK_THROWS_WITH(with_tables(std::string(kTablesBegin) + "hbp-steps -->\n", sets),
                    Contains("expected the line <!-- packsim validate: end -->"));
  CHECK_THROWS_WITH(with_tables(kTablesBegin + ("hbp-steps -->\n" + others), sets),
                    Contains("expected the line <!-- packsim validate: end -->"));
}

TEST_CASE("JSON has null for what is not modelled") {
  const auto written =
      nlohmann::json::parse(validation_json(std::vector{set_of({refused("a"), row("b", 0.5)})}));
  CHECK(written["sets"][0]["rows"][0]["error"].is_null());
  CHECK(written["sets"][0]["rows"][0]["outcome"] == "not modelled");
  CHECK(written["sets"][0]["rows"][1]["predicted"] == 1.5);
}

TEST_CASE("Published numbers outside our intervals are marked and counted") {
  ValidationRow inside = row("a", 0.1);
  inside.published = 10;
  inside.interval = Interval{9, 10};
  ValidationRow outside = inside;
  outside.interval = Interval{10.5, 12};
  const ValidationSet set = set_of({inside, outside, row("c", 0.1)});
  CHECK(set_summary(set).find("; 1 of 2 in the 90 % interval") != std::string::npos);
  CHECK(set_summary(set_of({row("c", 0.1)})).find("interval") == std::string::npos);
  const std::string text = set_markdown(set);
  CHECK(text.find("| 9 to 10 |") != std::string::npos);
  CHECK(text.find("| 10.5 to 12, outside |") != std::string::npos);
}

TEST_CASE("A set of another name is refused with the known ones") {
  const std::vector<std::string> names = {"hbp-stepz"};
  CHECK_THROWS_WITH(validate(names, shipped()), Contains("hbp-steps, hbp-steps-left-out"));
}

TEST_CASE("A simulated step's time is that of its causes and its idle time") {
  const PublishedSteps all =
      load_published_steps(packsim_test::source_dir() + "/validation/published_steps.json", shipped());
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public", shipped());
  for (const PublishedStep& step : all.steps) {
    if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) {
      CHECK_THROWS_AS(simulate_step(step, hardware, {}), std::invalid_argument);
      continue;
    }
    const SimulatedStep simulated = simulate_step(step, hardware, {});
    double sum_s = simulated.idle_s;
    for (const double cause_s : simulated.by_cause_s) sum_s += cause_s;
    CAPTURE(step.id);
    CHECK(sum_s == Approx(simulated.step_s));
  }
}

TEST_CASE("A stack's factors are found again in steps that were made with them") {
  ClusterHardware hardware(load_hardware_profile("h100-sxm-public-fa2", shipped()));
  std::vector<PublishedStep> steps =
      steps_of(load_all_steps(shipped()), step_stacks().front().profiles.front(), false);
  std::erase_if(steps, [](const PublishedStep& step) { return step.model.name != "mpt-1b"; });
  REQUIRE(steps.size() > 10);
  FrameworkFactors truth;
  truth.linear_factor = 1.3;
  truth.attention_factor = 1.7;
  for (PublishedStep& step : steps)
    step.step_time_s = simulate_step(step, hardware.on(step.cluster), truth).step_s;
  const StackFactors found = fit_stack(steps, hardware, true);
  CHECK(found.linear_factor == Approx(1.3).epsilon(1e-4));
  CHECK(found.attention_factor == Approx(1.7).epsilon(1e-4));
  CHECK(found.rms < 1e-5);
}

TEST_CASE("packsim validate prints sets, writes tables and a gate, and fails at a gate that was better") {
  const packsim_test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "docs/pages");
  for (const char* name : {"hbp-memory", "steps"})
    packsim_test::write_text(folder / ("docs/pages/" + std::string(name) + ".md"),
                             std::string("# Doc\n") + kTablesBegin + name + " -->\n" + kTablesEnd + "\n");
  packsim_test::write_text(folder / "docs/plain.md", "no tables\n");
  const packsim_test::ProgramRun first = packsim_test::run_shell(
      folder, "packsim validate --set hbp-memory --markdown docs --write-gate gate.json");
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.out, Contains("hbp-memory: 19 rows, 19 met"));
  CHECK_THAT(packsim_test::read_text(folder / "docs/pages/hbp-memory.md"),
             Contains("| table 4, 32K SP 2 | layers |"));
  CHECK(packsim_test::read_text(folder / "docs/pages/steps.md").find('|') == std::string::npos);
  const packsim_test::ProgramRun unmarked =
      packsim_test::run_shell(folder, "packsim validate --set hbp-memory --markdown docs/plain.md");
  CHECK(unmarked.exit_code == 2);
  CHECK_THAT(unmarked.err, Contains("docs/plain.md: expected a line that starts with"));
  CHECK(packsim_test::run_shell(folder, "packsim validate --set hbp-memory --gate gate.json").exit_code == 0);

  std::string gate = packsim_test::read_text(folder / "gate.json");
  const std::string key = "\"table 4, 64K SP 8\": {\"error\":1.0";
  REQUIRE(gate.find(key) != std::string::npos);
  gate.replace(gate.find(key), key.size(), "\"table 4, 64K SP 8\": {\"error\":0.0");
  packsim_test::write_text(folder / "gate.json", gate);
  const packsim_test::ProgramRun worse =
      packsim_test::run_shell(folder, "packsim validate --set hbp-memory --gate gate.json");
  CHECK(worse.exit_code == 1);
  CHECK_THAT(worse.err, Contains("table 4, 64K SP 8: error 1, was 0"));

  CHECK(packsim_test::run_shell(folder, "packsim validate --set nothing").exit_code == 2);
  CHECK(packsim_test::run_shell(folder, "packsim validate --set hbp-memory --gate absent.json").exit_code ==
        3);
}
