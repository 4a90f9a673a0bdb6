// `packsim sweep`: its points are what `packsim compare` says of their scenarios, each once, whatever ends
// it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/cli/sweep_rows.hpp"

using Catch::Contains;
using nlohmann::json;
using nlohmann::ordered_json;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::rows_of;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

constexpr const char* kSweptScenario = R"({"format": 1, "name": "small", "model": "llama3.1-8b",
  "cluster": {"type": "h100-sxm-80gb", "nodes": 2, "gpu_hour_price": 2.5}, "profile": "deepspeed-ulysses-h100",
  "training": {"tokens_per_iteration": 262144}, "lengths": {"mix": [{"source": "qmsum.csv"}]},
  "strategies": [{"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 4},
                 {"strategy": "ffd", "capacity_tokens": 65536, "sp_degree": 8},
                 {"name": "long", "strategy": "bfd", "capacity_tokens": 131072, "sp_degree": 8}]})";

// 3 strategies x 3 numbers of nodes x 2 stages, where ZeRO 0 does not fit.
constexpr const char* kGrid = R"({
  // comments are allowed
  "scenario": "s.json",
  "set": {"cluster.gpu_hour_price": 3},
  "vary": [{"cluster.nodes": {"from": 1, "to": 4, "factor": 2}},
           {"training.zero_stage": [0, 3], "cluster.nic_bytes_per_s": [4e11, 2e11]}]})";

void write_job(const TemporaryFolder& folder) {
  write_text(folder / "s.json", kSweptScenario);
  write_text(folder / "grid.json", kGrid);
}

ProgramRun must_run(const TemporaryFolder& folder, const std::string& command) {
  ProgramRun run = run_shell(folder, command);
  INFO(command << "\n" << run.err);
  REQUIRE(run.exit_code == 0);
  return run;
}

}  // namespace

TEST_CASE("every point is what compare says of its scenario, to the last bit", "[plain]") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep grid.json --out s.db --quiet --threads 2");
  const ordered_json rows = rows_of(folder / "s.db");
  REQUIRE(rows.size() == 18);
  int n_fit = 0;
  int n_misfit = 0;
  for (int job = 0; job < 6; ++job) {
    const ordered_json& first = rows[static_cast<std::size_t>(job)];
    const std::string settings =
        " --set cluster.gpu_hour_price=3 --set cluster.nodes=" + first["cluster.nodes"].dump() +
        " --set training.zero_stage=" + first["training.zero_stage"].dump() +
        " --set cluster.nic_bytes_per_s=" + first["cluster.nic_bytes_per_s"].dump();
    const json report =
        json::parse(must_run(folder, "packsim compare s.json --json --quiet --out r" + settings).out);
    for (std::size_t s = 0; s < 3; ++s) {
      const ordered_json& row = rows[static_cast<std::size_t>(job) + 6 * s];
      const json& run = report["runs"][s];
      CAPTURE(settings, row["name"]);
      CHECK(row["name"] == run["name"]);
      CHECK(row["n_gpus"] == 8 * first["cluster.nodes"].get<int>());
      CHECK((row["status"] == "ok") == run["feasible"].get<bool>());
      CHECK(row["reason"].is_null() == run["feasible"].get<bool>());
      int n_equal = 0;
      for (const auto& [key, value] : run.items()) {
        if (!row.contains(key) || key == "groups" || key == "bound_gpu_days" || key == "above_bound_fraction")
          continue;
        CAPTURE(key);
        // SQLite has no booleans.
        CHECK(row[key] == (value.is_boolean() ? json(value.get<bool>() ? 1 : 0) : value));
        ++n_equal;
      }
      CHECK(n_equal > 50);
      (run["feasible"].get<bool>() ? n_fit : n_misfit) += 1;
    }
  }
  CHECK(n_fit == 9);
  CHECK(n_misfit == 9);
}

TEST_CASE("threads, shards and the order of points do not change what a point says", "[threads]") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep grid.json --out all.db --quiet --threads 1");
  const ordered_json all = rows_of(folder / "all.db");
  must_run(folder, "packsim sweep grid.json --out two.db --quiet --threads 3");
  CHECK(rows_of(folder / "two.db") == all);
  ordered_json together = ordered_json::array();
  for (int shard = 1; shard <= 4; ++shard) {
    const std::string name = "shard" + std::to_string(shard) + ".db";
    must_run(folder, "packsim sweep grid.json --quiet --shard " + std::to_string(shard) + "/4 --out " + name);
    for (const auto& row : rows_of(folder / name)) together.push_back(row);
  }
  std::sort(together.begin(), together.end(), [](const auto& a, const auto& b) {
    return a["point"].template get<int>() < b["point"].template get<int>();
  });
  CHECK(together == all);
}

TEST_CASE("shards are merged into the database of the whole grid") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep grid.json --out all.db --quiet");
  must_run(folder, "packsim sweep grid.json --out 1.db --quiet --shard 1/3");
  must_run(folder, "packsim sweep grid.json --out 3.db --quiet --shard 3/3");
  // The second shard was never computed. A database may be named twice.
  const ProgramRun merged =
      must_run(folder, "packsim sweep grid.json --out m.db --merge 1.db --merge 3.db --merge 1.db");
  CHECK_THAT(merged.out, Contains("6 points computed") && Contains("12 were there"));
  CHECK(rows_of(folder / "m.db") == rows_of(folder / "all.db"));

  must_run(folder, "packsim sweep s.json --vary seed=1 --out other.db --quiet");
  const ProgramRun other = run_shell(folder, "packsim sweep grid.json --out m2.db --merge other.db");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("other.db: expected the sweep of this grid, got another one: its grid is"));
  const ProgramRun none = run_shell(folder, "packsim sweep grid.json --out m2.db --merge none.db");
  CHECK(none.exit_code == 3);
  CHECK_THAT(none.err, Contains("none.db: cannot read the sweep: No such file or directory"));
  CHECK(!std::filesystem::exists(folder / "none.db"));
  const ProgramRun itself = run_shell(folder, "packsim sweep grid.json --out m.db --merge m.db");
  CHECK(itself.exit_code == 2);
}

TEST_CASE("a sweep that was killed goes on with nothing lost or repeated") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep grid.json --out whole.db --quiet");
  // Killed after ever longer times, until one run comes to its end.
  must_run(
      folder,
      "n=0; for ms in $(seq 5 25 2000); do\n"
      "  packsim sweep grid.json --out s.db --quiet --threads 1 & p=$!\n"
      "  sleep 0.$(printf %03d $((ms % 1000))); kill -9 $p 2>/dev/null && n=$((n + 1)); wait $p && break\n"
      "done; echo $n; [ $n -ge 2 ]");
  must_run(folder, "packsim sweep grid.json --out s.db --quiet");
  CHECK(rows_of(folder / "s.db") == rows_of(folder / "whole.db"));
  const ProgramRun again = must_run(folder, "packsim sweep grid.json --out s.db");
  CHECK_THAT(again.out, Contains("0 points computed") && Contains("18 were there"));
}

TEST_CASE("points that cannot be simulated are rows with the reason") {
  const TemporaryFolder folder;
  write_job(folder);
  const ProgramRun run = must_run(
      folder, "packsim sweep s.json --out s.db --vary strategy=isf,ffd --vary strategies.isf.sp_degree=4,3");
  const ordered_json rows = rows_of(folder / "s.db");
  REQUIRE(rows.size() == 4);
  // A strategy with a mistake leaves the others theirs, isf with 3 GPUs a pack here.
  for (const std::size_t good : {0U, 2U, 3U}) CHECK(rows[good]["status"] == "ok");
  CHECK(rows[3]["gpu_days"] == rows[2]["gpu_days"]);
  CHECK(rows[1]["status"] == "refused");
  CHECK(rows[1]["name"] == "isf");
  CHECK_THAT(rows[1]["reason"].get<std::string>(), Contains("--set strategies.isf.sp_degree: expected"));
  CHECK(rows[1]["gpu_days"].is_null());
  CHECK_THAT(run.out, Contains("1 with a scenario that was") && Contains("1 x --set strategies.isf"));
  const ProgramRun lengths =
      must_run(folder, "packsim sweep s.json --out l.db --vary strategies.ffd.capacity_tokens=8192");
  CHECK(rows_of(folder / "l.db")[0]["status"] == "refused");
  CHECK_THAT(lengths.out, Contains("expected lengths of at"));
}

TEST_CASE("a database is of one sweep, and one sweep at a time writes to it") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep s.json --out s.db --quiet --vary cluster.nodes=2");
  const ProgramRun other = run_shell(folder, "packsim sweep s.json --out s.db --vary cluster.nodes=2,4");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("s.db: expected the sweep of this grid, got another one: its grid is"));
  write_text(folder / "own.csv", "tokens\n1000\n2000\n3000\n");
  must_run(folder, "packsim sweep s.json --out o.db --quiet --set 'lengths.mix.0.source=\"own.csv\"'");
  write_text(folder / "own.csv", "tokens\n1000\n2000\n4000\n");
  const ProgramRun edited =
      run_shell(folder, "packsim sweep s.json --out o.db --set 'lengths.mix.0.source=\"own.csv\"'");
  CHECK(edited.exit_code == 2);
  CHECK_THAT(edited.err, Contains("its hash of lengths is"));
  // A file that only some points name counts, too.
  must_run(folder, "cp $PACKSIM_DATA/models/clusters/h200-sxm-141gb.json mine.json");
  const std::string clusters =
      "packsim sweep s.json --out c.db --vary cluster.type=h100-sxm-80gb,./mine.json";
  must_run(folder, clusters + " --quiet");
  must_run(folder, clusters);
  must_run(folder, "sed -i 's/50e9/40e9/' mine.json");
  const ProgramRun slower = run_shell(folder, clusters);
  CHECK(slower.exit_code == 2);
  CHECK_THAT(slower.err, Contains("its hash of mine.json is"));
  const ProgramRun locked =
      run_shell(folder, "exec 9>>s.db; flock 9; packsim sweep s.json --out s.db --vary cluster.nodes=2");
  CHECK(locked.exit_code == 2);
  CHECK_THAT(locked.err, Contains("expected no other sweep that writes to it"));
}

TEST_CASE("a sweep does not go on with the points of another packsim") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep s.json --out s.db --quiet --vary cluster.nodes=2");
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open((folder / "s.db").c_str(), &database) == SQLITE_OK);
  const char* const change =
      "UPDATE sweep SET value = '0.1.0+gaaaaaaaaaaaa' WHERE fact = 'version of packsim'";
  CHECK(sqlite3_exec(database, change, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  const std::string mine = must_run(folder, "packsim --version").out;  // "packsim VERSION\n"
  const ProgramRun other = run_shell(folder, "packsim sweep s.json --out s.db --vary cluster.nodes=2");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err,
             Contains("expected points of " + mine.substr(0, mine.size() - 1) + ", which is this one") &&
                 Contains("got points of packsim 0.1.0+gaaaaaaaaaaaa") && Contains("into another file"));
}

TEST_CASE("mistakes of a grid name the place, all at once") {
  const TemporaryFolder folder;
  write_job(folder);
  const auto error_of = [&](const std::string& grid) {
    write_text(folder / "bad.json", grid);
    const ProgramRun run = run_shell(folder, "packsim sweep bad.json --out bad.db");
    CHECK(run.exit_code == 2);
    CHECK(!std::filesystem::exists(folder / "bad.db"));
    return run.err;
  };
  const auto varied = [](const std::string& axes) {
    return R"({"scenario": "s.json", "vary": )" + axes + "}";
  };
  CHECK_THAT(error_of(varied("[]")), Contains("bad.json: /vary: expected"));
  CHECK_THAT(error_of(varied(R"([{"cluster.nodes": 4}])")),
             Contains("bad.json: /vary/0/cluster.nodes: expected a list of values, or a range such as") &&
                 Contains("got 4"));
  CHECK_THAT(error_of(varied(R"([{"cluster.nodes": []}])")),
             Contains("/vary/0/cluster.nodes: expected a list of values"));
  CHECK_THAT(error_of(varied(R"([{"cluster.nodes": [1, 2], "seed": [1]}])")),
             Contains(R"(/vary/0/seed: expected 2 values, as many as "cluster.nodes" beside it has, got 1)"));
  const std::string ranges = error_of(varied(R"([{"cluster.nodes": {"from": 4, "to": 1, "step": 1}},
      {"seed": {"from": 1, "to": 4, "factor": 1}}, {"x": {"from": "64K", "to": 4, "step": 1}},
      {"y": {"from": 1, "to": 1e9, "step": 1}}, {"z": {"from": 1, "to": 2, "step": 1, "by": 1}}])"));
  CHECK_THAT(ranges, Contains(R"(/vary/0/cluster.nodes/to: expected at least 4, which is "from", got 1)"));
  CHECK_THAT(ranges,
             Contains("/vary/1/seed/factor: expected a factor above 1, from a number above 0, got 1"));
  CHECK_THAT(ranges, Contains("/vary/2/x/from: expected a number, got \"64K\""));
  CHECK_THAT(ranges, Contains("/vary/3/y/step: expected a range of at most 10000 values, got more"));
  CHECK_THAT(ranges, Contains("/vary/4/z/by: expected no such key"));
  CHECK_THAT(error_of(varied(R"([{"seed": [1]}, {"seed": [2]}])")),
             Contains(R"(expected each key once, got "seed" twice)"));
  CHECK_THAT(error_of(varied(R"([{"name": ["a", "b"]}])")), Contains("name"));
  CHECK_THAT(error_of(varied(R"([{"strategy": ["isf", "fdd"]}])")),
             Contains("ffd") && Contains(R"(got "fdd")"));
  const std::string thousand = R"({"from": 1, "to": 2000, "step": 1})";
  CHECK_THAT(error_of(varied(R"([{"seed": )" + thousand + R"(}, {"training.epochs": )" + thousand + "}]")),
             Contains("expected at most 1000000 points, got more"));
  CHECK_THAT(error_of(R"({"scenario": "none.json", "vary": [{"seed": [1]}], "very": 1})"),
             Contains("/very: expected no such key for a grid"));
  for (const std::string shard : {"0/2", "3/2", "a", "1/2x", "-1/2", "1"}) {
    CAPTURE(shard);
    const ProgramRun run = run_shell(folder, "packsim sweep grid.json --out bad.db --shard " + shard);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains("--shard: expected I/N with I from 1 to N"));
  }
  const ProgramRun commas = run_shell(folder, "packsim sweep s.json --vary cluster.nodes --vary seed=1,,2");
  CHECK(commas.exit_code == 2);
  CHECK_THAT(commas.err, Contains("--vary: expected KEY=VALUE,VALUE...") &&
                             Contains("--vary seed: expected values between the commas"));
}

TEST_CASE("ranges end at their last value") {
  const TemporaryFolder folder;
  write_job(folder);
  write_text(folder / "g.json", R"({"scenario": "s.json", "vary": [
      {"strategy": ["isf"]},
      {"cluster.nic_bytes_per_s": {"from": 1e11, "to": 3e11, "step": 1e11}},
      {"training.tokens_per_iteration": {"from": "256K", "to": "1M", "factor": 2}}]})");
  must_run(folder, "packsim sweep g.json --out s.db --quiet");
  const ordered_json rows = rows_of(folder / "s.db");
  REQUIRE(rows.size() == 9);
  CHECK(rows[8]["cluster.nic_bytes_per_s"] == 3e11);
  CHECK(rows[0]["training.tokens_per_iteration"] == 262144);
  CHECK(rows[8]["training.tokens_per_iteration"] == 1048576);
}

TEST_CASE("where the disk is full or read-only, what was computed stays") {
  const TemporaryFolder folder;
  write_job(folder);
  must_run(folder, "packsim sweep grid.json --out whole.db --quiet");
  // A limit of 64 KiB on files, as of a full disk: SIGXFSZ is ignored, so that writes fail.
  const ProgramRun full =
      run_shell(folder, "trap '' XFSZ; ulimit -f 64; packsim sweep grid.json --out s.db --threads 1");
  CHECK(full.exit_code == 3);
  CHECK_THAT(full.err, Contains("s.db: cannot write the sweep"));
  must_run(folder, "packsim sweep grid.json --out s.db --quiet");
  CHECK(rows_of(folder / "s.db") == rows_of(folder / "whole.db"));
  const ProgramRun nowhere = run_shell(folder, "packsim sweep grid.json --out no/s.db");
  CHECK(nowhere.exit_code == 3);
  CHECK_THAT(nowhere.err, Contains("no/s.db: cannot write the sweep: No such file or directory"));
  write_text(folder / "text.db", std::string(10000, 'x'));
  const ProgramRun text = run_shell(folder, "packsim sweep grid.json --out text.db");
  CHECK(text.exit_code == 2);
  CHECK_THAT(text.err, Contains("text.db: expected a database of packsim sweep"));
}

TEST_CASE("--ray says which Python lacks what, and how to install it, before a database is made") {
  const TemporaryFolder folder;
  write_job(folder);
  // What the program asks a Python is answered by a script.
  const auto answer = [&](const std::string& script) {
    write_text(folder / "python", "#!/bin/sh\n" + script + "\n");
    const ProgramRun run =
        run_shell(folder, "chmod +x python; PACKSIM_PYTHON=./python packsim sweep grid.json --ray auto");
    CHECK(run.out.empty());
    return run;
  };
  const ProgramRun lacking = answer("printf 'no simulator in packsim, no ray'");
  CHECK(lacking.exit_code == 3);
  CHECK(
      lacking.err ==
      "packsim: --ray: expected a Python with packsim, its simulator and ray, and ./python has no simulator "
      "in packsim, no ray. Install them in the source folder of packsim with\n"
      "  PACKSIM_PROGRAM=1 ./python -m pip install '.[ray]'\n");
  CHECK_THAT(answer("exit 1").err, Contains("and ./python failed with 1. Install"));
  const ProgramRun none = run_shell(folder, "PACKSIM_PYTHON=/none/python packsim sweep grid.json --ray auto");
  CHECK(none.exit_code == 2);
  CHECK(none.err == "packsim: PACKSIM_PYTHON: expected a Python interpreter, got \"/none/python\"\n");
  CHECK(!std::filesystem::exists(folder / "sweep.db"));
  // A mistake of the grid comes first, in the words that it has without --ray.
  const ProgramRun grid =
      run_shell(folder, "PACKSIM_PYTHON=/none/python packsim sweep s.json --vary seed --ray auto");
  CHECK(grid.exit_code == 2);
  CHECK_THAT(grid.err, Contains("--vary: expected KEY=VALUE,VALUE..."));
}

TEST_CASE("--ray hands Python the grid as it was given, and ends as Python does") {
  const TemporaryFolder folder;
  write_job(folder);
  // It is asked what it lacks, which is nothing, and then to sweep.
  write_text(folder / "python",
             "#!/bin/sh\n[ $# -gt 2 ] || exit 0\nshift 2; printf '%s\\n' \"$@\" > words; exit 7\n");
  const ProgramRun run = run_shell(
      folder,
      "chmod +x python; PACKSIM_PYTHON=./python packsim sweep s.json --vary 'seed=1, 2' --vary strategy=ffd "
      "--set name='\"a b\"' --ray 10.0.0.1:6379 --out 'a b.db' --quiet");
  CHECK(run.exit_code == 7);
  CHECK(read_text(folder / "words") ==
        "--address=10.0.0.1:6379\n--out=a b.db\n--vary=seed=1, 2\n--vary=strategy=ffd\n--set=name=\"a "
        "b\"\n--quiet\n--\ns.json\n");
  // Nothing is left to compute: no cluster is needed.
  must_run(folder, "packsim sweep s.json --vary seed=1 --out all.db --quiet");
  const ProgramRun again =
      must_run(folder, "PACKSIM_PYTHON=./python packsim sweep s.json --vary seed=1 --out all.db --ray auto");
  CHECK_THAT(again.out, Contains("0 points computed") && Contains("on the Ray cluster auto, 3 were there"));
}

TEST_CASE("a sweep with prices shows what costs least first, and every varied key at 80 columns") {
  const TemporaryFolder folder;
  write_job(folder);
  // On one node at 9 an hour, ffd takes the fewest GPU-days, but costs more than on two at 2.
  const std::string out =
      must_run(folder,
               "packsim sweep s.json --set training.zero_stage=3 --set packing.last_iteration=shorten --vary "
               "strategy=ffd --vary cluster.nodes=1,2 "
               "--vary cluster.gpu_hour_price=2,9 --vary training.tokens_per_iteration=262144 "
               "--vary cluster.nic_bytes_per_s=25e9 --vary cluster.gpu_memory_bytes=80000000000 --out p.db")
          .out;
  CHECK_THAT(out, Contains("The lowest cost:") && !Contains("The fewest GPU-days"));
  const std::string table = out.substr(out.find("\npoint") + 1);
  const std::string head = table.substr(0, table.find('\n'));
  CHECK(head.size() <= 80);
  CHECK_THAT(head, !Contains("GPU-days") && !Contains("90%") && !Contains("wall h"));
  for (const char* key : {"name", "cost", "nodes", "gpu_h..", "token..", "nic_b..", "gpu_m.."})
    CHECK_THAT(head, Contains(key));
  // Points 0 and 2 are those at 2 an hour, with 1 and 2 nodes: both stand before those at 9.
  CHECK(std::max(table.find("\n0 "), table.find("\n2 ")) < std::min(table.find("\n1 "), table.find("\n3 ")));
}

TEST_CASE("a sweep in which only some points have a price shows the fewest GPU-days first") {
  const TemporaryFolder folder;
  write_job(folder);
  write_text(folder / "some.json",
             R"({"scenario": "s.json", "set": {"training.zero_stage": 3, "packing.last_iteration": "shorten"},
    "vary": [{"strategy": ["ffd"]},
    {"cluster": [{"type": "h100-sxm-80gb", "nodes": 1, "gpu_hour_price": 2},
                 {"type": "h100-sxm-80gb", "nodes": 2}]}]})");
  CHECK_THAT(must_run(folder, "packsim sweep some.json --out s.db").out,
             Contains("The fewest GPU-days:") && Contains(" cost"));
}

TEST_CASE("a sweep that varies the job says that its points are no comparison") {
  const TemporaryFolder folder;
  const std::string sweep = "packsim sweep llama3.1-8b-real-mixture-128k --vary strategy=isf --vary ";
  const std::string note = "Points with another training.epochs train another job";
  CHECK_THAT(must_run(folder, sweep + "training.epochs=1,2 --out e.db").out, Contains(note));
  const std::string nodes = must_run(folder, sweep + "cluster.nodes=2,4 --out n.db").out;
  CHECK_THAT(nodes, Contains("The fewest GPU-days") && !Contains("train another job"));
}
