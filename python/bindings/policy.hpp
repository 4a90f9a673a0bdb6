#pragma once

#include <string>

#include "packing/policies/policies.hpp"
#include "python/bindings/bindings.hpp"

namespace packsim::python {

/// The policy of that name, which the package has checked.
template <typename Enum, std::size_t N>
Enum policy(const std::array<PolicyName<Enum>, N>& names, const std::string& name) {
  if (const std::optional<Enum> value = policy_value(names, name)) return *value;
  throw py::value_error("expected a policy, got \"" + name + "\"");
}

}  // namespace packsim::python
