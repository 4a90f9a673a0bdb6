#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "sim/reliability/checkpoint_interval.hpp"
#include "sim/reliability/expected_run.hpp"
#include "sim/reliability/period_time.hpp"
#include "sim/reliability/simulate_runs.hpp"
#include "tests/sim/closed_forms/checkpoint_closed_forms.hpp"
#include "tests/sim/reliability/naive_run.hpp"

namespace packsim {
namespace {

constexpr double kHour = 3600;

// 100 GPUs that fail every 1 000 hours: the run fails every 10. Checkpoints take 5 minutes, restarts 15.
FailureModel ten_hour_model() {
  FailureModel model;
  model.unit_mtbf_h = 1000;
  model.checkpoint_interval_s = 2 * kHour;
  model.checkpoint_write_s = 300;
  model.detection_s = 200;
  model.reschedule_s = 300;
  model.load_s = 400;
  return model;
}

double breakdown_s(const ReliabilityResult& result) {
  return result.work_s + result.checkpoint_s + result.restart_s + result.lost_s;
}

double mean_s(double work_s, std::int64_t n_gpus, const FailureModel& model) {
  return mean_wall_s(run_with_checkpoints(work_s, n_gpus, model), model.restart_s(),
                     failure_rate_per_s(n_gpus, model));
}

TEST_CASE("nothing fails: the run is its work and its checkpoints") {
  FailureModel model = ten_hour_model();
  model.unit_mtbf_h = std::numeric_limits<double>::infinity();
  // 10 h in pieces of 2 h: 5 checkpoints of 300 s.
  for (const ReliabilityResult& result :
       {expected_run(10 * kHour, 100, model), simulate_runs(10 * kHour, 100, model, 3, 1)}) {
    CHECK(result.expected_wall_s == Approx(36000 + 5 * 300).epsilon(1e-15));
    CHECK(result.n_checkpoints == 5);
    CHECK(result.checkpoint_s == Approx(1500));
    CHECK(result.sd_wall_s == 0);
    CHECK(result.quantiles.p05_s == result.expected_wall_s);
    CHECK(result.quantiles.p95_s == result.expected_wall_s);
    CHECK(result.n_failures == 0);
    CHECK(result.gpu_days == Approx(37500.0 * 100 / 86400));
  }
  // 11 h: a sixth piece of 1 h. With a fifth of the write in front: 5 x 60 s and, at the end, 300 s.
  CHECK(expected_run(11 * kHour, 100, model).expected_wall_s == Approx(39600 + 6 * 300));
  model.checkpoint_blocking_fraction = 0.2;
  CHECK(expected_run(11 * kHour, 100, model).expected_wall_s == Approx(39600 + 5 * 60 + 300));
  // Pieces of 100 s under a background write of 240 s: each but the first waits for the write before, so a
  // write ends 100 + 300, then three times 240 + 60 and, after the last piece and a wait, 300 later: 1 600 s.
  model.checkpoint_interval_s = 100;
  CHECK(expected_run(500, 100, model).expected_wall_s == Approx(400 + 3 * 300 + 300));
}

TEST_CASE("no work takes no time") {
  for (const ReliabilityResult& result :
       {expected_run(0, 100, ten_hour_model()), simulate_runs(0, 100, ten_hour_model(), 10, 1)}) {
    CHECK(result.expected_wall_s == 0);
    CHECK(result.n_checkpoints == 0);
    CHECK(result.gpu_days == 0);
    CHECK(result.quantiles.p95_s == 0);
    CHECK(result.effective_fraction() == 1);
  }
}

TEST_CASE("the expectation is Daly's complete formula where intervals divide the work") {
  // M = 10 h, R = 900 s, delta = 300 s, tau = 2 h, Ts = 100 h: M e^(R/M) (e^((tau + delta)/M) - 1) Ts/tau.
  const double mtbf_s = 10 * kHour;
  const double daly_s = mtbf_s * std::exp(900 / mtbf_s) * (std::exp(7500 / mtbf_s) - 1) * 50;
  const ReliabilityResult result = expected_run(100 * kHour, 100, ten_hour_model());
  CHECK(result.expected_wall_s == Approx(daly_s).epsilon(1e-13));
  // 23 % of 10 hours pass between failures, and 1 - e^(-R/M) of all time is spent on restarts.
  CHECK(result.n_failures == Approx(daly_s / mtbf_s));
  CHECK(result.restart_s == Approx(daly_s * (1 - std::exp(-900 / mtbf_s))));
  CHECK(breakdown_s(result) == Approx(result.expected_wall_s));
}

TEST_CASE("rare failures cost half an interval and a restart each") {
  FailureModel model = ten_hour_model();
  model.unit_mtbf_h = 1e9;  // the run fails every 3.6e10 s
  const ReliabilityResult result = expected_run(100 * kHour, 100, model);
  const double failures = (360000 + 50 * 300) / 3.6e10;
  CHECK(result.expected_wall_s - 375000 == Approx(failures * (7500.0 / 2 + 900)).epsilon(1e-5));
  CHECK(result.lost_s == Approx(failures * 7500 / 2).epsilon(1e-4));
  // A failure adds 900 s and evenly 0 .. 7 500 s: the mean square of that is 900^2 + 900 x 7500 + 7500^2 / 3.
  CHECK(result.sd_wall_s == Approx(std::sqrt(failures * (810000 + 6750000 + 18750000))).epsilon(1e-5));
  CHECK(result.quantiles.p95_s == Approx(375000).epsilon(1e-15));
}

TEST_CASE("the variance of one stretch is (e^2x - 2x e^x - 1) M^2") {
  for (const double x : {0.01, 0.0999, 0.1001, 0.3, 0.4999, 0.5001, 2.0, 20.0}) {
    const long double wide = x;
    const double variance =
        static_cast<double>(std::exp(2 * wide) - 2 * wide * std::exp(wide) - 1) * 1000.0 * 1000.0;
    CHECK(PeriodTime{{1000 * x, 0}, 0, 1e-3}.variance_s2() == Approx(variance).epsilon(1e-11));
  }
}

TEST_CASE("closed forms, simulation and a run played out event by event agree") {
  struct Case {
    double interval_s, write_s, blocking_fraction, mtbf_h, work_h;
  };
  const Case cases[] = {
      {7200, 300, 1, 1000, 30},    // 16 intervals, the last one shorter
      {7200, 1200, 0.1, 300, 20},  // a background write that failures hit
      {500, 900, 0.2, 500, 5},     // work waits for the write before
      {3600, 1000, 0, 400, 10},    // nothing in front
      {1e6, 300, 0.5, 1000, 8},    // no checkpoint before the end
      {1800, 300, 1, 50, 3},       // fails twice an hour, often while it restarts
  };
  const int n = 40'000;
  for (const Case& c : cases) {
    FailureModel model = ten_hour_model();
    model.checkpoint_interval_s = c.interval_s;
    model.checkpoint_write_s = c.write_s;
    model.checkpoint_blocking_fraction = c.blocking_fraction;
    model.unit_mtbf_h = c.mtbf_h;
    const double work_s = (c.work_h - 0.3) * kHour;
    const ReliabilityResult exact = expected_run(work_s, 100, model);
    const ReliabilityResult simulated = simulate_runs(work_s, 100, model, n, 7);
    const NaiveRuns naive = naive_runs(work_s, 100, model, n, 7);
    CAPTURE(c.interval_s, c.write_s, exact.expected_wall_s, simulated.expected_wall_s, naive.mean_s);
    CHECK(std::abs(naive.mean_s - exact.expected_wall_s) < 4 * naive.standard_error_s);
    CHECK(std::abs(simulated.expected_wall_s - exact.expected_wall_s) < 4 * simulated.standard_error_s);
    CHECK(naive.sd_s == Approx(exact.sd_wall_s).epsilon(0.04));
    CHECK(simulated.sd_wall_s == Approx(exact.sd_wall_s).epsilon(0.04));

    const double tolerance_s = 4 * simulated.standard_error_s;
    CHECK(breakdown_s(simulated) == Approx(simulated.expected_wall_s));
    CHECK(std::abs(simulated.restart_s - exact.restart_s) < tolerance_s);
    CHECK(std::abs(simulated.lost_s - exact.lost_s) < tolerance_s);
    CHECK(simulated.checkpoint_s == exact.checkpoint_s);
    CHECK(simulated.n_failures == Approx(exact.n_failures).epsilon(0.03));

    const double blur_s = 0.02 * exact.sd_wall_s;
    for (const auto& [share, at_s] : {std::pair{0.05, exact.quantiles.p05_s},
                                      {0.5, exact.quantiles.p50_s},
                                      {0.95, exact.quantiles.p95_s},
                                      {0.05, simulated.quantiles.p05_s},
                                      {0.5, simulated.quantiles.p50_s},
                                      {0.95, simulated.quantiles.p95_s}}) {
      // Simulated quantiles have an error of their own: 4 sqrt(2) standard errors for the pair.
      const double error = 5.7 * std::sqrt(share * (1 - share) / n);
      CAPTURE(share, at_s);
      CHECK(naive.share_until(at_s + blur_s) > share - error);
      CHECK(naive.share_until(at_s - blur_s - 1e-6) < share + error);
    }
  }
}

TEST_CASE("more failures, longer restarts, longer writes and more of them in front never make a run faster") {
  std::mt19937 words(11);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(words()) * 0x1p-32;
  };
  for (int i = 0; i < 300; ++i) {
    FailureModel model;
    model.unit_mtbf_h = std::exp(uniform(3, 12));
    model.unit_gpus = words() % 8 + 1;
    model.checkpoint_interval_s = std::exp(uniform(3, 9));
    model.checkpoint_write_s = std::exp(uniform(0, 7));
    model.checkpoint_blocking_fraction = uniform(0, 1);
    model.load_s = std::exp(uniform(0, 8));
    const double work_s = std::exp(uniform(5, 13));
    const ReliabilityResult result = expected_run(work_s, 64, model);
    const double wall_s = result.expected_wall_s;
    CAPTURE(i, work_s, model.unit_mtbf_h, *model.checkpoint_interval_s, model.checkpoint_write_s);
    REQUIRE(wall_s >= work_s + model.checkpoint_write_s);
    REQUIRE(breakdown_s(result) == Approx(wall_s));
    REQUIRE(result.lost_s >= -1e-9 * wall_s);
    REQUIRE(result.quantiles.p05_s >= (work_s + result.checkpoint_s) * (1 - 1e-12));
    REQUIRE(result.quantiles.p05_s <= result.quantiles.p50_s);
    REQUIRE(result.quantiles.p50_s <= result.quantiles.p95_s);

    const auto slower = [&](auto change) {
      FailureModel worse = model;
      change(worse);
      return mean_s(work_s, 64, worse) >= wall_s * (1 - 1e-12);
    };
    REQUIRE(slower([](FailureModel& worse) { worse.unit_mtbf_h /= 1.5; }));
    REQUIRE(slower([](FailureModel& worse) { worse.unit_gpus = 1; }));
    REQUIRE(slower([](FailureModel& worse) { worse.detection_s += 60; }));
    REQUIRE(slower([](FailureModel& worse) { worse.checkpoint_write_s *= 1.3; }));
    REQUIRE(slower([](FailureModel& worse) { worse.checkpoint_blocking_fraction = 1; }));
    REQUIRE(mean_s(work_s * 1.1, 64, model) > wall_s);
    REQUIRE(mean_s(work_s, 128, model) >= wall_s * (1 - 1e-12));
  }
}

TEST_CASE("Daly's intervals are those that his paper prints") {
  // Figures 3 to 5: writes of 5 min, M = 24 h, 6 h, 15 min: 117, 57 and 9.1 min.
  CHECK(daly_interval_s(5, 24 * 60) == Approx(117).margin(0.5));
  CHECK(daly_interval_s(5, 6 * 60) == Approx(57).margin(0.5));
  CHECK(daly_interval_s(5, 15) == Approx(9.1).margin(0.05));
  CHECK(daly_interval_s(40, 15) == 15);
  CHECK(young_interval_s(5, 24 * 60) == Approx(120));  // sqrt(2 x 5 x 1440)
  // Ours for the same runs of 500 h: to half a percent.
  for (const double mtbf_s : {24 * kHour, 6 * kHour, kHour / 4}) {
    FailureModel model;
    model.unit_mtbf_h = mtbf_s / kHour;
    model.checkpoint_write_s = 300;
    model.load_s = 600;
    CHECK(optimal_interval_s(500 * kHour, 1, model) == Approx(daly_interval_s(300, mtbf_s)).epsilon(5e-3));
  }
}

TEST_CASE("no number of equal intervals beats the optimal one") {
  for (const double fraction : {1.0, 0.5, 0.1, 0.0}) {
    for (const double write_s : {1.0, 60.0, 900.0}) {
      for (const double mtbf_h : {0.5, 5.0, 100.0}) {
        FailureModel model;
        model.unit_mtbf_h = mtbf_h;
        model.checkpoint_write_s = write_s;
        model.checkpoint_blocking_fraction = fraction;
        model.load_s = 100;
        const double work_s = 5 * kHour;
        const ReliabilityResult best = expected_run(work_s, 1, model);
        double least_s = std::numeric_limits<double>::infinity();
        for (int n = 1; n < 2000; ++n) {
          least_s =
              std::min(least_s, mean_wall_s(RunClock(work_s, work_s / n, model), 100, 1 / mtbf_h / kHour));
        }
        CAPTURE(fraction, write_s, mtbf_h, best.n_checkpoints);
        // A write in the background alone of 1 s asks for more than the 2 000 intervals that were tried.
        CHECK(best.expected_wall_s <= least_s * (1 + 1e-12));
        if (best.n_checkpoints < 2000) CHECK(best.expected_wall_s == Approx(least_s).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("where nothing fails the best interval is the whole run") {
  FailureModel model;
  model.checkpoint_write_s = 60;
  CHECK(optimal_interval_s(1000, 8, model) == 1000);
  CHECK(expected_run(1000, 8, model).expected_wall_s == Approx(1060));
}

TEST_CASE("spare units: none is waiting for repairs, many is waiting for nothing") {
  FailureModel model = ten_hour_model();
  const double work_s = 50 * kHour;
  const ReliabilityResult unlimited = simulate_runs(work_s, 100, model, 5000, 3);
  model.spares = SparePool{1000, 4 * kHour};
  CHECK(simulate_runs(work_s, 100, model, 5000, 3).expected_wall_s == unlimited.expected_wall_s);

  model.spares = SparePool{0, 4 * kHour};
  const ReliabilityResult none = simulate_runs(work_s, 100, model, 5000, 3);
  const ReliabilityResult exact = expected_run(work_s, 100, model);
  CHECK(std::abs(none.expected_wall_s - exact.expected_wall_s) < 4 * none.standard_error_s);

  double more_s = none.expected_wall_s;
  for (const std::int64_t n_units : {1, 2, 3}) {
    model.spares = SparePool{n_units, 4 * kHour};
    const ReliabilityResult some = simulate_runs(work_s, 100, model, 5000, 3);
    const NaiveRuns naive = naive_runs(work_s, 100, model, 5000, 4);
    CAPTURE(n_units, some.expected_wall_s, naive.mean_s);
    CHECK(std::abs(some.expected_wall_s - naive.mean_s) <
          4 * std::hypot(some.standard_error_s, naive.standard_error_s));
    CHECK(some.expected_wall_s < more_s);
    more_s = some.expected_wall_s;
    CHECK(breakdown_s(some) == Approx(some.expected_wall_s));
  }
  CHECK(more_s > unlimited.expected_wall_s);
}

TEST_CASE("GPU-days count the spare units") {
  FailureModel model = ten_hour_model();
  model.unit_gpus = 8;
  model.spares = SparePool{2, 0};
  // 104 GPUs and 2 x 8 spare ones for a day.
  CHECK(gpu_days(86400, 104, model) == Approx(120));
  // 100 GPUs are 13 units of 8, the last in part: 13 / (1 000 h).
  CHECK(failure_rate_per_s(100, model) == Approx(13 / 3.6e6));
}

TEST_CASE("the same seed gives the same runs, and a replica does not depend on how many there are") {
  const ReliabilityResult one = simulate_runs(100 * kHour, 100, ten_hour_model(), 1, 5);
  const ReliabilityResult two = simulate_runs(100 * kHour, 100, ten_hour_model(), 2, 5);
  CHECK(simulate_runs(100 * kHour, 100, ten_hour_model(), 2, 5).expected_wall_s == two.expected_wall_s);
  CHECK((two.quantiles.p05_s == one.expected_wall_s || two.quantiles.p95_s == one.expected_wall_s));
  CHECK(simulate_runs(100 * kHour, 100, ten_hour_model(), 1, 6).expected_wall_s != one.expected_wall_s);
}

TEST_CASE("a run that cannot be expected to end is infinite, and is not simulated") {
  FailureModel model = ten_hour_model();
  model.checkpoint_interval_s = 1e8;  // the run fails every 3.6e4 s: e^2778
  const ReliabilityResult result = expected_run(1e8, 100, model);
  for (const double value : {result.expected_wall_s, result.sd_wall_s, result.quantiles.p50_s,
                             result.n_failures, result.lost_s, result.gpu_days}) {
    CHECK(value == std::numeric_limits<double>::infinity());
  }
  CHECK_THROWS_WITH(simulate_runs(1e8, 100, model, 1, 1), Catch::Contains("expected at most 2e7 failures"));
}

TEST_CASE("the failures of the Llama 3 run, and what they leave of its time") {
  FailureModel model;
  model.unit_mtbf_h = kPublishedMtbfs[0].unit_mtbf_h;
  model.unit_gpus = kPublishedMtbfs[0].unit_gpus;
  CHECK(failure_rate_per_s(16384, model) * 54 * 86400 == Approx(419));
  // The paper reports an effective training time above 90 %, and neither restart nor checkpoint times. Of
  // what docs/reliability.md lists, these two are on either side of it.
  model.load_s = 600;
  model.checkpoint_write_s = 30;
  CHECK(expected_run(54 * 86400, 16384, model).effective_fraction() == Approx(0.880).margin(5e-4));
  model.checkpoint_blocking_fraction = 0.1;
  CHECK(expected_run(54 * 86400, 16384, model).effective_fraction() == Approx(0.9235).margin(5e-4));
  // Kokolis et al. project 1.8 h between failures for 16 384 GPUs of RSC-1.
  model.unit_mtbf_h = kPublishedMtbfs[1].unit_mtbf_h;
  model.unit_gpus = kPublishedMtbfs[1].unit_gpus;
  CHECK(1 / failure_rate_per_s(16384, model) / kHour == Approx(1.8).margin(0.05));
}

TEST_CASE("every mistake in a failure model is named at once, with what was expected") {
  FailureModel bad;
  bad.unit_mtbf_h = 0;
  bad.unit_gpus = 0;
  bad.checkpoint_interval_s = -1;
  bad.checkpoint_write_s = std::numeric_limits<double>::infinity();
  bad.checkpoint_blocking_fraction = 1.5;
  bad.detection_s = -2;
  bad.load_s = std::numeric_limits<double>::quiet_NaN();
  bad.spares = SparePool{-1, -3};
  const std::string all =
      "work_s: expected a number of at least 0, got -5.000000; n_gpus: expected at least 1, got 0; "
      "unit_mtbf_h: expected a number above 0, got 0.000000; unit_gpus: expected at least 1, got 0; "
      "checkpoint_write_s: expected a number of at least 0, got inf; checkpoint_interval_s: expected a "
      "number above 0 and of at most 1e12 checkpoints a run, got -1.000000; checkpoint_blocking_fraction: "
      "expected 0..1, got 1.500000; detection_s: expected a number of at least 0, got -2.000000; load_s: "
      "expected a number of at least 0, got nan; spares.n_units: expected at least 0, got -1; "
      "spares.repair_s: expected a number of at least 0, got -3.000000";
  CHECK_THROWS_WITH(expected_run(-5, 0, bad), all);
  CHECK_THROWS_WITH(simulate_runs(-5, 0, bad, 1, 1), all);
  CHECK_THROWS_AS(expected_run(-5, 0, bad), std::invalid_argument);
}

TEST_CASE("what has no answer is refused") {
  FailureModel model = ten_hour_model();
  CHECK_THROWS_WITH(simulate_runs(1, 1, model, 0, 1), "n_replicas: expected at least 1, got 0");
  model.spares = SparePool{2, 100};
  CHECK_THROWS_WITH(expected_run(1, 1, model), Catch::Contains("spares.n_units: expected 0"));
  // Checkpoints that cost nothing: the more the better, without end.
  model = ten_hour_model();
  model.checkpoint_interval_s.reset();
  model.checkpoint_write_s = 0;
  CHECK_THROWS_WITH(optimal_interval_s(1000, 1, model),
                    Catch::Contains("checkpoint_interval_s: expected a number"));
  CHECK_THROWS_WITH(
      checkpoint_write_s(-1, 0),
      "size_bytes: expected a number of at least 0, got -1.000000; bandwidth_bytes_per_s: expected "
      "a number above 0, got 0.000000");
  CHECK(checkpoint_write_s(5e12, 2.5e9) == 2000);
}

}  // namespace
}  // namespace packsim
