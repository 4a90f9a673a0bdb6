#pragma once

#include <nlohmann/json.hpp>

#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

/// Calls visit() with a Vega-Lite view and all views that it is made of, the outer one first.
template <typename View, typename Visit>
void for_each_view(View& view, const Visit& visit) {
  if (!view.is_object()) return;
  visit(view);
  for (const char* key : {"layer", "concat", "hconcat", "vconcat"}) {
    const auto parts = view.find(key);
    if (parts == view.end() || !parts->is_array()) continue;
    for (auto& part : *parts) for_each_view(part, visit);
  }
  if (const auto spec = view.find("spec"); spec != view.end()) for_each_view(*spec, visit);
}

/// The member of an object, or null where it is missing or `value` is no object.
inline const Json* member(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

/// Whether a param has a value that may be set: it is no selection and does not follow from others.
inline bool is_settable(const Json& parameter) {
  const Json* const name = member(parameter, "name");
  return name != nullptr && name->is_string() && member(parameter, "select") == nullptr &&
         member(parameter, "expr") == nullptr;
}

/// A string without quotes, anything else as JSON.
inline std::string text_of_json(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace packsim
