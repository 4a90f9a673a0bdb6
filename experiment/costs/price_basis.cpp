#include "experiment/costs/price_basis.hpp"

#include "models/step/plan_account.hpp"

namespace packsim {
namespace {

EvidenceShares shares(const std::array<double, kNEvidenceLevels>& evidence) {
  const auto share = [&](Evidence of) { return evidence[static_cast<std::size_t>(of)]; };
  return {.measured = share(Evidence::measured) + share(Evidence::interpolated),
          .extrapolated = share(Evidence::extrapolated),
          .transferred = share(Evidence::transferred),
          .missing = share(Evidence::missing)};
}

}  // namespace

PriceBasis price_basis(const Scenario& scenario, std::span<const ParallelPlan> plans,
                       std::span<const double> parts, const std::array<double, kNCauses>& fraction,
                       const std::array<double, kNCauses>& busiest_fraction, const PriceAccount& account) {
  // The profile's factors make up for errors of kernel prices only on the models, hardware and GPUs of the
  // fit.
  const bool is_fitted = scenario.is_model_of_profile && scenario.is_hardware_of_profile &&
                         scenario.profile.fitted_on.has_gpu(scenario.cluster.gpu.driver_name);
  const std::vector<ProfileDoubt> doubts =
      profile_doubts(scenario.profile, scenario.model, scenario.cluster, plans, parts);
  PriceBasis basis{
      .evidence = shares(evidence_fractions(fraction, account)),
      .uncertainty = run_uncertainty(busiest_fraction, account, scenario.profile, is_fitted, doubts)};
  const auto by_cause = evidence_by_cause(fraction, account);
  for (std::size_t c = 0; c < by_cause.size(); ++c) basis.evidence_by_cause[c] = shares(by_cause[c]);
  return basis;
}

PriceBasis price_basis_of_full_packs(const Scenario& scenario, const ParallelPlan& plan,
                                     std::int64_t capacity_tokens, int micro_batches_per_rank) {
  StepPricer pricer(scenario.model, scenario.cluster, plan, scenario.hardware, scenario.profile.factors);
  const auto length_tokens = static_cast<std::int32_t>(capacity_tokens);
  const MicroBatchPrice price = pricer.micro_batch(capacity_tokens, std::span(&length_tokens, 1));
  PlanAccount account(pricer);
  account.add_micro_batches(price, micro_batches_per_rank);
  account.add_steps(1, micro_batches_per_rank, micro_batches_per_rank - 1);
  const PriceAccount total = account.total();
  std::array<double, kNCauses> fraction = {};
  double sum_s = 0;
  for (std::size_t c = 0; c < fraction.size(); ++c) {
    fraction[c] = total.total(static_cast<Cause>(c)).time_s;
    sum_s += fraction[c];
  }
  for (double& part : fraction) part /= sum_s;
  constexpr double kWhole = 1;
  return price_basis(scenario, {&plan, 1}, {&kWhole, 1}, fraction, fraction, total);
}

}  // namespace packsim
