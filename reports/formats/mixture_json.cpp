#include "reports/formats/mixture_json.hpp"

#include <cmath>

namespace packsim {
namespace {

using MixtureJson = nlohmann::ordered_json;

// Values of subsets and their groups, in the order of `subsets`.
template <typename Values>
MixtureJson values_json(const Values& values) {
  return {{"subsets", values.subsets}, {"groups", values.groups}};
}

MixtureJson subset_json(const MixtureSummary::Subset& subset) {
  MixtureJson groups = MixtureJson::array();
  for (const MixtureSummary::Group& group : subset.groups) {
    groups.push_back({{"n_samples", group.n_samples},
                      {"n_tokens", group.n_tokens},
                      {"mean_tokens", group.mean_tokens},
                      {"n_draws", group.n_draws},
                      {"never_drawn_samples", group.never_drawn_samples}});
  }
  return {{"name", subset.name}, {"groups", groups}};
}

MixtureJson window_json(const MixtureSummary::Window& window) {
  return {{"first_step", window.first_step},
          {"n_draws", window.n_draws},
          {"n_tokens", window.n_tokens},
          {"median_tokens", window.median_tokens},
          {"p99_tokens", window.p99_tokens},
          {"longest_tokens", window.longest_tokens},
          {"probabilities", values_json(window.probabilities)},
          {"rewards", window.rewards ? values_json(*window.rewards) : MixtureJson()}};
}

MixtureJson probe_json(const ProbeCost& cost) {
  return {{"name", cost.name},
          {"forward_backward_passes", cost.forward_backward_passes},
          {"forward_passes", cost.forward_passes},
          {"gpu_days", cost.gpu_days},
          {"of_training_fraction", cost.of_training_fraction},
          {"of_training_passes_fraction", cost.of_training_passes_fraction},
          {"hidden_gpu_days", cost.hidden_gpu_days}};
}

MixtureJson fraction_json(double fraction) {
  return std::isfinite(fraction) ? MixtureJson(fraction) : MixtureJson();
}

}  // namespace

MixtureJson mixture_json(const std::optional<MixtureSummary>& mixture) {
  if (!mixture) return nullptr;
  MixtureJson json = {{"policy", mixture->policy},
                      {"policy_summary", mixture->policy_summary},
                      {"policy_source", mixture->policy_source},
                      {"assumptions", mixture->assumptions},
                      {"update_every_steps", mixture->update_every_steps},
                      {"n_updates", mixture->n_updates},
                      {"n_draws", mixture->n_draws},
                      {"repeated_draws", mixture->repeated_draws},
                      {"never_drawn_samples", mixture->never_drawn_samples},
                      {"samples_by_draws", mixture->samples_by_draws},
                      {"subsets", MixtureJson::array()},
                      {"windows", MixtureJson::array()}};
  for (const MixtureSummary::Subset& subset : mixture->subsets)
    json["subsets"].push_back(subset_json(subset));
  for (const MixtureSummary::Window& window : mixture->windows)
    json["windows"].push_back(window_json(window));
  return json;
}

MixtureJson strategy_mixture_json(const std::optional<StrategyMixture>& mixture) {
  if (!mixture) return nullptr;
  MixtureJson json = {{"packs", mixture->packs},
                      {"plan", mixture->plan},
                      {"fill_fraction", fraction_json(mixture->fill_fraction)},
                      {"windows", MixtureJson::array()},
                      {"probes", MixtureJson::array()},
                      {"still", nullptr}};
  for (const MixtureWindowResult& window : mixture->windows) {
    json["windows"].push_back({{"first_iteration", window.first_iteration},
                               {"n_iterations", window.n_iterations},
                               {"packed_draws", window.packed_draws},
                               {"carried_draws", window.carried_draws},
                               {"fill_fraction", fraction_json(window.fill_fraction)},
                               {"abr", window.abr},
                               {"cr", window.cr},
                               {"gpu_days", window.gpu_days},
                               {"probes_s", window.probes_s}});
  }
  for (const ProbeCost& cost : mixture->probes) json["probes"].push_back(probe_json(cost));
  if (mixture->still) {
    json["still"] = {{"gpu_days", mixture->still->gpu_days},
                     {"trained_tokens", mixture->still->trained_tokens},
                     {"abr", mixture->still->abr},
                     {"cr", mixture->still->cr},
                     {"fill_fraction", fraction_json(mixture->still->fill_fraction)}};
  }
  return json;
}

}  // namespace packsim
