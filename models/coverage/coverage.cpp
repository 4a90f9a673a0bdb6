#include "models/coverage/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/kernels/rough_time.hpp"

namespace packsim {
namespace {

constexpr std::string_view kLaunch = "launch";

std::size_t index_of(Evidence evidence) {
  return static_cast<std::size_t>(evidence);
}

std::string family_of(const KernelCase& kernel) {
  std::string family(kernel.kernel());
  for (const KernelKey& key : kernel.kind().keys) {
    if (key.name == "op" || key.name == "pass") family += " " + kernel.value(key.name);
  }
  return family;
}

// What a sum of times is off by, relative to it.
struct ErrorSum {
  double known_s = 0;
  double error_s = 0;
  double relative() const { return known_s > 0 ? error_s / known_s : 0; }
};

}  // namespace

Coverage coverage(const std::function<KernelTime(const KernelCase&)>& kernel_time,
                  std::span<const KernelUse> uses) {
  Coverage result;
  for (const KernelUse& use : uses) {
    CoveredUse covered{.use = use, .time = kernel_time(use.kernel)};
    if (covered.time.evidence == Evidence::missing) covered.time.time_s = rough_kernel_s(use.kernel);
    covered.total_s = use.count * covered.time.time_s;
    if (use.part != kLaunch) result.total_s += covered.total_s;
    result.uses.push_back(std::move(covered));
  }

  std::map<std::string, FamilyCoverage> families;
  std::map<std::string, ErrorSum> errors;
  std::set<std::string> seen;  // a kernel of several parts counts once
  for (CoveredUse& covered : result.uses) {
    const bool launch = covered.use.part == kLaunch;
    covered.fraction = launch || result.total_s == 0 ? 0 : covered.total_s / result.total_s;
    const std::string name = family_of(covered.use.kernel);
    const std::size_t evidence = index_of(covered.time.evidence);
    FamilyCoverage& family = families[name];
    family.family = name;
    family.total_s += covered.total_s;
    family.fraction += covered.fraction;
    family.fraction_by_evidence[evidence] += covered.fraction;
    result.fraction_by_evidence[evidence] += covered.fraction;
    if (seen.insert(covered.use.kernel.text()).second) ++family.n_kernels[evidence];
    if (covered.time.evidence == Evidence::missing) continue;
    errors[name].known_s += covered.total_s;
    errors[name].error_s += covered.total_s * covered.time.relative_error;
  }

  ErrorSum whole;
  double squares = 0;
  for (auto& [name, family] : families) {
    family.relative_error = errors[name].relative();
    if (family.fraction > 0) {
      whole.known_s += errors[name].known_s;
      squares += errors[name].error_s * errors[name].error_s;
    }
    result.families.push_back(family);
  }
  whole.error_s = std::sqrt(squares);
  result.relative_error = whole.relative();
  std::ranges::stable_sort(result.families, std::ranges::greater(), &FamilyCoverage::fraction);
  std::ranges::stable_sort(result.uses, std::ranges::greater(), &CoveredUse::fraction);
  return result;
}

std::vector<UnmeasuredCase> unmeasured_cases(const Coverage& coverage, Evidence from) {
  std::vector<UnmeasuredCase> cases;
  std::map<std::string, std::size_t> index_of_text;
  for (const CoveredUse& covered : coverage.uses) {
    const Evidence evidence = covered.time.evidence;
    if (evidence == Evidence::measured || evidence < from) continue;
    const auto [at, is_new] = index_of_text.try_emplace(covered.use.kernel.text(), cases.size());
    if (is_new) cases.push_back({covered.use.kernel, evidence, 0});
    cases[at->second].fraction += covered.fraction;
  }
  std::ranges::stable_sort(cases, std::ranges::greater(), &UnmeasuredCase::fraction);
  return cases;
}

}  // namespace packsim
