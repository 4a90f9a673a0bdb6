#include "models/step/uncertainty.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

namespace packsim {
namespace {

constexpr double kNineOfTenQuantile = 0.95;
// The forward pass's share of a layer's kernels: one product of three, and attention by its flop.
constexpr double kForwardOfLinear = 1.0 / 3;
constexpr double kForwardOfAttention = 1.0 / 3.5;

double share(const std::array<double, kNCauses>& fraction, Cause cause) {
  return fraction[static_cast<std::size_t>(cause)];
}

// The part of a recomputed forward pass that is attention.
double attention_of_recompute(const std::array<double, kNCauses>& fraction) {
  const double linear = kForwardOfLinear * share(fraction, Cause::linear);
  const double attention = kForwardOfAttention * share(fraction, Cause::attention);
  return linear + attention > 0 ? attention / (linear + attention) : 0;
}

// d log(time) / d log(factor), in the order of kFrameworkNumbers. A run does not say how much of its
// exchanges is between nodes and how much inside them: the factor that is known less well has it all. Of its
// overheads a step has the most where it has one micro-batch.
std::array<double, kNTimeFactors> sensitivities(const std::array<double, kNCauses>& fraction,
                                                const FrameworkProfile& profile) {
  const std::vector<double>& covariance = profile.log_covariance;
  const double attention = attention_of_recompute(fraction);
  const double recompute = share(fraction, Cause::recompute);
  std::array<double, kNTimeFactors> shares = {
      share(fraction, Cause::linear) + share(fraction, Cause::optimizer) + recompute * (1 - attention),
      share(fraction, Cause::attention) + recompute * attention,
      0,
      0,
      0,
      0};
  const auto variance = [&](std::size_t i) { return covariance[i * kNTimeFactors + i]; };
  shares[variance(2) >= variance(3) ? 2 : 3] = share(fraction, Cause::sequence);
  const FrameworkFactors& factors = profile.factors;
  if (const double both_s = factors.micro_batch_s + factors.step_s; both_s > 0) {
    shares[4] = share(fraction, Cause::overhead) * factors.micro_batch_s / both_s;
    shares[5] = share(fraction, Cause::overhead) * factors.step_s / both_s;
  }
  return shares;
}

// The errors of a time that has these shares under the factors, as independent ones in place of those with
// this covariance: the shares times its triangular root, a column at a time.
std::array<double, kNTimeFactors> independent_errors(const std::array<double, kNTimeFactors>& shares,
                                                     std::vector<double> covariance) {
  std::array<double, kNTimeFactors> errors = {};
  const auto rest = [&](std::size_t i, std::size_t j) -> double& {
    return covariance[i * kNTimeFactors + j];
  };
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    const double pivot = rest(k, k);
    if (pivot <= 0) continue;
    for (std::size_t i = k; i < kNTimeFactors; ++i) errors[k] += shares[i] * rest(i, k) / std::sqrt(pivot);
    for (std::size_t i = k + 1; i < kNTimeFactors; ++i) {
      for (std::size_t j = k + 1; j <= i; ++j) rest(i, j) -= rest(i, k) * rest(j, k) / pivot;
    }
  }
  return errors;
}

// AdamW on the GPU takes the factor of products.
bool is_under_factor(Cause cause, const CurveName& curve) {
  return cause == Cause::linear || cause == Cause::attention || cause == Cause::recompute ||
         cause == Cause::sequence || (cause == Cause::optimizer && curve.family == "adamw");
}

// Errors of a family's kernels, as a share of the run's GPU time.
struct FamilyError {
  double relative_error = 0;
  std::map<std::string, double> by_curve;

  std::string worst_curve() const {
    return std::ranges::max_element(by_curve, {}, [](const auto& curve) { return curve.second; })->first;
  }
};

// By family of kernels.
std::map<std::string, FamilyError> family_errors(const std::array<double, kNCauses>& fraction,
                                                 const PriceAccount& account, bool is_fitted) {
  std::map<std::string, FamilyError> families;
  for (int c = 0; c < kNCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    const double cause_s = account.total(cause).time_s;
    for (const auto& [curve, time] : account.of(cause)) {
      if (is_fitted && is_under_factor(cause, curve)) continue;
      const double error = share(fraction, cause) * time.error_s / cause_s;
      FamilyError& family = families[curve.family];
      family.relative_error += error;
      family.by_curve[curve.key] += error;
    }
  }
  return families;
}

}  // namespace

double few_groups_factor(int n_groups) {
  if (n_groups < 1) return 1;
  return boost::math::quantile(boost::math::students_t(n_groups), kNineOfTenQuantile) /
         boost::math::quantile(boost::math::normal(), kNineOfTenQuantile);
}

Uncertainty run_uncertainty(const std::array<double, kNCauses>& fraction, const PriceAccount& account,
                            const FrameworkProfile& profile, bool is_fitted,
                            std::span<const ProfileDoubt> doubts) {
  Uncertainty uncertainty;
  std::map<std::string, double>& shared = uncertainty.errors.shared;
  const auto add_source = [&](const std::string& reason, double relative_error) {
    if (relative_error > 0) uncertainty.sources.push_back({reason, relative_error});
  };
  if (profile.log_covariance.size() == kNTimeFactors * kNTimeFactors) {
    const auto errors = independent_errors(sensitivities(fraction, profile), profile.log_covariance);
    double variance = 0;
    for (std::size_t k = 0; k < errors.size(); ++k) {
      if (errors[k] == 0) continue;
      shared["factors of profile " + profile.name + ", " + std::to_string(k)] = errors[k];
      variance += errors[k] * errors[k];
    }
    add_source("the fitted factors of profile " + profile.name + " are uncertain", std::sqrt(variance));
  }
  if (profile.left_out_error) {
    const double error = *profile.left_out_error * few_groups_factor(profile.left_out_groups);
    shared["steps left out of profile " + profile.name] = std::sqrt(1 - kOwnShareOfLeftOutError) * error;
    uncertainty.errors.own = std::sqrt(kOwnShareOfLeftOutError) * error;
    add_source("profile " + profile.name + " misses steps that it was not fitted to", error);
  }
  for (const ProfileDoubt& doubt : doubts) {
    shared[doubt.reason] = doubt.relative_error;
    add_source(doubt.reason, doubt.relative_error);
  }
  for (const auto& [name, family] : family_errors(fraction, account, is_fitted)) {
    shared["kernels of " + name] = family.relative_error;
    add_source(family.worst_curve() + " is not well known on this GPU and these links",
               family.relative_error);
  }
  std::ranges::stable_sort(uncertainty.sources, std::greater<>(), &UncertaintySource::relative_error);
  return uncertainty;
}

std::array<std::array<double, kNEvidenceLevels>, kNCauses> evidence_by_cause(
    const std::array<double, kNCauses>& fraction, const PriceAccount& account) {
  std::array<std::array<double, kNEvidenceLevels>, kNCauses> evidence = {};
  for (int c = 0; c < kNCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    const AccountedTime total = account.total(cause);
    if (total.time_s <= 0) continue;
    for (std::size_t i = 0; i < kNEvidenceLevels; ++i)
      evidence[static_cast<std::size_t>(c)][i] = share(fraction, cause) * total.evidence_s[i] / total.time_s;
  }
  return evidence;
}

std::array<double, kNEvidenceLevels> evidence_fractions(const std::array<double, kNCauses>& fraction,
                                                        const PriceAccount& account) {
  std::array<double, kNEvidenceLevels> evidence = {};
  double known = 0;
  const auto by_cause = evidence_by_cause(fraction, account);
  for (std::size_t c = 0; c < by_cause.size(); ++c) {
    for (std::size_t i = 0; i < evidence.size(); ++i) evidence[i] += by_cause[c][i];
    if (std::ranges::any_of(by_cause[c], [](double part) { return part > 0; }))
      known += share(fraction, static_cast<Cause>(c));
  }
  if (known > 0) std::ranges::for_each(evidence, [known](double& part) { part /= known; });
  return evidence;
}

}  // namespace packsim
