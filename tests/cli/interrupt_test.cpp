#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "program.hpp"

using namespace packsim_test;

namespace {

// A job of some 10 s: 20 million samples, which are drawn and packed before anything is written.
const std::string kLongJob = R"({
  "format": 1, "name": "long", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
  "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "zero_stage": 3},
  "lengths": {"mix": [{"source": "gsm8k.csv", "count": 20000000}], "with_replacement": true},
  "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4}]
})";

const std::string kShortJob = R"({
  "format": 1, "name": "short", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
  "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "zero_stage": 3},
  "lengths": {"mix": [{"source": "gsm8k.csv", "count": 2000}]},
  "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4}]
})";

// Runs the program and sends it a signal after some seconds; `timeout` passes its exit code on.
ProgramRun run_interrupted(const TemporaryFolder& folder, const std::string& signal, double after_s,
                           const std::string& arguments) {
  return run_shell(folder,
                   fmt::format("timeout --preserve-status -s {} {} packsim {}", signal, after_s, arguments));
}

}  // namespace

TEST_CASE("Ctrl-C ends a long comparison at once with 130 and a line, and leaves no file") {
  const TemporaryFolder folder;
  write_text(folder / "long.json", kLongJob);
  const ProgramRun run = run_interrupted(folder, "INT", 0.4, "compare long.json --out report");
  CHECK(run.exit_code == 128 + 2);
  CHECK(run.err == "packsim: interrupted (SIGINT); every file is whole, or as it was before\n");
  CHECK(run.out.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "report"));
}

TEST_CASE("SIGTERM ends commands with 143") {
  const TemporaryFolder folder;
  write_text(folder / "long.json", kLongJob);
  for (const std::string command : {"tune", "trace --strategy isf"}) {
    CAPTURE(command);
    const ProgramRun run = run_interrupted(folder, "TERM", 0.4, command + " long.json");
    CHECK(run.exit_code == 128 + 15);
    CHECK(run.err == "packsim: terminated (SIGTERM); every file is whole, or as it was before\n");
  }
}

TEST_CASE("Whenever Ctrl-C comes, the files of a report are all there or none is, and no part of one") {
  const TemporaryFolder folder;
  write_text(folder / "short.json", kShortJob);
  int n_interrupted = 0;
  for (int i = 0; i < 24; ++i) {
    const std::string out = fmt::format("report{}", i);
    const ProgramRun run =
        run_interrupted(folder, "INT", 0.005 + 0.003 * i, "compare short.json --quiet --out " + out);
    CAPTURE(i, run.err);
    CHECK((run.exit_code == 0 || run.exit_code == 130));
    n_interrupted += run.exit_code == 130;
    int n_files = 0;
    if (std::filesystem::exists(folder / out)) {
      for (const auto& entry : std::filesystem::directory_iterator(folder / out)) {
        ++n_files;
        CHECK(entry.path().extension() != ".partial");
      }
    }
    CHECK((n_files == 0 || n_files == 3));
  }
  CHECK(n_interrupted > 0);
}

TEST_CASE("A second signal does not wait for a file that nobody reads") {
  const TemporaryFolder folder;
  write_text(folder / "short.json", kShortJob);
  const ProgramRun run =
      run_shell(folder,
                "mkfifo pipe; packsim trace short.json --strategy isf --out pipe & p=$!; sleep 0.3; "
                "kill -TERM $p; sleep 0.1; kill -0 $p && echo waits; kill -TERM $p; wait $p");
  CHECK(run.exit_code == 143);
  CHECK(run.out == "waits\n");
  CHECK(run.err == "packsim: stopped while writing; some files may be those of the run before\n");
}

TEST_CASE("A signal that whoever started the program ignores stays ignored") {
  const TemporaryFolder folder;
  write_text(folder / "short.json", kShortJob);
  const ProgramRun run = run_shell(
      folder, "trap '' INT; packsim compare short.json --quiet & p=$!; sleep 0.03; kill -INT $p; wait $p");
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
}
