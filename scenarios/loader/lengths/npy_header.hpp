#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/loader/lengths/bad_rows.hpp"

namespace packsim {

/// What the head of a NumPy file says about the array behind it.
struct NpyHeader {
  std::string dtype;           ///< as in '<i4'
  std::size_t n_elements = 0;  ///< of an array with one dimension
  std::size_t data_offset = 0;
};

/// Reads the head of an .npy file, version 1 to 3 (numpy.lib.format). Nothing, and a bad row, where it is
/// damaged or the array is not a one-dimensional one in C order.
std::optional<NpyHeader> read_npy_header(std::string_view bytes, BadRows& bad_rows);

}  // namespace packsim
