#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// What pages say of each key, by its place: "/cluster/nodes", "/lengths/mix/[]/source". A table's first
/// column says whose keys it has: "key of a scenario", "key of `training`".
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

/// The pages with a table of the keys of each kind of file, one after the other; they are files of the data
/// root. Throws FileError where one cannot be read.
std::string pages_of_keys(const DataPaths& data);

}  // namespace packsim
