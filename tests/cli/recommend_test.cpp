// What `packsim recommend` says is what compare simulates, and fits the terminal.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "files/version.hpp"
#include "reports/text/numbers.hpp"
#include "tests/cli/program.hpp"
#include "tests/shipped_data.hpp"

using Catch::Contains;
using Catch::StartsWith;
using nlohmann::json;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

// A small job whose schedule fits a data set in the order of its file.
const char* const kSmallScenario = R"({"format": 1, "name": "small", "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 262144}, "lengths": {"mix": [{"source": "qmsum.csv"}], "shuffle": false},
    "packing": {"last_iteration": "shorten"}, "strategies": [
      {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 4},
      {"strategy": "ffd", "capacity_tokens": 65536, "sp_degree": 8}]})";

struct ScenarioFolder : TemporaryFolder {
  ScenarioFolder() { write_text(*this / "s.json", kSmallScenario); }
};

}  // namespace

TEST_CASE("what is recommended is what compare says of the scenario that is written") {
  const ScenarioFolder folder;
  const ProgramRun run = run_shell(
      folder,
      "packsim recommend s.json --gpus h100-sxm-80gb=2.5 --nodes 1,2 --deadline 100 --out answer --quiet");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.empty());
  const json answer = json::parse(read_text(folder / "answer/recommendation.json"));
  CHECK(answer["version"] == packsim::build_version());
  REQUIRE(answer["candidates"].size() == 4);
  const json best = answer["candidates"][answer["best"].get<std::size_t>()];
  CHECK(best["standing"] == "meets");
  CHECK(answer["ranking"][0] == answer["best"]);
  const ProgramRun compare = run_shell(folder, "packsim compare answer/scenario.json --json --quiet --out r");
  INFO(compare.err);
  REQUIRE(compare.exit_code == 0);
  const json runs = json::parse(compare.out)["runs"];
  for (const json& simulated : runs) {
    if (simulated["name"] != best["strategy"]) continue;
    CHECK(simulated["gpu_days"] == best["times"]["gpu_days"]);
    CHECK(simulated["gpu_days_high"] == best["times"]["gpu_days_high"]);
  }
  // The settings are of the best run, for each trainer that can run it; the README has a row for every
  // trainer.
  const json deepspeed = json::parse(read_text(folder / "answer/settings/deepspeed/deepspeed.json"));
  CHECK(deepspeed["zero_optimization"]["stage"] == best["zero_stage"]);
  CHECK(json::parse(read_text(folder / "answer/settings/any/plan.json")) == best["plan"]);
  const std::string readme = read_text(folder / "answer/settings/README.md");
  CHECK_THAT(readme, Contains("deepspeed/deepspeed.json") && Contains("| TRL's SFTTrainer |"));
  // The schedule is that of the recommended run, to the last bit.
  const ProgramRun replay = run_shell(
      folder, "packsim run answer/scenario.json --plan answer/schedule.plan --json --quiet --out r");
  INFO(replay.err);
  REQUIRE(replay.exit_code == 0);
  CHECK(json::parse(replay.out)["runs"][0]["gpu_days"] == best["times"]["gpu_days"]);
}

TEST_CASE("the scenario's own cluster is recommended with all that the scenario says of it", "[plain]") {
  const ScenarioFolder folder;
  json slow = json::parse(read_text(packsim_test::source_dir() + "/models/clusters/h100-sxm-80gb.json"));
  slow["network"]["nic_bytes_per_s"] = 1e9;
  write_text(folder / "same_name.json", slow.dump());
  slow["name"] = "ours";
  write_text(folder / "own_name.json", slow.dump());
  const std::vector<json> clusters = {
      {{"type", "same_name.json"}, {"nodes", 2}},
      {{"type", "own_name.json"}, {"nodes", 2}},
      {{"type", "h100-sxm-80gb"}, {"nodes", 2}, {"nic_bytes_per_s", 1e9}, {"gpu_hour_price", 3}}};
  double gpu_days = 0;
  for (const json& cluster : clusters) {
    CAPTURE(cluster.dump());
    json scenario = json::parse(kSmallScenario);
    scenario["cluster"] = cluster;
    write_text(folder / "s.json", scenario.dump());
    const ProgramRun compare = run_shell(folder, "packsim compare s.json --json --quiet --out r");
    const ProgramRun run =
        run_shell(folder, "packsim recommend s.json --nodes 2 --deadline 100 --out answer --quiet");
    INFO(compare.err + run.err);
    REQUIRE(run.exit_code == 0);
    const json answer = json::parse(read_text(folder / "answer/recommendation.json"));
    const json best = answer["candidates"][answer["best"].get<std::size_t>()];
    const json runs = json::parse(compare.out)["runs"];
    for (const json& simulated : runs) {
      if (simulated["name"] == best["strategy"]) CHECK(simulated["gpu_days"] == best["times"]["gpu_days"]);
    }
    // What is written for the trainer is of that cluster too.
    const ProgramRun written =
        run_shell(folder, "packsim compare answer/scenario.json --json --quiet --out r2");
    INFO(written.err);
    CHECK(json::parse(written.out)["runs"] == runs);
    // The three say the same network.
    if (gpu_days > 0) CHECK(best["times"]["gpu_days"] == gpu_days);
    gpu_days = best["times"]["gpu_days"];
  }
}

TEST_CASE("a deadline counts what a run takes beside its steps, and sweep and page count it too") {
  const ScenarioFolder folder;
  const auto answer = [&](const std::string& startup) {
    const ProgramRun run = run_shell(
        folder,
        "packsim recommend s.json --gpus h100-sxm-80gb=2.5 --nodes 1 --deadline 9h --out answer --quiet "
        "--force --set beside_steps.startup_s=" +
            startup);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return json::parse(read_text(folder / "answer/recommendation.json"));
  };
  const json short_start = answer("3600");
  REQUIRE(short_start["best"].is_number());
  const json best = short_start["candidates"][short_start["best"].get<std::size_t>()];
  const ProgramRun compare = run_shell(folder, "packsim compare answer/scenario.json --json --quiet --out r");
  const json runs = json::parse(compare.out)["runs"];
  for (const json& run : runs) {
    if (run["name"] != best["strategy"]) continue;
    CHECK(run["startup_s"] == 3600);
    CHECK(run["whole_wall_hours"] == run["wall_hours"].get<double>() + 1);
    CHECK(best["times"]["wall_hours"] == run["whole_wall_hours"]);
    CHECK(best["times"]["gpu_days"] == run["whole_gpu_days"]);
    CHECK(best["times"]["gpu_days_high"].get<double>() == Approx(run["whole_gpu_days_high"].get<double>()));
    CHECK(best["times"]["money"].get<double>() == Approx(run["cost"].get<double>()));
  }
  // One hour of 8 GPUs at 2.5 is 20: the cheapest point is as dear as the answer.
  const ProgramRun sweep =
      run_shell(folder, "packsim sweep answer/scenario.json --vary cluster.nodes=1 --vary strategy=" +
                            best["strategy"].get<std::string>() + " --out s.db");
  INFO(sweep.err);
  REQUIRE(sweep.exit_code == 0);
  CHECK_THAT(sweep.out, Contains(packsim::formats_detail::quantity(best["times"]["money"].get<double>())));
  CHECK(answer("36000")["best"].is_null());  // ten hours
}

const char* const kPrices =
    R"({"format": 1, "source": "a quote", "date": "2026-11-01", "currency": "EUR", "prices": [
    {"cluster": "H100", "gpu_hour_price": 2.5, "term": "on demand"},
    {"cluster": "H100", "gpu_hour_price": 1, "term": "spot", "spot_mtbf_hours": 12}]})";

const std::string kFailures =
    R"('failures={"checkpoint": {"write_s": 20}, "restart": {"detection_s": 60, "reschedule_s": 300, "load_s": 60},
       "mtbf_hours": 100000, "unit": "gpu"}')";

TEST_CASE("a spot price counts its interruptions, and is refused where a job does not say how it restarts") {
  const ScenarioFolder folder;
  write_text(folder / "prices.json", kPrices);
  const std::string question = "packsim recommend s.json --prices prices.json --nodes 1 --deadline 10h ";
  const ProgramRun refused = run_shell(folder, question);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("/failures/checkpoint: expected object, got nothing"));
  const ProgramRun run = run_shell(folder, question + "--json --set " + kFailures);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const json answer = json::parse(run.out);
  CHECK(answer["question"]["price_source"] == "a quote, 2026-11-01");
  CHECK(answer["question"]["gpus"][1]["spot_mtbf_hours"] == 12);
  const json best = answer["candidates"][answer["best"].get<std::size_t>()];
  CHECK(best["term"] == "spot");
  CHECK(best["chance_to_meet"].get<double>() > 0.99);
  // Interruptions cost time on spot nodes, though less than the price saves.
  const auto hours_of = [&](const std::string& term) {
    for (const json& candidate : answer["candidates"]) {
      if (candidate["term"] == term && candidate["strategy"] == best["strategy"])
        return candidate["times"]["wall_hours"].get<double>();
    }
    return 0.0;
  };
  CHECK(hours_of("spot") > hours_of("on demand"));
  CHECK(hours_of("on demand") > 0);
  const ProgramRun text = run_shell(folder, "COLUMNS=200 " + question + "--set " + kFailures);
  CHECK_THAT(text.out, Contains("h100-sxm-80gb (spot)") &&
                           Contains("h100-sxm-80gb (on demand), 2.5 a GPU-hour") && Contains(" EUR") &&
                           Contains("Prices: a quote, 2026-11-01") &&
                           Contains("Chance to meet them: over 99%."));
}

TEST_CASE("a bad price list is refused with every mistake") {
  const ScenarioFolder folder;
  write_text(
      folder / "prices.json",
      R"({"format": 1, "date": "2026-11-01", "prices": [{"cluster": "H100", "gpu_hour_price": 0, "terms": "x"}]})");
  const ProgramRun run =
      run_shell(folder, "packsim recommend s.json --prices prices.json --nodes 1 --deadline 10h");
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err,
             Contains("prices.json: /source: expected string of at least one character, got nothing") &&
                 Contains("/prices/0/gpu_hour_price: expected number > 0, got 0") &&
                 Contains("/prices/0/terms: expected no such key"));
  write_text(folder / "prices.json", kPrices);
  const ProgramRun budget =
      run_shell(folder, "packsim recommend s.json --prices prices.json --nodes 1 --budget '9 USD'");
  CHECK(budget.exit_code == 2);
  CHECK_THAT(budget.err,
             Contains("--budget: expected EUR, in which the prices of \"prices.json\" are, got USD"));
}

TEST_CASE("where no cluster meets the limits, the likeliest is said with its chance") {
  const ScenarioFolder folder;
  const ProgramRun first = run_shell(
      folder, "packsim recommend s.json --gpus h100-sxm-80gb --nodes 1 --deadline 100 --quiet --out answer");
  REQUIRE(first.exit_code == 0);
  const json answer = json::parse(read_text(folder / "answer/recommendation.json"));
  const double hours =
      answer["candidates"][answer["best"].get<std::size_t>()]["times"]["wall_hours"].get<double>();
  const ProgramRun missed = run_shell(
      folder, "packsim recommend s.json --gpus h100-sxm-80gb --nodes 1 --deadline " + std::to_string(hours));
  // A deadline in the middle of the interval.
  CHECK_THAT(missed.out, Contains("none of these") && Contains("has a chance of 50%"));
}

TEST_CASE("a time limit ends the search with what is known by then") {
  const ScenarioFolder folder;
  const ProgramRun run = run_shell(
      folder, "packsim recommend s.json --nodes 1,2 --deadline 100 --time-limit 0.000001s --out answer");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, StartsWith("The cheapest so far that takes") && Contains("confidence: not known.") &&
                          Contains("Not finished: 2 of 2 clusters were not simulated.") &&
                          Contains("8 to 16") && Contains("no time was left") &&
                          Contains("The same command with --resume goes on from this answer."));
  const json answer = json::parse(read_text(folder / "answer/recommendation.json"));
  CHECK(answer["is_complete"] == false);
  CHECK(answer["candidates"][0]["standing"] == "not_reached");
  CHECK_THAT(read_text(folder / "answer/planning.html"),
             Contains("Not finished: 2 points were not reached in the time. No point fits"));
  CHECK_FALSE(std::filesystem::exists(folder / "answer/scenario.json"));
  const ProgramRun wrong = run_shell(folder, "packsim recommend s.json --deadline 100 --time-limit soon");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, Contains("--time-limit: expected hours above 0, or a duration such as 12h"));
}

TEST_CASE("--resume takes what an earlier answer has of the same job") {
  const ScenarioFolder folder;
  const auto answer = [&](const std::string& options) {
    return run_shell(folder,
                     "packsim recommend s.json --gpus h100-sxm-80gb=2.5 --nodes 1,2 --out answer " + options);
  };
  REQUIRE(answer("--deadline 100").exit_code == 0);
  const json whole = json::parse(read_text(folder / "answer/recommendation.json"));
  const ProgramRun again = answer("--deadline 100 --resume");
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.err, Contains("4 of 4 candidates are those of the earlier answer in answer."));
  CHECK(json::parse(read_text(folder / "answer/recommendation.json")) == whole);

  SECTION("for another deadline, too") {
    const double best_hours = whole["candidates"][whole["best"].get<std::size_t>()]["times"]["wall_hours"];
    const ProgramRun sooner = answer("--deadline " + std::to_string(best_hours / 100) + " --all --resume");
    CHECK_THAT(sooner.err, Contains("4 of 4 candidates"));
    const json missed = json::parse(read_text(folder / "answer/recommendation.json"));
    CHECK(missed["best"].is_null());
    for (const json& candidate : missed["candidates"]) CHECK(candidate["standing"] == "misses");
  }
  SECTION("but not of another job") {
    CHECK_THAT(answer("--deadline 100 --resume --set training.tokens_per_iteration=131072").err,
               Contains("0 of 4 candidates"));
  }
  SECTION("and says what it needs") {
    const ProgramRun nowhere = run_shell(folder, "packsim recommend s.json --deadline 100 --resume");
    CHECK(nowhere.exit_code == 2);
    CHECK_THAT(nowhere.err, Contains("--resume: expected --out, the folder of the earlier answer"));
    const ProgramRun none =
        run_shell(folder, "packsim recommend s.json --deadline 100 --resume --out nothing");
    CHECK(none.exit_code == 3);
    CHECK_THAT(none.err, Contains("nothing/recommendation.json"));
    write_text(
        folder / "answer/recommendation.json",
        R"({"format": 1, "candidates": [{"standing": "perfect"}, {"standing": "meets", "times": {"gpu_days": "x"}}]})");
    const ProgramRun damaged = answer("--deadline 100 --resume");
    CHECK(damaged.exit_code == 2);
    CHECK_THAT(damaged.err, Contains("answer/recommendation.json: /candidates/0/standing: expected one of") &&
                                Contains("/candidates/1/times/gpu_days: expected"));
  }
}

TEST_CASE("a scenario beside its own trainer's file finds it from the answer too") {
  const ScenarioFolder folder;
  write_text(folder / "mine.json", read_text(packsim_test::kData.root + "/models/trainers/trl.json"));
  const ProgramRun run = run_shell(
      folder,
      "packsim recommend s.json --set trainer=./mine.json --nodes 1 --deadline 100 --out answer --quiet");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(json::parse(read_text(folder / "answer/scenario.json"))["trainer"] == "../mine.json");
  CHECK(run_shell(folder, "packsim check answer/scenario.json").exit_code == 0);
  CHECK_FALSE(read_text(folder / "answer/settings/trl.yaml").empty());
}

TEST_CASE("the answer fits the terminal, and says which GPUs and why not the others", "[plain]") {
  const ScenarioFolder folder;
  for (const int columns : {80, 120, 200}) {
    const ProgramRun run = run_shell(folder, "COLUMNS=" + std::to_string(columns) +
                                                 " packsim recommend s.json --gpus h100-sxm-80gb=2.5 "
                                                 "h200-sxm-141gb=30 --nodes 1,2 --deadline 0.08");
    INFO(run.out + run.err);
    REQUIRE(run.exit_code == 0);
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);)
      CHECK(line.size() <= static_cast<std::size_t>(columns));
    CHECK_THAT(run.out, Contains("The cheapest that takes at most 0.0800 h"));
    CHECK_THAT(run.out, Contains("Fewest GPUs"));
    CHECK_THAT(run.out, Contains("h200-sxm-141gb, 30 a GPU-hour"));
    CHECK_THAT(run.out, Contains("Doubts: "));
    CHECK_THAT(run.out, !Contains("if one thing were otherwise"));
  }
}

TEST_CASE("where no cluster meets the limits, the answer says what rules out each") {
  const ScenarioFolder folder;
  const ProgramRun run =
      run_shell(folder, "packsim recommend s.json --nodes 1,2 --deadline 0.0001 --out answer");
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("none of these"));
  CHECK_THAT(run.out, Contains("with any schedule"));
  CHECK(json::parse(read_text(folder / "answer/recommendation.json"))["best"].is_null());
}

TEST_CASE("a question that cannot be answered is refused with what is missing") {
  const ScenarioFolder folder;
  const auto error_of = [&](const std::string& arguments) {
    const ProgramRun run = run_shell(folder, "packsim recommend s.json " + arguments);
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK_THAT(error_of(""), Contains("expected at least one of --deadline, --budget and --max-gpus"));
  CHECK_THAT(error_of("--budget 5"), Contains("budget: expected prices of the GPUs as well"));
  CHECK_THAT(error_of("--deadline 5 --gpus h100-sxm-80gb=x"),
             Contains("--gpus: expected TYPE, 8xTYPE or TYPE=PRICE"));
  CHECK_THAT(error_of("--deadline 5 --gpus h100-sxm-80gb=-1"), Contains("expected a price above 0, got -1"));
  CHECK_THAT(error_of("--deadline 5 --gpus h300=1"), Contains("h300"));
  CHECK_THAT(error_of("--max-gpus 4"), Contains("expected at least as many GPUs as a node has"));
  CHECK_THAT(error_of("--deadline 5 --nodes 0"), Contains("expected integers in 1..65536, got 0"));
}
