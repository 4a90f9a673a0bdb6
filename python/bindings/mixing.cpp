#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "packing/mixing/mixture.hpp"
#include "python/bindings/bindings.hpp"
#include "python/bindings/owned_array.hpp"
#include "python/bindings/view_of.hpp"

namespace packsim::python {
namespace {

using BoundMixture = Alone<Mixture>;
using Groups = std::vector<std::vector<double>>;

const char* need_of(const MixingPolicy& policy) {
  switch (policy.needs) {
    case RewardNeed::none:
      return "none";
    case RewardNeed::probes:
      return "probes";
    case RewardNeed::training_loss:
      break;
  }
  return "training_loss";
}

py::dict row_of(const MixingPolicy& policy) {
  py::tuple names(policy.options.size());
  for (std::size_t i = 0; i < policy.options.size(); ++i) names[i] = text(policy.options[i]);
  py::dict row;
  row["name"] = text(policy.name);
  row["summary"] = text(policy.summary);
  row["source"] = text(policy.source);
  row["needs"] = need_of(policy);
  row["options"] = names;
  return row;
}

// What the package gives under the name, else the default.
template <typename T>
void take_option(const py::dict& given, const char* name, T& value) {
  if (given.contains(name)) value = given[name].cast<T>();
}

// Makes options of a dict that the package has checked.
MixingOptions mixing_options_of(const py::dict& given) {
  MixingOptions options;
  take_option(given, "seed", options.seed);
  take_option(given, "weights", options.weights);
  take_option(given, "temperature", options.temperature);
  take_option(given, "learning_rate", options.learning_rate);
  take_option(given, "actor_steps", options.actor_steps);
  take_option(given, "local_updates", options.local_updates);
  take_option(given, "smoothing", options.smoothing);
  std::string update = "all_arms";
  take_option(given, "update", update);
  options.update = update == "reinforce" ? ActorUpdate::reinforce : ActorUpdate::all_arms;
  std::vector<std::tuple<std::int64_t, std::vector<double>, Groups>> recorded;
  take_option(given, "recorded", recorded);
  for (auto& [step, subsets, groups] : recorded)
    options.recorded.push_back({.step = step, .probabilities = {std::move(subsets), std::move(groups)}});
  return options;
}

py::dict dict_of_state(const Mixture::State& state) {
  py::dict result;
  result["n_draws"] = state.n_draws;
  result["n_updates"] = state.n_updates;
  result["draws_of_arm"] = state.draws_of_arm;
  result["policy_numbers"] = state.policy;
  return result;
}

py::tuple drawn(BoundMixture& self, std::size_t n, std::int64_t step) {
  auto [samples, arms] = self.with([&](Mixture& mixture) {
    std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> result;
    const std::vector<MixtureDraw> draws = mixture.draw(n, step);
    result.first.reserve(n);
    result.second.reserve(n);
    for (const MixtureDraw& draw : draws) {
      result.first.push_back(draw.sample);
      result.second.push_back(draw.arm);
    }
    return result;
  });
  return py::make_tuple(owned_array(std::move(samples)), owned_array(std::move(arms)));
}

// A view of each arm's samples, which never change.
py::tuple arms_of(const py::object& owner) {
  const Arms& arms = owner.cast<BoundMixture&>().value.arms();
  py::tuple result(arms.n_arms());
  for (std::size_t arm = 0; arm < arms.n_arms(); ++arm) result[arm] = view_of(arms.samples(arm), owner);
  return result;
}

std::vector<std::size_t> n_groups_of(const BoundMixture& self) {
  const Arms& arms = self.value.arms();
  std::vector<std::size_t> n_groups;
  for (std::size_t subset = 0; subset < arms.n_subsets(); ++subset) n_groups.push_back(arms.n_groups(subset));
  return n_groups;
}

py::tuple probabilities_of(BoundMixture& self, std::int64_t step) {
  const MixtureProbabilities p =
      self.with([&](const Mixture& mixture) { return mixture.probabilities(step); });
  return py::make_tuple(p.subsets, p.groups);
}

}  // namespace

void add_mixing(py::module_& module) {
  module.def("mixing_policies", [] {
    py::list rows;
    for (const MixingPolicy& policy : mixing_policies()) rows.append(row_of(policy));
    return rows;
  });
  module.def(
      "quantile_groups",
      [](const Array<double>& scores, std::size_t n_groups) {
        std::vector<std::uint32_t> groups;
        {
          const py::gil_scoped_release others_may_run;
          groups = quantile_groups(span_of(scores), n_groups);
        }
        return owned_array(std::move(groups));
      },
      py::arg("scores").noconvert(), py::arg("n_groups"));

  py::class_<BoundMixture>(module, "Mixture")
      .def(py::init([](const Array<std::uint32_t>& subset_of, const Array<std::uint32_t>& group_of,
                       const std::string& policy, bool with_replacement, const py::dict& options) {
             const MixingOptions checked = mixing_options_of(options);
             const py::gil_scoped_release others_may_run;
             return std::make_unique<BoundMixture>(
                 Mixture(Arms(span_of(subset_of), span_of(group_of)), policy, checked,
                         with_replacement ? Replacement::with : Replacement::without));
           }),
           py::kw_only(), py::arg("subset_of").noconvert(), py::arg("group_of").noconvert(),
           py::arg("policy"), py::arg("with_replacement"), py::arg("options"))
      .def("arms", arms_of)
      .def("n_groups", n_groups_of)
      .def("probabilities", probabilities_of, py::arg("step"))
      .def("draw", drawn, py::arg("n"), py::arg("step"))
      .def(
          "probe_samples",
          [](BoundMixture& self, std::size_t arm, std::size_t n, std::uint64_t purpose) {
            return owned_array(
                self.with([&](const Mixture& mixture) { return mixture.probe_samples(arm, n, purpose); }));
          },
          py::arg("arm"), py::arg("n"), py::arg("purpose"))
      .def(
          "update",
          [](BoundMixture& self, std::vector<double> subsets, Groups groups) {
            const MixtureRewards rewards{.subsets = std::move(subsets), .groups = std::move(groups)};
            self.with([&](Mixture& mixture) { mixture.update(rewards); });
          },
          py::arg("subsets"), py::arg("groups"))
      .def("draws_of_sample",
           [](BoundMixture& self) { return owned_array(self.with(&Mixture::draws_of_sample)); })
      .def("state", [](BoundMixture& self) { return dict_of_state(self.with(&Mixture::state)); })
      .def(
          "set_state",
          [](BoundMixture& self, const py::dict& given) {
            const Mixture::State state{
                .n_draws = given["n_draws"].cast<std::int64_t>(),
                .n_updates = given["n_updates"].cast<std::int64_t>(),
                .draws_of_arm = given["draws_of_arm"].cast<std::vector<std::int64_t>>(),
                .policy = given["policy_numbers"].cast<std::vector<double>>(),
            };
            self.with([&](Mixture& mixture) { mixture.set_state(state); });
          },
          py::arg("state"));
}

}  // namespace packsim::python
