// What commands may replace: what packsim wrote and nobody changed, any other file with --force, an input
// never.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/copy_measurements.hpp"
#include "tests/cli/faults.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/small_job.hpp"

namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using packsim_test::files_in;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

constexpr const char* kMine = "mine, not packsim's\n";

struct Writer {
  std::string command;               // run in a folder of its own, from which ../ has the inputs
  std::vector<std::string> outputs;  // some of what it writes
};

// Every command that writes files, but sweep, which knows its database by what is in it.
const std::vector<Writer> kWriters = {
    {"packsim new --lengths ../l.csv --out o.json", {"o.json"}},
    {"packsim compare ../small.json --out o --quiet",
     {"o/report.json", "o/report.csv", "o/report.html", "o/charts.json"}},
    {"packsim run ../small.json --strategy isf --write-plan o.plan --out o --quiet",
     {"o/report.html", "o.plan"}},
    {"packsim recommend ../small.json --set packing.last_iteration=shorten --nodes 1 --max-gpus 8 --out o "
     "--quiet",
     {"o/recommendation.json", "o/planning.html", "o/scenario.json", "o/settings/README.md"}},
    {"packsim page ../s.db --out o.html", {"o.html"}},
    {"packsim plot ../report --chart gpu_days --out o.json", {"o.json"}},
    {"packsim plot ../report --chart all --format json --out o", {"o/gpu_days.json", "o/packs.json"}},
    {"packsim trace ../small.json --strategy isf --out o.json", {"o.json"}},
    {"packsim pack ../l.csv --strategy isf --gpus 1 --capacity 2048 --plan o.plan --out o --quiet",
     {"o.plan", "o/packs.csv", "o/packs.json"}},
    {"packsim tune ../small.json --write-scenario o.json --quiet", {"o.json"}},
    {"packsim calibrate plan --quick --model llama3.1-8b --out o.txt", {"o.txt"}},
    {"packsim calibrate run --program ../fake --quick --model llama3.1-8b --out m.jsonl", {"m.plan.txt"}},
    {"packsim calibrate coverage ../small.json h100-sxm-public --strategy isf --plan o.txt", {"o.txt"}},
    {"packsim calibrate fit ../m.jsonl --name mine --hardware o.json", {"o.json"}},
    {"packsim validate --set hbp-memory --write-gate o.json", {"o.json"}},
};

class Inputs {
 public:
  Inputs() {
    write_text(folder_ / "small.json", packsim_test::small_job());
    write_text(folder_ / "l.csv", "tokens\n512\n1024\n");
    write_text(folder_ / "m.jsonl", packsim_test::copy_measurements());
    write_text(folder_ / "fake", "#!/bin/sh\n");
    fs::permissions(folder_ / "fake", fs::perms::owner_all);
    const ProgramRun made =
        run_shell(folder_,
                  "packsim sweep small.json --vary cluster.nodes=1,2 --out s.db --quiet && "
                  "packsim compare small.json --out report --quiet");
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
  }

  ProgramRun run(const std::string& command) {
    return run_shell(folder_, "mkdir -p w && cd w && " + command);
  }
  std::string at(const std::string& name) const { return folder_ / ("w/" + name); }
  void renew() { fs::remove_all(folder_ / "w"); }

 private:
  TemporaryFolder folder_;
};

std::size_t times(const std::string& part, const std::string& text) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("every command that writes replaces what it wrote, and somebody's own file only with --force") {
  Inputs inputs;
  for (const Writer& writer : kWriters) {
    CAPTURE(writer.command);
    inputs.renew();
    const ProgramRun first = inputs.run(writer.command);
    CAPTURE(first.err);
    REQUIRE(first.exit_code == 0);
    const auto written = files_in(inputs.at(""));
    for (const std::string& output : writer.outputs) REQUIRE(written.contains(output));
    const ProgramRun second = inputs.run(writer.command);
    CAPTURE(second.err);
    CHECK(second.exit_code == 0);
    CHECK_THAT(second.err, !Contains("--force"));

    // Changed by hand, and not packsim's from the start: all are named, and none is touched.
    for (const bool was_written : {true, false}) {
      if (!was_written) inputs.renew();
      for (const std::string& output : writer.outputs) {
        fs::create_directories(fs::path(inputs.at(output)).parent_path());
        write_text(inputs.at(output), kMine);
      }
      const auto before = files_in(inputs.at(""));
      const ProgramRun refused = inputs.run(writer.command);
      CAPTURE(refused.err);
      CHECK(refused.exit_code == 2);
      for (const std::string& output : writer.outputs)
        CHECK_THAT(refused.err, Contains(output + ": expected no file but packsim's own, got one that " +
                                         (was_written ? "was changed since packsim wrote it"
                                                      : "packsim has no record of writing")));
      CHECK(times(": expected", refused.err) == writer.outputs.size());
      CHECK(refused.err.ends_with("--force replaces files that are no input; another path keeps them\n"));
      CHECK(files_in(inputs.at("")) == before);
    }

    const bool is_quiet = writer.command.ends_with("--quiet");
    const ProgramRun forced = inputs.run(writer.command + " --force");
    CHECK(forced.exit_code == 0);
    for (const std::string& output : writer.outputs) {
      CHECK(read_text(inputs.at(output)) != kMine);
      CHECK(times("packsim: replaced " + output + ", as --force says\n", forced.err) == (is_quiet ? 0 : 1));
    }
    CHECK(inputs.run(writer.command).exit_code == 0);  // they are packsim's now
  }
}

TEST_CASE("an empty file, and what a folder that was moved has, need no --force") {
  Inputs inputs;
  const std::string trace = "packsim trace ../small.json --strategy isf --quiet --out ";
  REQUIRE(inputs.run("touch o.json && " + trace + "o.json").exit_code == 0);
  REQUIRE(inputs.run("mkdir a && " + trace + "a/o.json").exit_code == 0);
  CHECK(inputs.run("mv a b && " + trace + "b/o.json").exit_code == 0);
  CHECK(inputs.run("cp -r b c && " + trace + "c/o.json").exit_code == 0);
  CHECK(inputs.run("cp b/o.json d.json && " + trace + "d.json").exit_code == 2);  // no record beside it
}

TEST_CASE("what an output leads to is what may not be replaced, and devices are never in the way") {
  Inputs inputs;
  const std::string trace = "packsim trace ../small.json --strategy isf --quiet --out ";
  REQUIRE(inputs.run("echo mine >notes && ln -s notes o.json").exit_code == 0);
  CHECK(inputs.run(trace + "o.json").exit_code == 2);
  CHECK(read_text(inputs.at("notes")) == "mine\n");
  CHECK(inputs.run(trace + "o.json --force").exit_code == 0);
  CHECK(fs::is_symlink(inputs.at("o.json")));
  CHECK(read_text(inputs.at("notes")).starts_with("{"));
  CHECK(inputs.run(trace + "/dev/null").exit_code == 0);
  CHECK(inputs.run("echo old >p.json && " + trace + "/dev/stdout >>p.json").exit_code == 0);
  CHECK(read_text(inputs.at("p.json")).starts_with("old\n{"));
  CHECK(inputs.run("mkdir f && " + trace + "f").exit_code == 3);
}

TEST_CASE(
    "a record that cannot be written costs no result, and the next run takes the file for somebody's own") {
  Inputs inputs;
  const std::string trace = "packsim trace ../small.json --strategy isf --out o.json";
  const ProgramRun run = inputs.run("mkdir .packsim-files && " + trace);
  CHECK(run.exit_code == 0);
  CHECK(run.err ==
        "packsim: warning: .packsim-files: cannot write: Is a directory; the next run takes the files that "
        "are written now for somebody's own\n");
  CHECK(read_text(inputs.at("o.json")).starts_with("{"));
  CHECK(inputs.run(trace).exit_code == 2);
}

TEST_CASE("commands that write into one folder at the same time are all remembered") {
  Inputs inputs;
  const std::string each =
      "for i in 1 2 3 4 5 6 7 8; do packsim new --lengths ../l.csv --out $i.json & ids=\"$ids $!\"; done; "
      "for id in $ids; do wait $id || exit 1; done";
  CHECK(inputs.run(each).exit_code == 0);
  CHECK(inputs.run(each).exit_code == 0);
}

TEST_CASE("sweep goes on in its own database, and replaces another file only with --force") {
  Inputs inputs;
  const std::string sweep = "packsim sweep ../small.json --vary cluster.nodes=1,2 --out o.db";
  REQUIRE(inputs.run(sweep).exit_code == 0);
  CHECK_THAT(inputs.run(sweep).out, Contains("0 points computed"));
  write_text(inputs.at("o.db"), kMine);
  const ProgramRun refused = inputs.run(sweep);
  CHECK(refused.exit_code == 2);
  CHECK(refused.err ==
        "packsim: o.db: expected a database of packsim sweep, got file is not a database\n--force replaces "
        "it\n");
  CHECK(read_text(inputs.at("o.db")) == kMine);
  const ProgramRun forced = inputs.run(sweep + " --force");
  CHECK(forced.exit_code == 0);
  CHECK(without_progress(forced.err) == "packsim: replaced o.db, as --force says\n");
  CHECK_THAT(forced.out, Contains("4 points computed"));

  const std::string other = "packsim sweep ../small.json --vary cluster.nodes=4 --quiet --out o.db";
  CHECK_THAT(inputs.run(other).err,
             Contains("expected the sweep of this grid") && Contains("--force replaces it"));
  CHECK_THAT(inputs.run(other + " --merge o.db --force").err,
             Contains("o.db: expected a file that is no input"));
  CHECK_THAT(inputs.run(sweep).out, Contains("0 points computed"));  // it stands
  CHECK(inputs.run(other + " --force").exit_code == 0);
}
