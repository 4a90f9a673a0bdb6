#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "files/version.hpp"
#include "program.hpp"
#include "tests/paths.hpp"

using namespace packsim_test;
using Catch::Contains;
using nlohmann::json;
using packsim::build_version;

namespace {

// A job that takes milliseconds: eight GPUs, two strategies.
const std::string kScenario = R"({
  "format": 1, "name": "small", "description": "a small job", "seed": 3,
  "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
  "training": {"tokens_per_iteration": 131072, "epochs": 2, "zero_stage": 3},
  "lengths": {"mix": [{"source": "qmsum.csv"}, {"source": "gsm8k.csv", "count": 500}]},
  "packing": {"over_long": "truncate"},
  "strategies": [
    {"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4},
    {"strategy": "hbp", "groups": [{"capacity_tokens": 8192, "sp_degree": 1},
                                   {"capacity_tokens": 32768, "sp_degree": 4}]},
    {"name": "too-big", "strategy": "bfd", "capacity_tokens": 131072, "sp_degree": 1}
  ]
})";

json without_timings(const std::string& text) {
  json report = json::parse(text);
  report.erase("timings");
  report["manifest"].erase("command");
  return report;
}

}  // namespace

TEST_CASE("compare prints the table and writes three reports") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun run = run_shell(folder, "packsim compare small.json --out report");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  for (const char* text : {"isf", "hbp", "GPU-days", "ABR", "does not fit", "report/report.html"}) {
    CHECK(run.out.find(text) != std::string::npos);
  }
  CHECK(without_progress(run.err) == "");
  CHECK(json::parse(read_text(folder / "report/report.json"))["runs"].size() == 3);
  CHECK(read_text(folder / "report/report.csv").find("\nhbp,") != std::string::npos);
  CHECK(read_text(folder / "report/report.html").find("vegaEmbed") != std::string::npos);
}

TEST_CASE("Packs that last iterations leave out for good need no price") {
  const TemporaryFolder folder;
  std::string scenario = kScenario;
  scenario.replace(scenario.find("\"epochs\": 2"), 11, "\"epochs\": 1");
  scenario.replace(scenario.find("\"truncate\""), 10, "\"truncate\", \"last_iteration\": \"drop\"");
  write_text(folder / "small.json", scenario);
  const ProgramRun run = run_shell(folder, "packsim compare small.json --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  CHECK(report["runs"][0]["dropped_tokens"] > 0);
  CHECK(report["runs"][0]["gpu_days"] > 0);
}

TEST_CASE("reports, schedules and pages say of which sources the program is, as --version does") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const std::string printed = run_shell(folder, "packsim --version").out;
  const std::regex version(
      R"(packsim (\d+\.\d+\.\d+\+(g[0-9a-f]{12,}(\.dirty\.[0-9a-f]{8})?|sources\.[0-9a-f]{12}))\n)");
  std::smatch match;
  REQUIRE(std::regex_match(printed, match, version));
  CHECK(match[1] == build_version());
  const ProgramRun run =
      run_shell(folder, "packsim run small.json --strategy isf --out r --write-plan s.plan");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(json::parse(read_text(folder / "r/report.json"))["manifest"]["version"] == build_version());
  CHECK_THAT(read_text(folder / "r/report.html"), Contains(build_version()));
  CHECK_THAT(run_shell(folder, "packsim plan s.plan").out,
             Contains("made by packsim " + match[1].str() + " "));
}

TEST_CASE("report.json keeps its shape") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun run = run_shell(folder, "packsim compare small.json --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  CHECK(report["format"] == 3);
  for (const char* key : {"version", "scenario_hash", "profile_hash", "seed", "command"}) {
    CHECK(report["manifest"].contains(key));
  }
  for (const json& one : report["runs"]) {
    for (const char* key : {"name", "strategy", "packs", "iterations", "abr", "abr_slots", "cr", "dbr", "pr",
                            "ave_t_tokens", "step_mean_s", "step_p99_s", "gpu_days", "wall_hours", "speedup",
                            "dropped_tokens", "truncated_tokens", "padded_tokens", "feasible"}) {
      CHECK(one.contains(key));
    }
  }
  CHECK(report["runs"][0]["speedup"] == 1.0);
  CHECK(report["runs"][2]["feasible"] == false);
  CHECK(report["runs"][2]["gpu_days"].is_null());
}

TEST_CASE("The same scenario gives the same report, run again, with two threads, and strategy by strategy",
          "[threads]") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun once = run_shell(folder, "packsim compare small.json --json");
  const ProgramRun again = run_shell(folder, "packsim compare small.json --json");
  const ProgramRun threads = run_shell(folder, "packsim compare small.json --json --threads 2");
  REQUIRE(once.exit_code == 0);
  CHECK(without_timings(once.out).dump() == without_timings(again.out).dump());
  CHECK(without_timings(once.out).dump() == without_timings(threads.out).dump());

  const ProgramRun one = run_shell(folder, "packsim run small.json --strategy hbp --json");
  REQUIRE(one.exit_code == 0);
  json alone = without_timings(one.out)["runs"][0];
  json among = without_timings(once.out)["runs"][1];
  CHECK(alone["speedup"] == 1.0);
  // The other strategies are in the bound's search space: their iterations' tokens, and their degrees.
  for (const char* key :
       {"speedup", "speedup_low", "speedup_high", "bound_gpu_days", "above_bound_fraction"}) {
    alone.erase(key);
    among.erase(key);
  }
  CHECK(alone == among);
}

TEST_CASE("Both levels of detail agree where nothing contends, and differ where something does", "[plain]") {
  const TemporaryFolder folder;
  const auto gpu_days = [&](const std::string& scenario, const std::string& level) {
    write_text(folder / "small.json", scenario);
    const ProgramRun run = run_shell(folder, "packsim compare small.json --json --level " + level);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    const json report = json::parse(run.out);
    CHECK(report["manifest"]["level"] == level);
    return std::pair(report["runs"][0]["gpu_days"].get<double>(),
                     report["runs"][1]["gpu_days"].get<double>());
  };
  // Inside a node every GPU has its own links.
  const auto step = gpu_days(kScenario, "step");
  const auto op = gpu_days(kScenario, "op");
  CHECK(op.first == Approx(step.first).epsilon(1e-9));
  CHECK(op.second == Approx(step.second).epsilon(1e-9));
  // Four nodes with one network card each: all-to-alls between nodes beside gathered weights.
  std::string cluster = read_text(packsim_test::source_dir() + "/models/clusters/h100-sxm-80gb.json");
  cluster.replace(cluster.find("\"nics_per_node\": 8"), 18, "\"nics_per_node\": 1");
  write_text(folder / "slim.json", cluster);
  std::string shared = kScenario;
  const auto replace = [&](const std::string& what, const std::string& by) {
    REQUIRE(shared.find(what) != std::string::npos);
    shared.replace(shared.find(what), what.size(), by);
  };
  replace("h100-sxm-80gb", "slim.json");
  replace(R"("nodes": 1})", R"("nodes": 4}, "parallelism": {"overlaps_states": true})");
  replace(R"("capacity_tokens": 32768, "sp_degree": 4})", R"("capacity_tokens": 65536, "sp_degree": 16})");
  CHECK(gpu_days(shared, "op").first > 1.001 * gpu_days(shared, "step").first);
}

TEST_CASE("trace writes the timeline of one step, whose spans on a stream never cross") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun run = run_shell(folder, "packsim trace small.json --strategy hbp --out t.json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("t.json") != std::string::npos);
  const json trace = json::parse(read_text(folder / "t.json"));
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    tracks[{event["pid"], event["tid"]}].emplace_back(event["ts"],
                                                      event["ts"].get<double>() + event["dur"].get<double>());
  }
  CHECK(tracks.size() == 6);  // two ranks with SP 4: computation, all-to-alls, weights
  for (auto& [track, spans] : tracks) {
    // By start, the longer one first: each lies in the one that is open, or behind it.
    std::ranges::sort(spans, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open_until;
    for (const auto& [start, end] : spans) {
      while (!open_until.empty() && open_until.back() <= start + 1e-6) open_until.pop_back();
      if (!open_until.empty()) REQUIRE(end <= open_until.back() + 1e-6);
      open_until.push_back(end);
    }
  }

  const auto mistake = [&](const std::string& arguments, const std::string& text) {
    const ProgramRun refused = run_shell(folder, "packsim trace small.json " + arguments);
    CHECK(refused.exit_code == 2);
    CAPTURE(refused.err);
    CHECK(refused.err.find(text) != std::string::npos);
  };
  mistake("--strategy hbp --iteration 99999", "iteration: expected 0..");
  mistake("--strategy hbp --iteration -1", "got \"-1\"");
  mistake("--strategy hbp --iteration fastest", "got \"fastest\"");
  mistake("--strategy nobody",
          "packsim: strategy: expected a strategy of small.json, one of isf, hbp, too-big");
  mistake("--strategy too-big", "small.json: strategy too-big: expected a plan that fits in GPU memory");
  CHECK(run_shell(folder, "packsim trace small.json --strategy hbp --out /dev/null/t.json").exit_code == 3);
}

TEST_CASE("Another hardware profile than the factors' own widens the interval and is warned of") {
  const TemporaryFolder folder;
  const auto report = [&](const std::string& keys) {
    std::string scenario = kScenario;
    scenario.replace(scenario.find("\"training\""), 0, keys);
    write_text(folder / "small.json", scenario);
    const ProgramRun run = run_shell(folder, "packsim compare small.json --json");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return json::parse(run.out);
  };
  const auto spread = [](const json& of) {
    return of["runs"][0]["gpu_days_high"].get<double>() / of["runs"][0]["gpu_days_low"].get<double>();
  };
  const json own = report("");
  const json same = report(R"("hardware": "h100-sxm-public-fa2", )");
  const json other = report(R"("hardware": "h200-sxm-public", )");
  CHECK(spread(same) == spread(own));
  CHECK(spread(other) > spread(own));
  const std::string warnings = other["manifest"]["warnings"].dump();
  CHECK(
      warnings.find("were measured on NVIDIA H200 and are scaled to NVIDIA H100 80GB HBM3 by the GPUs' data "
                    "sheets; the others were measured on it") != std::string::npos);
  CHECK(warnings.find("was fitted on hardware profile h100-sxm-public-fa2") != std::string::npos);
  CHECK(own["manifest"]["warnings"].dump().find("on hardware profile") == std::string::npos);
}

TEST_CASE("A QLoRA profile that prices full fine-tuning is warned of, and no other profile") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& plan, const std::string& profile = "fsdp-qlora-rtx4090") {
    std::string scenario = kScenario;
    scenario.replace(scenario.find("deepspeed-ulysses-h100"), 22, profile);
    scenario.replace(scenario.find("\"training\""), 0, plan);
    write_text(folder / "small.json", scenario);
    const ProgramRun run = run_shell(folder, "packsim compare small.json --json");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return json::parse(run.out)["manifest"]["warnings"].dump();
  };
  const char* const kWarning = "has steps of QLoRA, but this job trains all weights";
  CHECK(warnings("").find(kWarning) != std::string::npos);
  CHECK(warnings(R"("parallelism": {"lora_rank": 16}, )").find(kWarning) == std::string::npos);
  CHECK(warnings("", "transformers-h100").find(kWarning) == std::string::npos);
}

TEST_CASE("--quiet prints nothing and still writes the reports") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun run = run_shell(folder, "packsim compare small.json --quiet --out report");
  CHECK(run.exit_code == 0);
  CHECK(run.out.empty());
  CHECK(run.err.empty());
  CHECK_FALSE(read_text(folder / "report/report.json").empty());
}

TEST_CASE("check says what a scenario would do") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun run = run_shell(folder, "packsim check small.json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  for (const char* text : {"small.json: valid", "732 samples", "SP 4 x 2 DP ranks, 2 micro-batches a rank",
                           "DOES NOT FIT", "speed-ups over isf", "prices of full packs of isf: ",
                           "% scaled from other GPUs or links", "90 % interval of times: -"}) {
    CAPTURE(text, run.out);
    CHECK(run.out.find(text) != std::string::npos);
  }
}

TEST_CASE("Every shipped scenario is valid, and list shows it") {
  const TemporaryFolder folder;
  const ProgramRun list = run_shell(folder, "packsim list scenarios");
  REQUIRE(list.exit_code == 0);
  int n_scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(packsim_test::source_dir() + "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    ++n_scenarios;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    CHECK(list.out.find(name) != std::string::npos);
    CHECK(run_shell(folder, "packsim check " + name).exit_code == 0);
  }
  CHECK(n_scenarios >= 4);
  for (const char* what : {"strategies", "models", "clusters", "networks", "profiles", "hardware-profiles"}) {
    const ProgramRun run = run_shell(folder, std::string("packsim list ") + what);
    CHECK(run.exit_code == 0);
    CHECK_FALSE(run.out.empty());
  }
}

TEST_CASE("pack needs no cluster, and its packs hold every sample once") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", "tokens\n3\n4\n1\n");
  const ProgramRun run =
      run_shell(folder, "packsim pack lengths.csv --strategy bfd --capacity 4 --out packs");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  // TRL's own example: 4 alone, 3 and 1 together.
  CHECK(read_text(folder / "packs/packs.csv") ==
        "group,pack,sample,start_token,tokens\n0,0,1,0,4\n0,1,0,0,3\n0,1,2,0,1\n");
  const json summary = json::parse(read_text(folder / "packs/packs.json"));
  CHECK(summary["packs"] == 2);
  CHECK(summary["fill_fraction"] == 1.0);
  const ProgramRun hbp = run_shell(
      folder,
      "packsim pack lengths.csv --strategy hbp --capacity 2,4 --sp 1,2 --gpus 2 --order balanced --json");
  INFO(hbp.err);
  REQUIRE(hbp.exit_code == 0);
  CHECK(json::parse(hbp.out)["n_tokens"] == 8);
  const ProgramRun planner =
      run_shell(folder, "packsim pack lengths.csv --strategy planner --capacity 4 --gpus 2");
  CHECK(planner.exit_code == 2);
  CHECK(planner.err.find("--strategy: expected one that needs no prices, got planner") != std::string::npos);
}

TEST_CASE("pack reads CSV, JSON lines, NPY and histograms alike") {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "tokens\n5\n7\n7\n");
  write_text(folder / "a.jsonl", "{\"tokens\": 5}\n{\"tokens\": 7}\n{\"tokens\": 7}\n");
  write_text(folder / "a.json", R"({"format": 1, "histogram": {"5": 1, "7": 2}})");
  REQUIRE(run_shell(folder,
                    "python3 -c \"\nh=b\\\"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\\\"\n"
                    "h=h+b' '*(117-len(h))+b'\\n'\nimport struct\n"
                    "open('a.npy','wb').write(b'\\x93NUMPY\\x01\\x00'+struct.pack('<H',len(h))+h+"
                    "struct.pack('<3i',5,7,7))\"")
              .exit_code == 0);
  for (const char* file : {"a.csv", "a.jsonl", "a.json", "a.npy"}) {
    CAPTURE(file);
    const ProgramRun run =
        run_shell(folder, std::string("packsim pack ") + file + " --strategy ffd --capacity 12 --json");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    json summary = json::parse(run.out);
    CHECK(summary["n_samples"] == 3);
    CHECK(summary["n_tokens"] == 19);
    CHECK(summary["packs"] == 2);
  }
}

TEST_CASE("pack packs in the strategy's window unless told another") {
  const TemporaryFolder folder;
  std::string text = "tokens\n";
  for (int i = 0; i < 1001; ++i) text += i % 2 == 0 ? "2\n" : "3\n";
  write_text(folder / "lengths.csv", text);
  const auto n_packs = [&](const std::string& arguments) {
    const ProgramRun run =
        run_shell(folder, "packsim pack lengths.csv --capacity 6 --json --strategy " + arguments);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return json::parse(run.out)["packs"].get<int>();
  };
  // 501 twos and 500 threes. All together: 250 packs of 3 + 3 and 167 of 2 + 2 + 2. The first 1000 samples
  // alone: 250, 166 and one of 2 + 2; then one more for the last sample.
  CHECK(n_packs("bfd") == 417);
  CHECK(n_packs("trl_bfd") == 418);
  CHECK(n_packs("trl_bfd --window 0") == 417);
  CHECK(n_packs("bfd --window 1000") == 418);
}

TEST_CASE("The user's mistakes exit with 2 and say what was expected") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  write_text(folder / "lengths.csv", "tokens\n3\n40\n1\n");
  const auto fails = [&](const std::string& command, const std::string& message) {
    const ProgramRun run = run_shell(folder, command);
    CAPTURE(command, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find(message) != std::string::npos);
    CHECK(run.out.empty());
  };
  fails("packsim", "expected a command, got none (known: new, compare, ");
  fails("packsim compare", "compare takes SCENARIO");
  fails("packsim compare no_such_scenario", "no_such_scenario");
  fails("packsim run small.json --strategy ffd", "one of isf, hbp, too-big");
  fails("packsim list machines", "gpus");
  fails("packsim pack lengths.csv --strategy ffd --capacity 10", "sample 1 has 40");
  fails("packsim pack lengths.csv --strategy best --capacity 100", "expected one of none, random");
  fails("packsim pack lengths.csv --strategy ffd --capacity 0",
        "expected tokens in 1..16777216, such as 65536 or 64K, got \"0\"");
  fails("packsim pack lengths.csv --strategy hbp --capacity 20,10", "got 10");
  fails("packsim pack lengths.csv --strategy wlb --capacity 100",
        "tokens_per_iteration: expected >= 1 for wlb, got 0");
  fails("packsim pack lengths.csv --strategy ffd --capacity 100 --sp 3 --gpus 4",
        "a divisor of 4 GPUs, got 3");
}

TEST_CASE("The machine's failures exit with 3 and name the path") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  write_text(folder / "file", "not a folder");
  const ProgramRun no_folder = run_shell(folder, "packsim compare small.json --quiet --out file/report");
  CHECK(no_folder.exit_code == 3);
  CHECK(no_folder.err.find("file/report") != std::string::npos);
  const ProgramRun no_lengths = run_shell(folder, "packsim pack nowhere.csv --strategy ffd --capacity 10");
  CHECK(no_lengths.exit_code == 3);
  CHECK(no_lengths.err.find("nowhere.csv: No such file or directory") != std::string::npos);
  for (const char* command : {"packsim list strategies", "packsim --help", "packsim --version"}) {
    CAPTURE(command);
    CHECK(run_shell(folder, std::string(command) + " > /dev/full").exit_code == 3);
    CHECK(run_shell(folder, command).exit_code == 0);
  }
}

TEST_CASE(
    "Reports say where an iteration has other tokens than asked for, and where the profile is borrowed") {
  const TemporaryFolder folder;
  std::string scenario = kScenario;
  const std::string asked = "131072, \"epochs\"";
  scenario.replace(scenario.find(asked), asked.size(), "100000, \"epochs\"");
  write_text(folder / "small.json", scenario);
  const ProgramRun run = run_shell(folder, "packsim compare small.json --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  std::string warnings;
  const json report = json::parse(run.out);
  for (const json& warning : report["manifest"]["warnings"]) {
    warnings += warning.get<std::string>() + "\n";
  }
  // Two ranks of 32 768 tokens fit once into 100 000.
  const std::string differences = report["runs"][0]["differences"];
  CHECK(differences.find("tokens, for the 100,000 of tokens_per_iteration; the mean is 6") !=
        std::string::npos);
  CHECK(warnings.find(
            "no step of profile deepspeed-ulysses-h100 had ZeRO 3: its factors are assumed to hold, +-8 %") !=
        std::string::npos);
  CHECK(warnings.find("no step of profile deepspeed-ulysses-h100 ran on fewer than 32 GPUs") !=
        std::string::npos);
  CHECK(warnings.find("was fitted to steps") == std::string::npos);
}

TEST_CASE("check says what is scaled and in doubt on a GPU that nobody measured") {
  const TemporaryFolder folder;
  std::string scenario = kScenario;
  const std::string measured = "h100-sxm-80gb";
  REQUIRE(scenario.find(measured) != std::string::npos);
  scenario.replace(scenario.find(measured), measured.size(), "b200-sxm-180gb");
  write_text(folder / "small.json", scenario);
  const ProgramRun run = run_shell(folder, "packsim check small.json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("0 % measured or interpolated, 0 % extrapolated, ") != std::string::npos);
  CHECK(run.out.find(
            "(one standard deviation): no step of profile deepspeed-ulysses-h100 ran on NVIDIA B200") !=
        std::string::npos);
}

TEST_CASE("check of a new job fits on a screen, and --wide has lines for each strategy") {
  const TemporaryFolder folder;
  REQUIRE(run_shell(folder, "packsim new --model qwen2.5-7b --lengths gsm8k.csv --out job.json").exit_code ==
          0);
  const std::string out = run_shell(folder, "packsim check job.json").out;
  CHECK(std::ranges::count(out, '\n') <= 25);
  CHECK_THAT(out, Contains("would compare 26 strategies") &&
                      Contains("\n  random, isf, ffd, ffs, bfd, bfs, spfhp, lpfhp, ") &&
                      Contains("\n  hbp: packs balanced, ") && Contains("\ncomparing them takes about "));
  const auto work = [&](const std::string& options) {
    const std::string text = run_shell(folder, "packsim check job.json " + options).out;
    return text.substr(text.find("comparing them"));
  };
  CHECK_THAT(run_shell(folder, "packsim check all-strategies-short-tasks").out,
             Contains("comparing them takes about ") && Contains(" minutes on one thread\n"));
  CHECK(work(R"(--set 'strategies=[{"strategy": "isf", "capacity_tokens": 8192}]' --set baseline=isf)") ==
        "comparing them takes about 1 s on one thread\n");
  const std::string wide = run_shell(folder, "packsim check job.json --wide").out;
  for (const char* name : {"random", "isf", "hbp", "planner", "flexsp"})
    CHECK_THAT(wide, Contains(std::string("\n  ") + name + ": packs "));
  std::size_t n_plans = 0;
  for (std::size_t at = 0; (at = wide.find("pack lengths, SP degrees", at)) != std::string::npos; ++at)
    ++n_plans;
  CHECK(n_plans == 26);
}

TEST_CASE("a price that is hardly above 0 is a price") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kScenario);
  const ProgramRun run =
      run_shell(folder, "packsim run small.json --strategy isf --set cluster.gpu_hour_price=1e-320");
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("internal error") == std::string::npos);
  const ProgramRun none = run_shell(folder, "packsim new --lengths gsm8k.csv --price -1 --out a.json");
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Contains("--price: expected a number above 0, got \"-1\""));
}

TEST_CASE("check refuses what compare would refuse, with the strategy's place") {
  const TemporaryFolder folder;
  std::string scenario = kScenario;
  const std::string policy = "\"over_long\": \"truncate\"";
  scenario.replace(scenario.find(policy), policy.size(), "\"over_long\": \"error\"");
  write_text(folder / "small.json", scenario);
  for (const char* command : {"packsim check small.json", "packsim compare small.json"}) {
    const ProgramRun run = run_shell(folder, command);
    CAPTURE(command, run.err);
    CHECK(run.exit_code == 2);
    // The same mistake of both is one line.
    CHECK_THAT(run.err,
               Catch::StartsWith("small.json: /strategies: isf, hbp: lengths_tokens: expected lengths "
                                 "of at most 32768"));
    CHECK(std::ranges::count(run.err, '\n') == 1);
    CHECK(run.out.empty());
  }
}

TEST_CASE("check says what a strategy can run, where it can run none of the plans") {
  const TemporaryFolder folder;
  json scenario = json::parse(kScenario);
  scenario["strategies"] = {{{"strategy", "megatron_dynamic_cp"}, {"plan", "auto"}, {"zero_stages", {2, 3}}}};
  scenario["baseline"] = "megatron_dynamic_cp";
  write_text(folder / "small.json", scenario.dump());
  const ProgramRun run = run_shell(folder, "packsim check small.json");
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, Contains("small.json: /strategies/0: megatron_dynamic_cp: plan: expected values that "
                               "megatron_dynamic_cp can run (ZeRO 0 to 1), got none"));
}

TEST_CASE("A run without iterations has no times, ratios or speed-up, and says so") {
  const TemporaryFolder folder;
  std::string scenario = kScenario;
  const std::string policy = "\"over_long\": \"truncate\"";
  scenario.replace(scenario.find(policy), policy.size(), policy + ", \"last_iteration\": \"drop\"");
  const std::string mix =
      "\"mix\": [{\"source\": \"qmsum.csv\"}, {\"source\": \"gsm8k.csv\", \"count\": 500}]";
  scenario.replace(scenario.find(mix), mix.size(), "\"mix\": [{\"source\": \"gsm8k.csv\", \"count\": 1}]");
  write_text(folder / "small.json", scenario);
  const ProgramRun run = run_shell(folder, "packsim compare small.json --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  const json& isf = report["runs"][0];
  CHECK(isf["iterations"] == 0);
  CHECK(isf["feasible"] == true);
  for (const char* key : {"abr", "cr", "step_mean_s", "gpu_days", "wall_hours", "speedup"}) {
    CAPTURE(key);
    CHECK(isf[key].is_null());
  }
  CHECK(run_shell(folder, "packsim compare small.json").out.find("No run has an iteration") !=
        std::string::npos);
}

TEST_CASE("pack refuses what it would have to ignore or cannot count") {
  const TemporaryFolder folder;
  write_text(folder / "one.csv", "tokens\n1\n");
  const auto fails = [&](const std::string& options, const std::string& message) {
    const ProgramRun run = run_shell(folder, "packsim pack one.csv --capacity 10 --strategy " + options);
    CAPTURE(options, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find(message) != std::string::npos);
  };
  fails("ffd --rounds 5", "--rounds: expected no such option for strategy ffd");
  fails("ffd --padding multiple", "--pad-multiple: expected with --padding multiple");
  fails("ffd --pad-multiple 5", "--pad-multiple: expected with --padding multiple");
  fails("ffd --padding multiple --pad-multiple 9000000000000000000", "--pad-multiple");
  fails("ffd --gpus 4 --tokens-per-iteration 1000000000000",
        "tokens_per_iteration: expected at most 2621440 (65536 micro-batches a rank)");
  const ProgramRun foreign = run_shell(folder,
                                       "cp one.csv \"$(printf 'bad\\377.csv')\" && packsim pack "
                                       "\"$(printf 'bad\\377.csv')\" --strategy ffd --capacity 10 --json");
  CHECK(foreign.exit_code == 0);
  CHECK(json::parse(foreign.out)["packs"] == 1);
}
