// `packsim page`: one file of a sweep, of a recommendation, or of both, which loads nothing.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

using nlohmann::json;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

constexpr const char* kPageScenario = R"({
  "format": 1, "name": "page", "model": "llama3.1-8b", "profile": "deepspeed-ulysses-h100",
  "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
  "training": {"tokens_per_iteration": 524288, "zero_stage": 1},
  "lengths": {"mix": [{"source": "gsm8k.csv", "count": 3000}]},
  "packing": {"last_iteration": "repeat"}, "baseline": "isf",
  "strategies": [
    {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
    {"strategy": "ffd", "capacity_tokens": 65536, "sp_degree": 8}]})";

// What the scripts of the page read.
json points_of(const std::string& page) {
  const std::string opening = R"(<script type="application/json" id="planning">)";
  const std::size_t start = page.find(opening);
  REQUIRE(start != std::string::npos);
  const std::size_t begin = start + opening.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("a page has the points of the sweep, and what the recommendation depends on") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", kPageScenario);
  const ProgramRun made = run_shell(
      folder,
      "packsim sweep s.json --vary cluster.nodes=1,2 --out s.db --quiet &&"
      "packsim recommend s.json --gpus h100-sxm-80gb=2.5 --nodes 1,2 --deadline 100 --sensitivity "
      "--out answer --quiet &&"
      "packsim page s.db --out sweep.html && packsim page s.db --recommendation answer/recommendation.json "
      "--out both.html --quiet");
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(made.out == "sweep.html\n");
  const std::string sweep = read_text(folder / "sweep.html");
  CHECK(points_of(sweep)["n_points"] == 4);
  CHECK(points_of(sweep)["changes"].empty());
  CHECK(sweep.find("data-chart=\"tornado\"") == std::string::npos);
  const json both = points_of(read_text(folder / "both.html"));
  CHECK(both["n_points"] == 4);
  CHECK(!both["changes"].empty());
  // The page of the recommendation alone has its candidates, and its scenario's name.
  const std::string answer = read_text(folder / "answer/planning.html");
  CHECK(answer.find("<h1>page</h1>") != std::string::npos);
  CHECK(points_of(answer)["changes"] == both["changes"]);
}

TEST_CASE("a page does not take the place of what it is made of") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", kPageScenario);
  REQUIRE(
      run_shell(folder, "packsim sweep s.json --out s.db --quiet && ln -s s.db alias.db && cp s.db before.db")
          .exit_code == 0);
  for (const std::string out : {"s.db", "alias.db", "./s.db"}) {
    const ProgramRun refused = run_shell(folder, "packsim page s.db --out " + out);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err ==
          "packsim: " + out + ": expected a file that is no input, got one that the command reads\n");
  }
  CHECK(read_text(folder / "s.db") == read_text(folder / "before.db"));
}
