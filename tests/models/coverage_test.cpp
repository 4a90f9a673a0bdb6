#include "models/coverage/coverage.hpp"

#include <catch2/catch.hpp>

#include "models/kernels/rough_time.hpp"

using namespace packsim;

namespace {

KernelCase gemm(int m) {
  return KernelCase::parse("gemm m=" + std::to_string(m) + " n=64 k=64 layout=tn cache=cold");
}
KernelCase adamw(int n) {
  return KernelCase::parse("adamw parameters=" + std::to_string(n));
}

// m = 1 was measured, 2 lies between, 3 beyond; a second each; nothing is known of AdamW.
KernelTime lookup(const KernelCase& kernel) {
  if (kernel.kernel() == "adamw") return {0, 0, Evidence::missing, "nothing"};
  if (kernel.kernel() == "launch_gap") return {1e-6, 0.1, Evidence::measured, "curve"};
  const std::int64_t m = kernel.integer("m");
  if (m == 1) return {1, 0.01, Evidence::measured, "curve"};
  if (m == 2) return {1, 0.04, Evidence::interpolated, "curve"};
  return {1, 0.25, Evidence::extrapolated, "model"};
}

}  // namespace

TEST_CASE("Shares of time by evidence are those of count x time") {
  const std::vector<KernelUse> uses = {
      {gemm(1), 5, "forward"}, {gemm(2), 3, "forward"}, {gemm(3), 1, "backward"}, {gemm(1), 1, "recompute"}};
  const Coverage result = coverage(lookup, uses);
  CHECK(result.total_s == 10);
  CHECK(result.fraction_by_evidence[0] == Approx(0.6));
  CHECK(result.fraction_by_evidence[1] == Approx(0.3));
  CHECK(result.fraction_by_evidence[2] == Approx(0.1));
  CHECK(result.fraction_by_evidence.back() == 0);
  REQUIRE(result.families.size() == 1);
  CHECK(result.families[0].family == "gemm");
  // gemm(1) is one kernel in two parts.
  CHECK(result.families[0].n_kernels == std::array<int, kNEvidenceLevels>{1, 1, 1});
  // Errors of a family add up: (6 x 0.01 + 3 x 0.04 + 1 x 0.25) / 10.
  CHECK(result.relative_error == Approx(0.043));
}

TEST_CASE("What is missing counts with a rough time, and has no error") {
  const std::vector<KernelUse> uses = {{gemm(1), 1, "forward"}, {adamw(1 << 30), 100, "optimizer"}};
  const Coverage result = coverage(lookup, uses);
  const double rough_s = 100 * rough_kernel_s(adamw(1 << 30));
  CHECK(result.total_s == Approx(1 + rough_s));
  CHECK(result.fraction_by_evidence.back() == Approx(rough_s / (1 + rough_s)));
  CHECK(result.uses.front().use.kernel == adamw(1 << 30));
  CHECK(result.relative_error == Approx(0.01));
}

TEST_CASE("Families are independent of each other: their errors add as squares") {
  const auto two_families = [](const KernelCase& kernel) {
    return KernelTime{1, kernel.kernel() == "gemm" ? 0.03 : 0.04, Evidence::measured, ""};
  };
  const std::vector<KernelUse> uses = {{gemm(1), 1, "forward"}, {adamw(1), 1, "optimizer"}};
  // sqrt(0.03^2 + 0.04^2) s of 2 s.
  CHECK(coverage(two_families, uses).relative_error == Approx(0.025));
}

TEST_CASE("Launch gaps are looked up but take no share of the GPU's time") {
  const std::vector<KernelUse> uses = {{gemm(1), 1, "forward"},
                                       {KernelCase::parse("launch_gap"), 1e6, "launch"}};
  const Coverage result = coverage(lookup, uses);
  CHECK(result.total_s == 1);
  CHECK(result.uses.back().total_s == Approx(1));
  CHECK(result.uses.back().fraction == 0);
}

TEST_CASE("What has not been measured is listed by its share of time, each kernel once") {
  const std::vector<KernelUse> uses = {{gemm(2), 2, "forward"},
                                       {gemm(3), 1, "forward"},
                                       {gemm(3), 4, "backward"},
                                       {gemm(1), 3, "forward"},
                                       {adamw(1), 1, "optimizer"}};
  const Coverage result = coverage(lookup, uses);
  const std::vector<UnmeasuredCase> all = unmeasured_cases(result, Evidence::interpolated);
  REQUIRE(all.size() == 3);
  CHECK(all[0].kernel == gemm(3));
  CHECK(all[0].fraction == Approx(0.5).epsilon(1e-3));
  CHECK(all[1].kernel == gemm(2));
  CHECK(all[2].kernel == adamw(1));
  const std::vector<UnmeasuredCase> beyond = unmeasured_cases(result, Evidence::extrapolated);
  REQUIRE(beyond.size() == 2);
  CHECK(beyond[0].kernel == gemm(3));
  CHECK(beyond[1].evidence == Evidence::missing);
  CHECK(unmeasured_cases(result, Evidence::missing).size() == 1);
}

TEST_CASE("Nothing to cover is covered") {
  const Coverage result = coverage(lookup, {});
  CHECK(result.total_s == 0);
  CHECK(result.relative_error == 0);
  CHECK(unmeasured_cases(result, Evidence::interpolated).empty());
}
