#include "models/step/uncertainty.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/step/overlap.hpp"

using namespace packsim;

namespace {

std::array<double, kNCauses> fractions(std::initializer_list<std::pair<Cause, double>> parts) {
  std::array<double, kNCauses> fraction = {};
  for (const auto& [cause, part] : parts) fraction[static_cast<std::size_t>(cause)] = part;
  return fraction;
}

const CurveName kGemm{"gemm", "gemm n=4096"};
const CurveName kWideGemm{"gemm", "gemm n=28672"};
const CurveName kForward{"attention pass=fwd", "attention pass=fwd heads=32"};

// Half of its time measured within 4 %, half missing within 20 %, and attention within 10 %.
PriceAccount some_account() {
  PriceAccount account;
  account.add(Cause::linear, kGemm, {.time_s = 5, .error_s = 0.2, .evidence = Evidence::measured});
  account.add(Cause::linear, kWideGemm, {.time_s = 5, .error_s = 1, .evidence = Evidence::missing});
  account.add(Cause::attention, kForward, {.time_s = 4, .error_s = 0.4, .evidence = Evidence::extrapolated});
  return account;
}

FrameworkProfile untold() {
  FrameworkProfile profile;
  profile.name = "untold";
  return profile;
}

// Nothing but the error of one factor.
FrameworkProfile with_variance(std::size_t factor, double variance) {
  FrameworkProfile profile = untold();
  profile.log_covariance.assign(kNTimeFactors * kNTimeFactors, 0);
  profile.log_covariance[factor * kNTimeFactors + factor] = variance;
  return profile;
}

}  // namespace

TEST_CASE("Kernels of a family err together, families independently, each by its share of the time") {
  const auto fraction = fractions({{Cause::linear, 0.5}, {Cause::attention, 0.2}});
  const Uncertainty uncertainty = run_uncertainty(fraction, some_account(), untold(), false);
  // Products: 0.5 x (0.2 + 1) / 10. Attention: 0.2 x 0.4 / 4.
  REQUIRE(uncertainty.sources.size() == 2);
  CHECK(uncertainty.sources[0].reason == "gemm n=28672 is not well known on this GPU and these links");
  CHECK(uncertainty.sources[0].relative_error == Approx(0.06));
  CHECK(uncertainty.sources[1].reason ==
        "attention pass=fwd heads=32 is not well known on this GPU and these links");
  CHECK(uncertainty.sources[1].relative_error == Approx(0.02));
  CHECK(time_error(uncertainty.errors) == Approx(std::sqrt(0.06 * 0.06 + 0.02 * 0.02)));
}

TEST_CASE("A forward pass that runs again errs as the first one does") {
  PriceAccount account;
  account.add(Cause::linear, kGemm, {.time_s = 2, .error_s = 0.2, .evidence = Evidence::measured});
  account.add(Cause::recompute, kGemm, {.time_s = 1, .error_s = 0.1, .evidence = Evidence::measured});
  // 0.6 x 10 % + 0.3 x 10 %, not the root of their squares.
  const auto fraction = fractions({{Cause::linear, 0.6}, {Cause::recompute, 0.3}});
  CHECK(time_error(run_uncertainty(fraction, account, untold(), false).errors) == Approx(0.09));
}

TEST_CASE("Of the profile's own model only what is under no factor errs") {
  PriceAccount account = some_account();
  account.add(Cause::states, {"collective op=all_gather", "collective op=all_gather gpus=8"},
              {.time_s = 1, .error_s = 0.3, .evidence = Evidence::interpolated});
  const auto fraction = fractions({{Cause::linear, 0.5}, {Cause::states, 0.1}});
  const Uncertainty own = run_uncertainty(fraction, account, untold(), true);
  REQUIRE(own.sources.size() == 1);
  CHECK(own.sources[0].reason ==
        "collective op=all_gather gpus=8 is not well known on this GPU and these links");
  CHECK(time_error(own.errors) == Approx(0.03));
}

TEST_CASE("AdamW on the GPU is under the factor of products, on the host it is not") {
  PriceAccount account;
  account.add(Cause::optimizer, {"adamw", "adamw cache=cold"}, {1, 0.2, Evidence::measured});
  account.add(Cause::optimizer, {"adamw on the host", "AdamW on the host"}, {1, 0.5, Evidence::missing});
  const auto fraction = fractions({{Cause::optimizer, 0.4}});
  CHECK(time_error(run_uncertainty(fraction, account, untold(), true).errors) == Approx(0.4 * 0.5 / 2));
  CHECK(time_error(run_uncertainty(fraction, account, untold(), false).errors) ==
        Approx(std::hypot(0.4 * 0.5 / 2, 0.4 * 0.2 / 2)));
}

TEST_CASE("Factors err by the time that is under them, and left-out steps by what they showed") {
  const auto fraction = fractions({{Cause::linear, 0.4},
                                   {Cause::optimizer, 0.1},
                                   {Cause::attention, 0.2},
                                   {Cause::sequence, 0.15},
                                   {Cause::overhead, 0.05}});
  const auto error = [&](std::size_t factor) {
    FrameworkProfile profile = with_variance(factor, 0.04);
    profile.factors.micro_batch_s = 0.003;
    profile.factors.step_s = 0.001;
    return time_error(run_uncertainty(fraction, {}, profile, true).errors);
  };
  CHECK(error(0) == Approx(0.2 * 0.5));  // products and the optimizer
  CHECK(error(1) == Approx(0.2 * 0.2));
  CHECK(error(3) == Approx(0.2 * 0.15));  // the less certain of both exchange factors has all exchange
  // Three quarters of the overhead of a step of one micro-batch are the micro-batch's.
  CHECK(error(4) == Approx(0.2 * 0.05 * 3 / 4));
  CHECK(error(5) == Approx(0.2 * 0.05 / 4));
  FrameworkProfile profile = with_variance(0, 0.04);
  profile.left_out_error = 0.3;
  const Uncertainty both = run_uncertainty(fraction, {}, profile, true);
  CHECK(time_error(both.errors) == Approx(std::hypot(0.1, 0.3)));
  REQUIRE(both.sources.size() == 2);
  CHECK(both.sources[0].reason == "profile untold misses steps that it was not fitted to");
  CHECK(both.sources[0].relative_error == Approx(0.3));
  CHECK(both.sources[1].reason == "the fitted factors of profile untold are uncertain");
}

TEST_CASE("A doubt about the profile adds its error, and says its reason") {
  const std::vector<ProfileDoubt> doubts = {{"no step of profile untold had experts", 0.25}};
  const Uncertainty uncertainty = run_uncertainty({}, {}, untold(), true, doubts);
  REQUIRE(uncertainty.sources.size() == 1);
  CHECK(uncertainty.sources[0].reason == "no step of profile untold had experts");
  CHECK(time_error(uncertainty.errors) == Approx(0.25));
}

TEST_CASE("An error that few groups of left-out steps showed counts for more") {
  // Quantile 0.95 of Student's distribution over that of the normal one, from tables: 2.920, 1.895 and 1.645.
  CHECK(few_groups_factor(2) == Approx(2.920 / 1.645).epsilon(1e-3));
  CHECK(few_groups_factor(7) == Approx(1.895 / 1.645).epsilon(1e-3));
  CHECK(few_groups_factor(1'000'000) == Approx(1).epsilon(1e-5));
  CHECK(few_groups_factor(0) == 1);
  FrameworkProfile profile = untold();
  profile.left_out_error = 0.1;
  profile.left_out_groups = 2;
  CHECK(time_error(run_uncertainty(fractions({{Cause::linear, 1}}), {}, profile, true).errors) ==
        Approx(0.1 * 2.920 / 1.645).epsilon(1e-3));
}

TEST_CASE("A recomputed forward pass is products and attention as the first one is") {
  // Forward is a third of products and 1/3.5 of attention: 0.1 and 0.1, so the recomputation is half and
  // half.
  const auto fraction = fractions({{Cause::linear, 0.3}, {Cause::attention, 0.35}, {Cause::recompute, 0.2}});
  CHECK(time_error(run_uncertainty(fraction, {}, with_variance(0, 1), true).errors) == Approx(0.3 + 0.1));
  CHECK(time_error(run_uncertainty(fraction, {}, with_variance(1, 1), true).errors) == Approx(0.35 + 0.1));
}

TEST_CASE("Standings count by the time of the run, not of the kernels, without what is no kernel") {
  // Kernels of exchange are as long as those of products, but all of them but a tenth are hidden.
  PriceAccount account;
  account.add(Cause::linear, kGemm, {.time_s = 1, .error_s = 0, .evidence = Evidence::measured});
  account.add(Cause::states, kForward, {.time_s = 1, .error_s = 0, .evidence = Evidence::missing});
  const auto evidence = evidence_fractions(
      fractions({{Cause::linear, 0.45}, {Cause::states, 0.05}, {Cause::overhead, 0.1}}), account);
  CHECK(evidence[static_cast<std::size_t>(Evidence::measured)] == Approx(0.9));
  CHECK(evidence[static_cast<std::size_t>(Evidence::missing)] == Approx(0.1));
  CHECK(evidence_fractions({}, {}) == std::array<double, kNEvidenceLevels>{});
}

TEST_CASE("Computation beside communication takes what the profile has measured, and never less") {
  HardwareProfile profile;
  CHECK(overlap_slow_down(profile) == 1);
  const auto add = [&](double slow_down) {
    profile.models.push_back(
        {.key = "overlap " + std::to_string(slow_down), .numbers = {{"slow_down", slow_down, 0}}});
  };
  add(1.21);
  CHECK(overlap_slow_down(profile) == Approx(1.21));
  add(1.0);
  CHECK(overlap_slow_down(profile) == Approx(1.1));  // the root of their product
  add(0.5);
  CHECK(overlap_slow_down(profile) == 1);
}

TEST_CASE("nine of ten log-normal errors are within 1.645 standard deviations") {
  CHECK(nine_of_ten_factor(0.1) == Approx(std::exp(0.1644854)));
  CHECK(nine_of_ten_factor(0) == 1);
}

TEST_CASE("what two runs of a job share cancels out in their ratio, what they do not adds up") {
  const TimeErrors a{.shared = {{"kernels", 0.3}, {"factor", 0.1}}, .own = 0.04};
  const TimeErrors b{.shared = {{"kernels", 0.3}, {"doubt", 0.2}}, .own = 0.03};
  CHECK(time_error(a) == Approx(std::sqrt(0.09 + 0.01 + 0.0016)));
  // 0.1 of the factor, 0.2 of the doubt, and 0.05 of both runs' own.
  CHECK(ratio_error(a, b) == Approx(std::sqrt(0.01 + 0.04 + 0.0025)));
  CHECK(ratio_error(a, b) == Approx(ratio_error(b, a)));
  CHECK(ratio_error({.shared = a.shared}, {.shared = a.shared}) == 0);
}

TEST_CASE("the ratio of two runs errs as the factors' covariance says of the difference of their shares") {
  FrameworkProfile profile = untold();
  profile.log_covariance.assign(kNTimeFactors * kNTimeFactors, 0);
  const auto covariance = [&](std::size_t i, std::size_t j) -> double& {
    return profile.log_covariance[i * kNTimeFactors + j];
  };
  // Products and attention err against each other, products and micro-batches together; step_s is certain.
  covariance(0, 0) = 0.04;
  covariance(1, 1) = 0.09;
  covariance(4, 4) = 0.25;
  covariance(0, 1) = covariance(1, 0) = -0.03;
  covariance(0, 4) = covariance(4, 0) = 0.02;
  profile.factors.micro_batch_s = 1;
  const auto errors = [&](double linear, double attention, double overhead) {
    const auto fraction =
        fractions({{Cause::linear, linear}, {Cause::attention, attention}, {Cause::overhead, overhead}});
    return run_uncertainty(fraction, {}, profile, true).errors;
  };
  const TimeErrors many = errors(0.4, 0.2, 0.4);
  const TimeErrors few = errors(0.6, 0.3, 0.1);
  // Shares x covariance x shares: .16 x .04 + .04 x .09 + .16 x .25 - 2 x .08 x .03 + 2 x .16 x .02.
  CHECK(time_error(many) == Approx(std::sqrt(0.0064 + 0.0036 + 0.04 - 0.0048 + 0.0064)));
  // Of the differences, -.2, -.1 and .3: .04 x .04 + .01 x .09 + .09 x .25 - 2 x .02 x .03 - 2 x .06 x .02.
  CHECK(ratio_error(many, few) == Approx(std::sqrt(0.0016 + 0.0009 + 0.0225 - 0.0012 - 0.0024)));
  CHECK(ratio_error(many, few) < std::hypot(time_error(many), time_error(few)));
}

TEST_CASE("a part of the left-out error is common to all runs of a profile") {
  FrameworkProfile profile = untold();
  profile.left_out_error = 0.1;
  const TimeErrors run = run_uncertainty(fractions({{Cause::linear, 1}}), {}, profile, true).errors;
  CHECK(time_error(run) == Approx(0.1));
  CHECK(ratio_error(run, run) == Approx(0.1 * std::sqrt(2 * kOwnShareOfLeftOutError)));
}
