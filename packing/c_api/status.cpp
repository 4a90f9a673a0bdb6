#include "packing/c_api/status.hpp"

#include <array>
#include <cstdio>

namespace packsim::c_api {
namespace {

// The size is fixed, as there may be no memory left to say so. The longest text lists every strategy.
thread_local std::array<char, 2048> error_text = {};

}  // namespace

packsim_status failed(packsim_status status, const char* text) noexcept {
  std::snprintf(error_text.data(), error_text.size(), "%s", text);
  return status;
}

const char* last_error() noexcept {
  return error_text.data();
}

}  // namespace packsim::c_api
