#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "python/bindings/bindings.hpp"

namespace packsim::python {
namespace {

constexpr std::int64_t kMostShown = 3;

// One pass over elements of type T that lie `stride_bytes` apart, maybe not aligned.
template <typename T>
py::array_t<std::int32_t> converted(const py::array& lengths, const std::string& name,
                                    std::uint64_t first_sample) {
  const py::ssize_t n = lengths.shape(0);
  const py::ssize_t stride_bytes = lengths.strides(0);
  const auto* next = static_cast<const char*>(lengths.data());
  py::array_t<std::int32_t> result(n);
  std::int32_t* out = result.mutable_data();
  std::int64_t n_refused = 0;
  std::string places;
  {
    const py::gil_scoped_release others_may_run;
    for (py::ssize_t i = 0; i < n; ++i, next += stride_bytes) {
      T length;
      std::memcpy(&length, next, sizeof(T));
      out[i] = static_cast<std::int32_t>(length);
      if (std::in_range<std::int32_t>(length) && std::cmp_greater_equal(length, 0)) continue;
      if (++n_refused <= kMostShown) {
        places += (places.empty() ? "sample " : ", sample ") +
                  std::to_string(first_sample + static_cast<std::uint64_t>(i)) + " has " +
                  std::to_string(length);
      }
    }
  }
  if (n_refused > 0) {
    throw py::value_error(name + ": expected lengths in 0.." +
                          std::to_string(std::numeric_limits<std::int32_t>::max()) + ", got " +
                          std::to_string(n_refused) + " that are not: " + places +
                          (n_refused > kMostShown ? ", ..." : ""));
  }
  return result;
}

// lengths: [n_samples], of an integer type in the machine's byte order. name: for errors, which count samples
// from first_sample.
py::array_t<std::int32_t> to_int32(const py::array& lengths, const std::string& name,
                                   std::uint64_t first_sample) {
  const bool is_signed = lengths.dtype().kind() == 'i';
  switch (lengths.itemsize()) {
    case 1:
      return is_signed ? converted<std::int8_t>(lengths, name, first_sample)
                       : converted<std::uint8_t>(lengths, name, first_sample);
    case 2:
      return is_signed ? converted<std::int16_t>(lengths, name, first_sample)
                       : converted<std::uint16_t>(lengths, name, first_sample);
    case 4:
      return is_signed ? converted<std::int32_t>(lengths, name, first_sample)
                       : converted<std::uint32_t>(lengths, name, first_sample);
    case 8:
      return is_signed ? converted<std::int64_t>(lengths, name, first_sample)
                       : converted<std::uint64_t>(lengths, name, first_sample);
    default:
      throw py::value_error(name + ": expected integers of 1, 2, 4 or 8 bytes, got " +
                            std::to_string(lengths.itemsize()));
  }
}

}  // namespace

void add_lengths(py::module_& module) {
  module.def("to_int32", to_int32, py::arg("lengths_tokens"), py::arg("name"), py::arg("first_sample"));
}

}  // namespace packsim::python
