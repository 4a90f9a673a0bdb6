#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/metrics.hpp"
#include "python/bindings/bindings.hpp"
#include "python/bindings/bound_packing.hpp"
#include "python/bindings/members.hpp"
#include "python/bindings/options_of.hpp"
#include "python/bindings/policy.hpp"
#include "python/bindings/view_of.hpp"

namespace packsim::python {
namespace {

BoundPacking pack_lengths(const Array<std::int32_t>& lengths_tokens, const std::string& strategy,
                          std::vector<std::int64_t> capacities_tokens, const std::string& over_long,
                          const std::string& empty, std::int64_t window_samples, const py::dict& options,
                          int n_gpus, std::int64_t tokens_per_iteration, const std::vector<int>& sp_degrees,
                          const std::optional<Array<std::int32_t>>& extra_sizes, std::int64_t extra_capacity,
                          const std::optional<Array<std::int64_t>>& group_of) {
  if (sp_degrees.size() != capacities_tokens.size())
    throw py::value_error("sp_degrees: expected one for each capacity");
  BatchSetting setting;
  setting.n_gpus = n_gpus;
  setting.tokens_per_iteration = tokens_per_iteration;
  for (std::size_t g = 0; g < capacities_tokens.size(); ++g)
    setting.groups.push_back({capacities_tokens[g], sp_degrees[g], {}});
  PackRequest request{.lengths_tokens = span_of(lengths_tokens),
                      .capacities_tokens = std::move(capacities_tokens),
                      .over_long = policy(kOverLongNames, over_long),
                      .empty = policy(kEmptyNames, empty),
                      .window_samples = window_samples,
                      .options = options_of(options),
                      .extra_capacity = extra_capacity};
  if (extra_sizes) request.extra_sizes = span_of(*extra_sizes);
  if (group_of) request.group_of = span_of(*group_of);
  if (const Strategy* row = find_strategy(strategy); row != nullptr && row->forms_iterations())
    request.setting = &setting;
  BoundPacking result{.lengths_tokens = lengths_tokens, .packing = {}, .setting = setting, .facts = {}};
  result.facts.seed = static_cast<std::uint32_t>(request.options[kSeed]);
  result.facts.shuffle = request.options[kShuffle];
  result.facts.over_long = request.over_long;
  result.facts.empty = request.empty;
  {
    const py::gil_scoped_release others_may_run;
    result.facts.lengths_hash = hash_of_lengths(request.lengths_tokens);
    result.packing = pack(strategy, request);
  }
  return result;
}

const BoundPacking& bound(const py::object& self) {
  return self.cast<const BoundPacking&>();
}

const PackSet& group_of(const py::object& self, std::size_t group) {
  const std::vector<PackSet>& groups = bound(self).packing.groups;
  if (group >= groups.size()) throw py::index_error("no such group");
  return groups[group];
}

py::dict setting_of(const BoundPacking& self) {
  std::vector<int> sp_degrees;
  for (const BatchGroup& group : self.setting.groups) sp_degrees.push_back(group.gpus_per_pack);
  py::dict result;
  result["n_gpus"] = self.setting.n_gpus;
  result["tokens_per_iteration"] = self.setting.tokens_per_iteration;
  result["sp_degrees"] = sp_degrees;
  return result;
}

}  // namespace

void add_packing(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(PackCounts, n_samples, n_tokens, dropped_samples, dropped_tokens, empty_samples,
                       truncated_samples, truncated_tokens, split_samples, own_pack_samples);
  PYBIND11_NUMPY_DTYPE(PackStatistics, n_packs, samples_per_pack, tokens_per_pack, fill_fraction,
                       squared_length_per_sample, squared_length_per_pack);
  PYBIND11_NUMPY_DTYPE(Piece, sample_index, start_token, n_tokens);
  PYBIND11_NUMPY_DTYPE(PlacedPack, pack, first_gpu, group, round, after_barrier);
  PYBIND11_NUMPY_DTYPE(Iteration, first_placed, n_placed);

  py::class_<BoundPacking>(module, "Packing")
      .def_property_readonly("counts",
                             [](const BoundPacking& self) { return members_of(self.packing.counts); })
      .def("statistics", [](const BoundPacking& self) { return members_of(pack_statistics(self.packing)); })
      .def("offsets",
           [](const py::object& self, std::size_t g) { return view_of(group_of(self, g).offsets, self); })
      .def("items",
           [](const py::object& self, std::size_t g) { return view_of(group_of(self, g).items, self); })
      .def_property_readonly("is_cut", [](const BoundPacking& self) { return !self.packing.pieces.empty(); })
      .def_property_readonly("setting", setting_of)
      .def("pieces", [](const py::object& self) { return view_of(bound(self).packing.pieces, self); })
      .def("placed", [](const py::object& self) { return view_of(bound(self).packing.planned.placed, self); })
      .def("iterations",
           [](const py::object& self) { return view_of(bound(self).packing.planned.iterations, self); });

  module.def("pack", pack_lengths, py::arg("lengths_tokens").noconvert(), py::kw_only(), py::arg("strategy"),
             py::arg("capacities_tokens"), py::arg("over_long"), py::arg("empty"), py::arg("window_samples"),
             py::arg("options"), py::arg("n_gpus"), py::arg("tokens_per_iteration"), py::arg("sp_degrees"),
             py::arg("extra_sizes"), py::arg("extra_capacity"), py::arg("group_of"));
}

}  // namespace packsim::python
