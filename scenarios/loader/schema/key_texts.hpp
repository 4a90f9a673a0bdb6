#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// What docs/scenarios.md says of each key, by its place: "/cluster/nodes", "/lengths/mix/[]/source". A
/// table's first column says whose keys it has: "key of a scenario", "key of `training`".
class KeyTexts {
 public:
  /// of: "a scenario", or the kind of another file whose keys have no place in a scenario.
  KeyTexts(std::string_view markdown, std::string_view of);
  /// The meaning and the default, or an empty text.
  std::string text_of(const std::string& place, const std::string& key) const;
  const std::map<std::string, std::string>& all() const { return texts_; }

 private:
  std::map<std::string, std::string> texts_;
};

/// The page, which is a file of the data root. Throws FileError where it cannot be read.
std::string scenarios_page(const DataPaths& data);

}  // namespace packsim
