#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "packing/c_api/packsim.h"

namespace packsim::c_api {

/// Remembers what went wrong for packsim_last_error(), and returns `status`. Allocates nothing.
packsim_status failed(packsim_status status, const char* text) noexcept;

/// The text of this thread's last failure.
const char* last_error() noexcept;

/// The mistake of a caller: the argument, what was expected, what came.
[[noreturn]] inline void refuse(const std::string& what) {
  throw std::invalid_argument(what);
}

/// Runs `body`; no exception leaves it.
template <typename Body>
packsim_status guarded(Body&& body) noexcept {
  try {
    body();
    return PACKSIM_OK;
  } catch (const std::invalid_argument& error) {
    return failed(PACKSIM_INVALID_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    return failed(PACKSIM_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(PACKSIM_INTERNAL_ERROR, error.what());
  } catch (...) {
    return failed(PACKSIM_INTERNAL_ERROR, "an exception that is no std::exception");
  }
}

}  // namespace packsim::c_api
