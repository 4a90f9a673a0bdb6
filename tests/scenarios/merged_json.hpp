#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace packsim {

/// The object `base` with `members`, such as R"("a": 1, "b": [2], )", in place of or besides its own.
inline std::string merged_json(const std::string& base, const std::string& members) {
  nlohmann::json object = nlohmann::json::parse(base);
  object.update(nlohmann::json::parse("{" + members + R"("": null})"));
  object.erase("");
  return object.dump();
}

}  // namespace packsim
