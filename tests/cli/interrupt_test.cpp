#include <fmt/format.h>
#include <sys/types.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <thread>

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

// Whether a process has said what a signal is to do. Under a sanitizer on a busy machine that takes a while.
bool catches(pid_t process, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:")) return std::stoull(line.substr(8), nullptr, 16) >> (signal - 1) & 1;
  }
  return false;
}

// Runs the program and sends it a signal some seconds after it began to catch it.
ProgramRun run_interrupted(const TemporaryFolder& folder, int signal, double after_s,
                           const std::string& arguments, int n_signals = 1) {
  auto run = std::async(std::launch::async, [&] {
    return run_shell(folder, "exec sh -c 'echo $$ >pid.new; mv pid.new pid; exec packsim " + arguments + "'");
  });
  using namespace std::chrono_literals;
  pid_t process = 0;
  while (run.wait_for(1ms) == std::future_status::timeout) {
    if (process == 0) std::ifstream(folder / "pid") >> process;
    if (process != 0 && catches(process, signal)) break;
  }
  for (int i = 0; i < n_signals; ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(after_s));
    if (run.wait_for(0s) == std::future_status::timeout) kill(process, signal);
  }
  std::filesystem::remove(folder / "pid");
  return run.get();
}

}  // namespace

TEST_CASE("Ctrl-C ends a long comparison at once with 130 and a line, and leaves no file") {
  const TemporaryFolder folder;
  write_text(folder / "long.json", kLongJob);
  const ProgramRun run = run_interrupted(folder, SIGINT, 0.2, "compare long.json --out report");
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
    const ProgramRun run = run_interrupted(folder, SIGTERM, 0.2, command + " long.json");
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
        run_interrupted(folder, SIGINT, 0.003 * i, "compare short.json --quiet --out " + out);
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
    CHECK((n_files == 0 || n_files == 4));
  }
  CHECK(n_interrupted > 0);
}

TEST_CASE("SIGTERM ends a comparison of many strategies within 2 s, also while its report is made",
          "[slow]") {
  const TemporaryFolder folder;
  std::string strategies;
  for (int i = 0; i < 1500; ++i)
    strategies +=
        fmt::format(R"({}{{"name": "s{}", "strategy": "isf", "capacity_tokens": {}, "sp_degree": 4}})",
                    i == 0 ? "" : ", ", i, 32768 + 4 * i);
  std::string job = kShortJob;
  const std::size_t begin = job.find("\"strategies\"");
  job.replace(begin, job.rfind(']') - begin, "\"strategies\": [" + strategies);
  write_text(folder / "many.json", job);
  int n_ended = 0;
  for (int i = 0;; ++i) {  // until a run is done before the signal comes
    REQUIRE(i < 12);
    const ProgramRun run = run_shell(
        folder, fmt::format("packsim compare many.json --quiet --out report & p=$!; sleep {}; kill -TERM $p; "
                            "timeout 2 tail --pid=$p -f /dev/null || echo late; wait $p",
                            0.2 * std::exp2(i)));
    CAPTURE(i, run.err);
    CHECK(run.out.empty());
    if (run.exit_code == 0) break;
    REQUIRE(run.exit_code == 143);
    ++n_ended;
    const bool exists = std::filesystem::exists(folder / "report");
    const auto n_files = !exists ? 0
                                 : std::distance(std::filesystem::directory_iterator(folder / "report"),
                                                 std::filesystem::directory_iterator());
    CHECK((n_files == 0 || n_files == 4));
    std::filesystem::remove_all(folder / "report");
  }
  CHECK(n_ended > 2);
}

// A job that takes longer than a machine takes to start it.
TEST_CASE("Ctrl-C asks recommend for what it knows; again, it ends it", "[plain]") {
  const TemporaryFolder folder;
  write_text(folder / "long.json", kLongJob);
  const std::string command = "recommend long.json --nodes 1,2 --deadline 100000 --json --quiet";
  const std::string line =
      "packsim: interrupted (SIGINT); what is known by now follows, unless a second SIGINT ends the "
      "program\n";
  const ProgramRun once = run_interrupted(folder, SIGINT, 0.5, command);
  CHECK(once.exit_code == 0);
  CHECK(once.err == line);
  CHECK(once.out.find("\"is_complete\": false") != std::string::npos);
  // Both come while the samples are drawn.
  const ProgramRun twice = run_interrupted(folder, SIGINT, 0.1, command, 2);
  CHECK(twice.exit_code == 128 + 2);
  CHECK(twice.err == line + "packsim: interrupted (SIGINT); every file is whole, or as it was before\n");
}

TEST_CASE("A second signal does not wait for a file that nobody reads") {
  const TemporaryFolder folder;
  write_text(folder / "short.json", kShortJob);
  const ProgramRun run = run_shell(
      folder,
      // The first byte says that it writes; the pipe holds less than the rest.
      "mkfifo pipe; exec 3<>pipe; packsim trace short.json --strategy isf --out pipe & p=$!; "
      "head -c 1 <&3 >first; kill -TERM $p; sleep 0.1; kill -0 $p && echo waits; kill -TERM $p; wait $p");
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
