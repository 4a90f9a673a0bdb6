#pragma once

#include <string_view>

#include "packing/strategy.hpp"

namespace packsim_test {

/// What the options say: what was set, else the default.
inline packsim::OptionValue option(const packsim::OptionValues& options, std::string_view name) {
  const packsim::OptionValue* value = options.find(name);
  return value == nullptr ? packsim::default_value(*packsim::find_option(name)) : *value;
}

}  // namespace packsim_test
