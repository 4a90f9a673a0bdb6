#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "calibration/microbench/core/runner.hpp"
#include "calibration/microbench/distributed/processes/processes.hpp"
#include "free_port.hpp"

using namespace packsim;
using namespace packsim::microbench;

namespace {

/// Every sample is 1 or 2 s, in turn: never steady.
class Restless : public Machine {
 public:
  bool is_for_all_ranks(const KernelCase&) const override { return true; }
  Prepared prepare(const KernelCase&) override {
    return {"fake", [n = 0]() mutable { return 1.0 + n++ % 2; }};
  }
  std::optional<Health> health() override { return std::nullopt; }
};

}  // namespace

TEST_CASE("Processes whose clocks differ measure the same cases to the end") {
  const std::uint16_t port = free_port();
  const auto measure = [&](int rank) {
    const auto channel =
        make_coordination({.launcher = "test", .rank = rank, .n_ranks = 2, .host = "127.0.0.1", .port = port},
                          {.meeting_s = 60});
    // To the first process a second passes between any two looks at the clock, to the other next to nothing:
    // each judges for itself that it has measured long enough, and only the first may decide.
    double now_s = 0;
    Run run;
    run.rule.longest_s = 20;
    run.rule.max_samples = 1000000;
    run.now_s = [&] { return now_s += rank == 0 ? 1 : 1e-9; };
    run.stop_asked = [] { return false; };
    run.coordination = channel.get();
    Restless machine;
    const std::vector<KernelCase> cases = {
        KernelCase::parse("collective op=all_reduce gpus=2 nodes=1 bytes=1024 imbalance=1"),
        KernelCase::parse("collective op=all_gather gpus=2 nodes=1 bytes=1024 imbalance=1")};
    const RunSummary summary = run_cases(cases, machine, run);
    return summary.ending == Ending::complete && summary.n_measured == 2;
  };
  const pid_t other = ::fork();
  REQUIRE(other >= 0);
  if (other == 0) {
    ::alarm(120);
    bool is_good = false;
    try {
      is_good = measure(1);
    } catch (const std::exception&) {
    }
    ::_exit(is_good ? 0 : 1);
  }
  bool first_is_good = false;
  CHECK_NOTHROW(first_is_good = measure(0));
  CHECK(first_is_good);
  int status = 0;
  ::waitpid(other, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
