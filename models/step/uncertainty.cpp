#include "models/step/uncertainty.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

namespace packsim {
namespace {

constexpr double kNineOfTen = 1.6448536269514722;  // standard deviations on either side
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

}  // namespace

double few_groups_factor(int n_groups) {
  if (n_groups < 1) return 1;
  return boost::math::quantile(boost::math::students_t(n_groups), kNineOfTenQuantile) / kNineOfTen;
}

double Uncertainty::low() const {
  return std::exp(-kNineOfTen * relative_error);
}

double Uncertainty::high() const {
  return std::exp(kNineOfTen * relative_error);
}

Uncertainty run_uncertainty(const std::array<double, kNCauses>& fraction, const PriceAccount& account,
                            const FrameworkProfile& profile, bool is_fitted,
                            std::span<const ProfileDoubt> doubts) {
  Uncertainty uncertainty;
  const auto add = [&](const std::string& reason, double relative_error) {
    if (relative_error > 0) uncertainty.sources.push_back({reason, relative_error});
  };
  if (profile.log_covariance.size() == kNTimeFactors * kNTimeFactors) {
    const auto shares = sensitivities(fraction, profile);
    double variance = 0;
    for (std::size_t i = 0; i < kNTimeFactors; ++i) {
      for (std::size_t j = 0; j < kNTimeFactors; ++j)
        variance += shares[i] * shares[j] * profile.log_covariance[i * kNTimeFactors + j];
    }
    add("the fitted factors of profile " + profile.name + " are uncertain",
        std::sqrt(std::max(0.0, variance)));
  }
  if (profile.left_out_error) {
    add("profile " + profile.name + " misses steps that it was not fitted to",
        *profile.left_out_error * few_groups_factor(profile.left_out_groups));
  }
  for (const ProfileDoubt& doubt : doubts) add(doubt.reason, doubt.relative_error);
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
  for (const auto& [name, family] : families)
    add(family.worst_curve() + " is not well known on this GPU and these links", family.relative_error);
  double variance = 0;
  for (const UncertaintySource& source : uncertainty.sources)
    variance += source.relative_error * source.relative_error;
  uncertainty.relative_error = std::sqrt(variance);
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
