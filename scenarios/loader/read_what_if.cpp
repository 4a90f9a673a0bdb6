#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

std::vector<std::string> names_of_free() {
  std::vector<std::string> names;
  for (const Cause cause : kExchangeCauses) names.emplace_back(cause_name(cause));
  names.emplace_back(kFreeWaiting);
  return names;
}

// False where nothing that can be free has this name.
bool set_free(const Json& name, Scenario& scenario) {
  if (name == kFreeWaiting) {
    scenario.ranks_wait = false;
    return true;
  }
  const auto* const cause = std::ranges::find_if(
      kExchangeCauses, [&](Cause one) { return name.is_string() && name == cause_name(one); });
  if (cause == kExchangeCauses.end()) return false;
  scenario.profile.factors.free_exchange.add(*cause);
  return true;
}

}  // namespace

void read_what_if(JsonReader reader, Scenario& scenario) {
  constexpr std::string_view kKey = "free";
  const std::vector<std::string> names = names_of_free();
  const Json* value = reader.word_or_array(kKey, names, names);
  if (value == nullptr) return;
  bool is_good = value->is_array() || set_free(*value, scenario);
  if (value->is_array()) {
    for (const Json& name : *value) is_good = is_good && set_free(name, scenario);
  }
  if (!is_good) {
    reader.refuse(kKey, fmt::format("one of {}, or an array of these", join(names)));
  } else if (!scenario.ranks_wait && has_pipeline(scenario)) {
    reader.refuse(kKey, fmt::format("no \"{}\" where a strategy has a pipeline, whose stages have to wait",
                                    kFreeWaiting));
  }
}

}  // namespace packsim
