#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packing/c_api/packsim.h"
#include "packing/pack.hpp"

namespace packsim::c_api {

/// What a program gets that sets nothing.
packsim_pack_request default_request();

/// Throws std::invalid_argument for a size that no header's struct had so far.
void check_struct_size(std::size_t struct_size);

/// The request with defaults for the fields that the program's header did not have.
packsim_pack_request known_request(const packsim_pack_request& request);

/// pack() of the core. Lengths must outlive the Packing. Throws std::invalid_argument naming the field.
Packing pack_as_requested(std::span<const std::int32_t> lengths_tokens, const packsim_pack_request& request);

/// GPUs that share a pack of that group. The request is one that was packed.
std::uint32_t gpus_of_pack(const packsim_pack_request& request, std::size_t group);

}  // namespace packsim::c_api
