#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace packsim::microbench {

/// A value of JSON, as much of it as a measurement file needs to be checked.
struct Json {
  enum class Type { null, boolean, number, text, array, object };
  Type type = Type::null;
  double number = 0;                   ///< of a number; 1 of true
  std::string text;                    ///< of a text
  std::vector<Json> items;             ///< of an array
  std::map<std::string, Json> fields;  ///< of an object

  /// The field, or nullptr where this is no object or has none of that name.
  const Json* field(const std::string& name) const;
};

/// Reads one JSON value that fills the whole line. Throws std::invalid_argument with the column.
Json parse_json(std::string_view line);

/// A text in quotes, escaped.
std::string json_text(std::string_view text);
/// The shortest decimal that reads back as the same number; null where it is not finite.
std::string json_number(double value);
std::string json_array(std::span<const double> values);

}  // namespace packsim::microbench
