#include "calibration/microbench/core/runner.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>

#include "calibration/microbench/core/json_line.hpp"
#include "calibration/microbench/core/progress.hpp"
#include "calibration/microbench/core/stop_signals.hpp"
#include "tests/microbench/fakes.hpp"

namespace packsim::microbench {
namespace {

std::unique_ptr<MeasurementFile> open_file(const std::string& path) {
  auto file = std::make_unique<MeasurementFile>(path, "GPU A");
  file->append(format_line(SourceLine{"GPU A", "test", {}}));
  return file;
}

const std::string kBrokenOff =
    "the GPU failed: an earlier run ended in the middle of it (crash, hang or kill)";

// Of the only case in a file's text.
std::vector<double> samples_of(const std::string& text) {
  const std::size_t start = text.find("{\"case\"");
  std::vector<double> samples_s;
  const Json line = parse_json(text.substr(start, text.find('\n', start) - start));
  for (const Json& sample : line.field("samples_s")->items) samples_s.push_back(sample.number);
  return samples_s;
}

}  // namespace

TEST_CASE("every case is measured or skipped with its reason, and then the file is complete") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  FakeMachine machine;
  machine.unavailable["adamw parameters=2"] = "too large";
  std::ostringstream progress;
  {
    const auto file = open_file(path);
    Run run = machine.run(file.get());
    run.progress = &progress;
    const RunSummary summary = run_cases(adamw_cases(3), machine, run);
    CHECK(summary.ending == Ending::complete);
    CHECK(summary.n_measured == 2);
    CHECK(summary.skipped.at("too large") == 1);
    CHECK(summary.n_left() == 0);
    CHECK_THAT(format_summary(summary), Catch::Contains("skipped: too large"));
  }
  const std::string text = read_text(path);
  CHECK(count(text, R"("samples_s": [0.001, 0.001, )") == 2);
  CHECK(count(text, R"({"skipped": "adamw parameters=2", "reason": "too large"})") == 1);
  CHECK(text.ends_with("{\"end\": \"complete\"}\n"));
  CHECK_THAT(progress.str(), Catch::Contains("[3/3, 1 s left] adamw parameters=3: 1 ms"));

  // Again: nothing is measured twice, what was skipped is tried again, and its reason is not repeated.
  const auto file = open_file(path);
  machine.n_prepared = 0;
  const RunSummary again = run_cases(adamw_cases(3), machine, machine.run(file.get()));
  CHECK(again.n_in_file == 2);
  CHECK(machine.n_prepared == 1);
  CHECK(count(read_text(path), "\"skipped\"") == 1);
}

TEST_CASE("texts of a plan or a driver do not act on the terminal that shows progress and summary") {
  std::ostringstream shown;
  Progress progress(&shown, 1, 0);
  progress.start("copy \x1b[2J", 0);
  progress.finish("skipped: \x1b[31m");
  CHECK(shown.str() == "[1/1] copy \\x1b[2J: skipped: \\x1b[31m\n");
  RunSummary summary;
  summary.skipped["\x1b[31m"] = 1;
  CHECK_THAT(format_summary(summary), Catch::Contains("  skipped: \\x1b[31m "));
}

TEST_CASE("a case that stays noisy and a GPU that is slowed for heat are flagged") {
  const Folder folder;
  FakeMachine machine;
  int call = 0;
  machine.time_s = [&](const KernelCase& kernel) {
    return kernel.integer("parameters") == 1 ? 1e-3 * (1 + ++call % 2) : 1e-3;
  };
  machine.reading = Health{2000, 650, 55, {"power_cap"}};
  const auto file = open_file(folder.file("m.jsonl"));
  RunSummary summary = run_cases(adamw_cases(2), machine, machine.run(file.get()));
  CHECK(summary.n_noisy == 1);
  CHECK(summary.n_throttled == 0);  // drawing all the power that is allowed is not throttling
  CHECK(count(read_text(folder.file("m.jsonl")), R"("flags": ["noisy"])") == 1);

  // The clock of the first case moves at the power limit, as large products let it; the second is hot.
  FakeMachine moving;
  int call_of_case = 0;
  std::int64_t last = 0;
  moving.time_s = [&](const KernelCase& kernel) {
    const std::int64_t number = kernel.integer("parameters");
    call_of_case = number == last ? call_of_case + 1 : 0;
    last = number;
    moving.reading =
        Health{call_of_case > 300 ? 1500.0 : 2000.0, 650, 55, {number == 1 ? "power_cap" : "heat"}};
    return 1e-3;
  };
  const auto second = open_file(folder.file("n.jsonl"));
  summary = run_cases(adamw_cases(2), moving, moving.run(second.get()));
  CHECK(summary.n_throttled == 1);
  const std::string text = read_text(folder.file("n.jsonl"));
  CHECK(count(text, R"("flags": ["throttled"])") == 1);
  CHECK_THAT(text, Catch::Contains(R"("details": {"sm_clock_mhz": [1500, 2000], "power_w": 650)"));
}

TEST_CASE("a kernel's time is that of the clock that the GPU sustains, not of the one that it starts at") {
  // The clock falls by 8 % as the power limit takes hold, from the start of the work on the case.
  const auto fall = GENERATE(
      as<std::function<double(double)>>(), [](double time_s) { return std::min(time_s / 0.15, 1.0); },
      [](double time_s) { return 1 - std::exp(-time_s / 0.05); },
      [](double time_s) { return 1 - std::exp(-time_s / 0.15); });
  const auto [call_s, n_calls] =
      GENERATE(std::pair(20e-6, 25), std::pair(1e-3, 1), std::pair(20e-3, 1), std::pair(5e-6, 100));
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  FakeMachine machine;
  machine.n_calls = n_calls;
  machine.time_s = [&, full_s = call_s](const KernelCase&) {
    return full_s / (1 - 0.08 * fall(machine.clock_s));
  };
  const auto file = open_file(path);
  const RunSummary summary = run_cases(adamw_cases(1), machine, machine.run(file.get()));
  CHECK(summary.n_noisy == 0);
  CHECK(median(samples_of(read_text(path))) == Approx(call_s / 0.92).epsilon(0.01));
  CHECK(machine.clock_s > 0.35);
  CHECK(machine.clock_s < 1);
}

TEST_CASE("a kernel that drifts for as long as it is measured is noisy") {
  const Folder folder;
  FakeMachine machine;
  const double call_s = GENERATE(1e-3, 20e-3);
  machine.time_s = [&](const KernelCase&) { return call_s * (1 + 0.2 * machine.clock_s); };
  const auto file = open_file(folder.file("m.jsonl"));
  CHECK(run_cases(adamw_cases(1), machine, machine.run(file.get())).n_noisy == 1);
}

TEST_CASE("a warm-up lasts at most a second, and the options change it") {
  const Folder folder;
  FakeMachine machine;
  // Never warm: every call takes 1 % longer, or 3 % in the three calls of a quarter.
  int n_calls = 0;
  machine.time_s = [&](const KernelCase&) { return 0.05 * std::pow(1.01, ++n_calls); };
  const auto file = open_file(folder.file("m.jsonl"));
  run_cases(adamw_cases(1), machine, machine.run(file.get()));
  CHECK_THAT(read_text(folder.file("m.jsonl")), Catch::Contains("\"warmup\": 19,"));  // 0.05 x 20.2 s

  FakeMachine even;
  const auto second = open_file(folder.file("n.jsonl"));
  Run run = even.run(second.get());
  run.rule.warmup_s = 0.05;
  run.rule.shortest_s = 0.02;
  run_cases(adamw_cases(1), even, run);
  CHECK(even.clock_s == Approx(0.07).epsilon(0.05));
}

TEST_CASE("clocks are read among the samples, and not before the time of a warm-up has passed") {
  const Folder folder;
  FakeMachine machine;
  machine.time_s = [&](const KernelCase&) {
    machine.reading = Health{machine.clock_s < 0.195 ? 1500.0 : 2000.0, 650, 55, {}};
    return 1e-3;
  };
  const auto file = open_file(folder.file("m.jsonl"));
  Run run = machine.run(file.get());
  run.budget_s = 0.38;  // half of which is left to the warm-up
  run_cases(adamw_cases(1), machine, run);
  CHECK_THAT(read_text(folder.file("m.jsonl")), Catch::Contains("\"sm_clock_mhz\": [2000, 2000]"));
}

TEST_CASE("a spent budget ends the run, which then goes on where it ended") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  FakeMachine machine;
  machine.time_s = [](const KernelCase&) { return 0.1; };
  Run run;
  {
    const auto file = open_file(path);
    run = machine.run(file.get());
    run.budget_s = 3.25;
    // Six calls to warm up and five samples, as they are long: 1.1 s a case.
    const RunSummary summary = run_cases(adamw_cases(5), machine, run);
    CHECK(summary.ending == Ending::budget_spent);
    CHECK(summary.n_measured == 3);
    CHECK(summary.n_left() == 2);
    CHECK_THAT(format_summary(summary), Catch::Contains("The budget is spent"));
  }
  CHECK(read_text(path).ends_with("{\"end\": \"interrupted\"}\n"));
  const auto file = open_file(path);
  const RunSummary rest = run_cases(adamw_cases(5), machine, machine.run(file.get()));
  CHECK(rest.ending == Ending::complete);
  CHECK(rest.n_measured == 2);
}

TEST_CASE(
    "a case that the budget cuts short is flagged and measured again; one that is noisy by itself is not") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  // Too short for the warm-up; for the samples of a quiet kernel; and for one to become quiet.
  const auto [budget_s, is_quiet] =
      GENERATE(std::pair(0.38, true), std::pair(0.25, true), std::pair(0.5, false));
  FakeMachine machine;
  int n_calls = 0;
  machine.time_s = [&, quiet = is_quiet](const KernelCase&) {
    return 1e-3 * (quiet ? 1 : 1 + ++n_calls % 2);
  };
  {
    const auto file = open_file(path);
    Run run = machine.run(file.get());
    run.budget_s = budget_s;
    const RunSummary summary = run_cases(adamw_cases(1), machine, run);
    CHECK(summary.ending == Ending::budget_spent);
    CHECK(summary.n_cut == 1);
    CHECK(summary.n_measured == 0);
    CHECK(summary.n_left() == 1);
    CHECK_THAT(format_summary(summary), Catch::Contains("cut short by the budget"));
  }
  CHECK(count(read_text(path), R"("flags": ["noisy", "cut"])") == 1);
  {
    const auto file = open_file(path);
    Run run = machine.run(file.get());
    run.budget_s = 100;
    run.rule.max_samples = 5000;  // which end no case
    const RunSummary summary = run_cases(adamw_cases(1), machine, run);
    CHECK(summary.ending == Ending::complete);
    CHECK(summary.n_measured == 1);
    CHECK(summary.n_noisy == !is_quiet);
  }
  CHECK(count(read_text(path), "cut") == 1);
  const auto file = open_file(path);
  CHECK(run_cases(adamw_cases(1), machine, machine.run(file.get())).n_in_file == 1);
}

TEST_CASE("Ctrl-C ends the run after the sample, keeps what was measured, and the run goes on") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  FakeMachine machine;
  int n_calls = 0;
  machine.time_s = [&](const KernelCase& kernel) {
    if (kernel.integer("parameters") == 3 && ++n_calls == 209) std::raise(signal);  // among the samples
    return 1e-3;
  };
  {
    const auto file = open_file(path);
    const StopSignals signals;
    Run run = machine.run(file.get());
    run.stop_asked = StopSignals::asked;
    const RunSummary summary = run_cases(adamw_cases(4), machine, run);
    CHECK(summary.ending == Ending::interrupted);
    CHECK(summary.n_measured == 2);
    CHECK(n_calls == 209);
  }
  CHECK(count(read_text(path), "\"case\"") == 2);
  CHECK(read_text(path).ends_with("{\"end\": \"interrupted\"}\n"));
  const auto file = open_file(path);
  CHECK(run_cases(adamw_cases(4), machine, machine.run(file.get())).n_measured == 2);
}

TEST_CASE("a run that is killed leaves a file that the next run completes, each case once") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    FakeMachine machine;
    int n_calls = 0;
    machine.time_s = [&](const KernelCase&) {
      // Never done before it is killed, however late that is.
      if (++n_calls > 3000) ::pause();
      return 1e-3;
    };
    const auto file = open_file(path);
    run_cases(adamw_cases(200), machine, machine.run(file.get()));
    ::_exit(0);
  }
  int status = 0;
  while (count(read_text(path), "\"case\"") < 3) {
    REQUIRE(::waitpid(child, &status, WNOHANG) == 0);  // still there
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));

  FakeMachine machine;
  const auto file = open_file(path);
  const std::string broken_off = file->broken_off();  // none where it was killed between two cases
  const RunSummary summary = run_cases(adamw_cases(200), machine, machine.run(file.get()));
  CHECK(summary.n_in_file >= 3);
  CHECK(summary.n_in_file + summary.n_measured + !broken_off.empty() == 200);
  const std::string text = read_text(path);
  for (const KernelCase& kernel : adamw_cases(200))
    CHECK(count(text, "{\"case\": \"" + kernel.text() + "\"") + (kernel.text() == broken_off) == 1);
}

TEST_CASE("a GPU that fails ends the run; the next run passes that case by") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  FakeMachine machine;
  machine.time_s = [](const KernelCase& kernel) {
    if (kernel.integer("parameters") == 2) throw std::runtime_error("an illegal memory access");
    return 1e-3;
  };
  CHECK_THROWS_WITH(run_cases(adamw_cases(3), machine, machine.run(open_file(path).get())),
                    "adamw parameters=2: an illegal memory access");
  const auto file = open_file(path);
  const RunSummary summary = run_cases(adamw_cases(3), machine, machine.run(file.get()));
  CHECK(summary.n_in_file == 1);
  CHECK(summary.n_measured == 1);
  CHECK(summary.skipped.at("the GPU failed: an illegal memory access") == 1);

  // Retried, it fails again, which is no crash.
  {
    const auto second = std::make_unique<MeasurementFile>(folder.file("n.jsonl"), "GPU A");
    second->append(format_line(SourceLine{"GPU A", "test", {}}));
    second->append(format_skipped("adamw parameters=2", "the GPU failed: an illegal memory access"));
  }
  {
    const auto second = open_file(folder.file("n.jsonl"));
    Run run = machine.run(second.get());
    run.retry_failed = true;
    CHECK_THROWS(run_cases(adamw_cases(3), machine, run));
  }
  CHECK(open_file(folder.file("n.jsonl"))->broken_off().empty());
}

TEST_CASE("a case at which a run crashes or hangs is passed by at the next start, which says so") {
  const auto fault = GENERATE(as<std::string>(), "crash", "hang", "hang in prepare");
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  const std::string errors = folder.file("errors");
  const auto run_in_child = [&] {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(SIGABRT, SIG_DFL);
      if (std::freopen(errors.c_str(), "w", stderr) == nullptr) ::_exit(9);
      FakeMachine machine;
      machine.before_prepare = [&](const KernelCase& kernel) {
        if (kernel.integer("parameters") == 2 && fault == "hang in prepare") ::pause();
      };
      machine.time_s = [&](const KernelCase& kernel) {
        if (kernel.integer("parameters") == 2 && fault == "crash") std::abort();
        if (kernel.integer("parameters") == 2) ::pause();
        return 1e-3;
      };
      const auto file = open_file(path);
      Run run = machine.run(file.get());
      run.progress = &std::cerr;
      run.case_timeout_s = 1;
      run_cases(adamw_cases(3), machine, run);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  };
  const int status = run_in_child();
  if (fault == "crash") {
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  } else {
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 3));
    CHECK_THAT(read_text(errors),
               Catch::Contains("adamw parameters=2 hangs: expected it to end within 1 s (--case-timeout-s)"));
  }
  CHECK(read_text(path).ends_with("{\"began\": \"adamw parameters=2\"}\n"));

  CHECK(run_in_child() == 0);
  CHECK_THAT(read_text(errors),
             Catch::Contains("adamw parameters=2: an earlier run ended in the middle of it "
                             "(crash, hang or kill); it is passed by"));
  const std::string text = read_text(path);
  CHECK(count(text, format_skipped("adamw parameters=2", kBrokenOff)) == 1);
  CHECK(count(text, R"({"case": "adamw parameters=3")") == 1);
  CHECK(text.ends_with("{\"end\": \"complete\"}\n"));

  // Not again by itself, but where it is asked for.
  FakeMachine good;
  const auto file = open_file(path);
  Run run = good.run(file.get());
  const RunSummary third = run_cases(adamw_cases(3), good, run);
  CHECK(third.n_measured == 0);
  CHECK(third.skipped.at(kBrokenOff) == 1);
  run.retry_failed = true;
  CHECK(run_cases(adamw_cases(3), good, run).n_measured == 1);
}

TEST_CASE("where several processes hang, rank 0 ends first, whose file says in which case") {
  struct Second : Coordination {
    int rank() const override { return 1; }
    int n_ranks() const override { return 2; }
  };
  struct OfAll : FakeMachine {
    bool is_for_all_ranks(const KernelCase&) const override { return true; }
  };
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(9);
    Second coordination;
    OfAll machine;
    machine.before_prepare = [](const KernelCase&) { ::pause(); };
    Run run = machine.run(nullptr);
    run.coordination = &coordination;
    run.case_timeout_s = 1;
    run_cases(adamw_cases(1), machine, run);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 3));
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(1240));
}

TEST_CASE("a case that Ctrl-C or a full disk ended is measured at the next start") {
  const Folder folder;
  const std::string path = folder.file("m.jsonl");
  FakeMachine machine;
  {
    const auto file = open_file(path);
    Run run = machine.run(file.get());
    run.stop_asked = [&] { return machine.clock_s > 0.3; };
    CHECK(run_cases(adamw_cases(1), machine, run).ending == Ending::interrupted);
  }
  CHECK_THAT(read_text(path),
             Catch::EndsWith("{\"began\": \"adamw parameters=1\"}\n{\"end\": \"interrupted\"}\n"));
  {
    // As large as the file may be before the result's line: as on a full disk, but by a limit of the process.
    const auto file = open_file(path);
    struct rlimit old {};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
    struct rlimit limit = old;
    limit.rlim_cur = read_text(path).size() + 100;
    std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    FakeMachine second;
    CHECK_THROWS_WITH(run_cases(adamw_cases(1), second, second.run(file.get())),
                      Catch::Contains("cannot be written"));
    ::setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  CHECK(count(read_text(path), "\"began\"") == 1);
  FakeMachine third;
  const auto file = open_file(path);
  CHECK(run_cases(adamw_cases(1), third, third.run(file.get())).n_measured == 1);
}

TEST_CASE("a full disk in the middle of a run is the disk's failure, not the GPU's") {
  FakeMachine machine;
  MeasurementFile full("/dev/full", "GPU A");
  CHECK_THROWS_WITH(
      run_cases(adamw_cases(1), machine, machine.run(&full)),
      Catch::StartsWith("/dev/full: cannot be written") && Catch::EndsWith("No space left on device"));
}

}  // namespace packsim::microbench
