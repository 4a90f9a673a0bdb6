#include "packing/stream_packer.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/bindings/bindings.hpp"
#include "python/bindings/options_of.hpp"
#include "python/bindings/owned_array.hpp"
#include "python/bindings/policy.hpp"

namespace packsim::python {
namespace {

using LengthArray = py::array_t<std::int32_t, py::array::c_style>;

// Calls from several threads wait for each other, as they run without the interpreter's lock.
struct BoundStreamPacker {
  std::mutex mutex;
  StreamPacker packer;

  BoundStreamPacker(const StreamSetting& setting, StreamState state) : packer(setting, std::move(state)) {}
};

struct CountRow {
  std::string_view name;
  std::int64_t StreamCounts::*member;
};

constexpr std::array<CountRow, 15> kCountRows = {{
    {"n_samples", &StreamCounts::n_samples},
    {"n_tokens", &StreamCounts::n_tokens},
    {"packed_samples", &StreamCounts::packed_samples},
    {"packed_tokens", &StreamCounts::packed_tokens},
    {"n_packs", &StreamCounts::n_packs},
    {"dropped_samples", &StreamCounts::dropped_samples},
    {"dropped_tokens", &StreamCounts::dropped_tokens},
    {"empty_samples", &StreamCounts::empty_samples},
    {"truncated_samples", &StreamCounts::truncated_samples},
    {"truncated_tokens", &StreamCounts::truncated_tokens},
    {"carried_samples", &StreamCounts::carried_samples},
    {"n_carries", &StreamCounts::n_carries},
    {"most_carried_samples", &StreamCounts::most_carried_samples},
    {"longest_delay_samples", &StreamCounts::longest_delay_samples},
    {"total_delay_samples", &StreamCounts::total_delay_samples},
}};

py::dict counts_of(const StreamCounts& counts) {
  py::dict result;
  for (const CountRow& row : kCountRows) result[text(row.name)] = counts.*row.member;
  return result;
}

py::dict dict_of(const StreamState& state) {
  std::vector<std::uint64_t> samples;
  std::vector<std::int32_t> lengths_tokens;
  std::vector<std::int32_t> n_carries;
  for (const HeldSample& sample : state.held) {
    samples.push_back(sample.sample_index);
    lengths_tokens.push_back(sample.length_tokens);
    n_carries.push_back(sample.n_carries);
  }
  py::dict held;
  held["samples"] = samples;
  held["lengths_tokens"] = lengths_tokens;
  held["n_carries"] = n_carries;
  py::dict result;
  result["position"] = state.position;
  result["n_windows"] = state.n_windows;
  result["held"] = held;
  result["counts"] = counts_of(state.counts);
  return result;
}

// Of a dict that the package has checked: keys and types are right, the lists equally long.
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
  const py::dict counts = given["counts"];
  for (const CountRow& row : kCountRows)
    state.counts.*row.member = counts[text(row.name)].cast<std::int64_t>();
  return state;
}

py::tuple arrays_of(StreamPacks&& packs) {
  return py::make_tuple(owned_array(std::move(packs.offsets)), owned_array(std::move(packs.samples)));
}

// Without the interpreter's lock, with the packer's own.
template <typename Call>
auto alone(BoundStreamPacker& self, Call call) {
  const py::gil_scoped_release others_may_run;
  const std::scoped_lock lock(self.mutex);
  return call(self.packer);
}

py::tuple push(BoundStreamPacker& self, const LengthArray& lengths_tokens) {
  const std::span<const std::int32_t> lengths(lengths_tokens.data(),
                                              static_cast<std::size_t>(lengths_tokens.size()));
  return arrays_of(alone(self, [&](StreamPacker& packer) { return packer.push(lengths); }));
}

}  // namespace

void add_stream_packer(py::module_& module) {
  const StreamSetting defaults;
  module.attr("carry_below_fraction") = defaults.carry_below_fraction;
  module.attr("most_carries") = defaults.most_carries;

  py::class_<BoundStreamPacker>(module, "StreamPacker")
      .def(py::init([](const std::string& strategy, std::int64_t capacity_tokens, std::int64_t window_samples,
                       const std::string& over_long, const std::string& empty, double carry_below_fraction,
                       int most_carries, const py::dict& options, const py::object& state) {
             return std::make_unique<BoundStreamPacker>(
                 StreamSetting{.strategy = strategy,
                               .capacity_tokens = capacity_tokens,
                               .window_samples = window_samples,
                               .over_long = policy(kOverLongNames, over_long),
                               .empty = policy(kEmptyNames, empty),
                               .carry_below_fraction = carry_below_fraction,
                               .most_carries = most_carries,
                               .options = options_of(options)},
                 state.is_none() ? StreamState{} : state_of(state));
           }),
           py::kw_only(), py::arg("strategy"), py::arg("capacity_tokens"), py::arg("window_samples"),
           py::arg("over_long"), py::arg("empty"), py::arg("carry_below_fraction"), py::arg("most_carries"),
           py::arg("options"), py::arg("state"))
      .def("push", push, py::arg("lengths_tokens").noconvert())
      .def("finish",
           [](BoundStreamPacker& self) {
             return arrays_of(alone(self, [](StreamPacker& packer) { return packer.finish(); }));
           })
      .def("state",
           [](BoundStreamPacker& self) {
             return dict_of(alone(self, [](StreamPacker& packer) { return packer.state(); }));
           })
      .def("counts",
           [](BoundStreamPacker& self) {
             return counts_of(alone(self, [](StreamPacker& packer) { return packer.state().counts; }));
           })
      .def("room_samples", [](BoundStreamPacker& self) {
        return alone(self, [](StreamPacker& packer) { return packer.room_samples(); });
      });
}

}  // namespace packsim::python
