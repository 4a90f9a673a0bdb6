#pragma once

#include "packing/strategy.hpp"
#include "python/bindings/bindings.hpp"

namespace packsim::python {

/// The options of a dict that the package has checked; the others have their defaults.
OptionValues options_of(const py::dict& given);

}  // namespace packsim::python
