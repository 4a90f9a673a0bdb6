#pragma once

#include <span>
#include <string>
#include <string_view>

namespace packsim::formats_detail {

/// What the head of a column says that is not one of run_values(), in tables of plans, data, bounds, searches
/// and loss weights. Heads that mean the same have one definition.
struct Definition {
  std::string_view title;
  std::string_view text;
  bool of_mixture = false;  ///< only reports with a mixture have the column
};

std::span<const Definition> definitions();

/// The definition of a title; null if it has none.
const Definition* find_definition(std::string_view title);

/// "definition-ave-t": the place of a title's definition on a page.
std::string definition_id(std::string_view title);

}  // namespace packsim::formats_detail
