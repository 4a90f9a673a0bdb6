#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/plan_names.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// False where no state has this name.
bool add_state(const Json& name, Offload& offload) {
  if (!name.is_string()) return false;
  const auto* const state =
      std::ranges::find(kOffloadNames, name.get_ref<const std::string&>(), &OffloadName::name);
  if (state == kOffloadNames.end()) return false;
  offload.*state->state = true;
  return true;
}

}  // namespace

Offload read_offload(JsonReader& reader, const Offload& before) {
  constexpr std::string_view kKey = "offload";
  const std::vector<std::string> names = names_in(kOffloadNames);
  std::vector<std::string> words = names;
  words.insert(words.begin(), std::string(kNoOffload));
  const Json* value = reader.word_or_array(kKey, words, names);
  if (value == nullptr) return before;
  Offload offload;
  if (value->is_string() && *value == kNoOffload) return offload;
  bool is_good = value->is_array() || add_state(*value, offload);
  if (value->is_array()) {
    for (const Json& name : *value) is_good = is_good && add_state(name, offload);
  }
  if (is_good) return offload;
  reader.refuse(kKey, fmt::format("{}, one of {}, or an array of these", kNoOffload, join(names)));
  return before;
}

}  // namespace packsim
