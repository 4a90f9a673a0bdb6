#include "packing/stream_packer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/bindings.hpp"
#include "python/bindings/members.hpp"
#include "python/bindings/options_of.hpp"
#include "python/bindings/owned_array.hpp"
#include "python/bindings/policy.hpp"

namespace packsim::python {
namespace {

using BoundStreamPacker = Alone<StreamPacker>;

py::dict dict_of(const StreamState& state) {
  const py::array_t<HeldSample> samples(state.held.size(), state.held.data());
  py::dict held;
  held["samples"] = samples["sample_index"].attr("tolist")();
  held["lengths_tokens"] = samples["length_tokens"].attr("tolist")();
  held["n_carries"] = samples["n_carries"].attr("tolist")();
  py::dict result;
  result["position"] = state.position;
  result["n_windows"] = state.n_windows;
  result["held"] = held;
  result["counts"] = members_of(state.counts);
  return result;
}

// Makes a state of a dict that the package has checked: keys and types are right, the lists equally long.
StreamState state_of(const py::dict& given) {
  StreamState state;
  state.position = given["position"].cast<std::uint64_t>();
  state.n_windows = given["n_windows"].cast<std::int64_t>();
  const py::dict held = given["held"];
  const auto samples = held["samples"].cast<std::vector<std::uint64_t>>();
  const auto lengths_tokens = held["lengths_tokens"].cast<std::vector<std::int32_t>>();
  const auto n_carries = held["n_carries"].cast<std::vector<std::int32_t>>();
  for (std::size_t i = 0; i < samples.size(); ++i)
    state.held.push_back({samples[i], lengths_tokens.at(i), n_carries.at(i)});
  state.counts = of_members<StreamCounts>(given["counts"]);
  return state;
}

py::tuple arrays_of(StreamPacks&& packs) {
  return py::make_tuple(owned_array(std::move(packs.offsets)), owned_array(std::move(packs.samples)));
}

py::tuple push(BoundStreamPacker& self, const Array<std::int32_t>& lengths_tokens) {
  const std::span<const std::int32_t> lengths = span_of(lengths_tokens);
  return arrays_of(self.with([&](StreamPacker& packer) { return packer.push(lengths); }));
}

}  // namespace

void add_stream_packer(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(StreamCounts, n_samples, n_tokens, packed_samples, packed_tokens, n_packs,
                       dropped_samples, dropped_tokens, empty_samples, truncated_samples, truncated_tokens,
                       carried_samples, n_carries, most_carried_samples, longest_delay_samples,
                       total_delay_samples);
  PYBIND11_NUMPY_DTYPE(HeldSample, sample_index, length_tokens, n_carries);

  const StreamSetting defaults;
  module.attr("carry_below_fraction") = defaults.carry_below_fraction;
  module.attr("most_carries") = defaults.most_carries;

  py::class_<BoundStreamPacker>(module, "StreamPacker")
      .def(py::init([](const std::string& strategy, std::int64_t capacity_tokens, std::int64_t window_samples,
                       const std::string& over_long, const std::string& empty, double carry_below_fraction,
                       int most_carries, const py::dict& options, const py::object& state) {
             return std::make_unique<BoundStreamPacker>(
                 StreamPacker(StreamSetting{.strategy = strategy,
                                            .capacity_tokens = capacity_tokens,
                                            .window_samples = window_samples,
                                            .over_long = policy(kOverLongNames, over_long),
                                            .empty = policy(kEmptyNames, empty),
                                            .carry_below_fraction = carry_below_fraction,
                                            .most_carries = most_carries,
                                            .options = options_of(options)},
                              state.is_none() ? StreamState{} : state_of(state)));
           }),
           py::kw_only(), py::arg("strategy"), py::arg("capacity_tokens"), py::arg("window_samples"),
           py::arg("over_long"), py::arg("empty"), py::arg("carry_below_fraction"), py::arg("most_carries"),
           py::arg("options"), py::arg("state"))
      .def("push", push, py::arg("lengths_tokens").noconvert())
      .def("finish", [](BoundStreamPacker& self) { return arrays_of(self.with(&StreamPacker::finish)); })
      .def("state", [](BoundStreamPacker& self) { return dict_of(self.with(&StreamPacker::state)); })
      .def("counts",
           [](BoundStreamPacker& self) {
             return members_of(self.with([](const StreamPacker& packer) { return packer.state().counts; }));
           })
      .def("n_samples",
           [](BoundStreamPacker& self) {
             return self.with([](const StreamPacker& packer) { return packer.state().counts.n_samples; });
           })
      .def("room_samples", [](BoundStreamPacker& self) { return self.with(&StreamPacker::room_samples); });
}

}  // namespace packsim::python
