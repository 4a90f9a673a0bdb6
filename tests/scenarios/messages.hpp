#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/json/problems.hpp"

namespace packsim {

/// The messages of the ScenarioError that `call` throws; none where it throws nothing.
template <typename Call>
std::vector<std::string> messages_of(Call call) {
  try {
    call();
  } catch (const ScenarioError& error) {
    return error.messages();
  }
  return {};
}

inline std::vector<std::string> messages_in(const Problems& problems) {
  return messages_of([&] { problems.throw_if_any(); });
}

}  // namespace packsim
