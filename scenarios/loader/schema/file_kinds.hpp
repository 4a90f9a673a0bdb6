#pragma once

#include <span>
#include <string_view>

#include "scenarios/loader/readers.hpp"

namespace packsim {

/// A kind of file that users write, and its reader.
struct FileKind {
  std::string_view name;
  std::string_view title;
  std::string_view described_as;  ///< in the tables of pages_of_keys(): "key of a scenario"
  void (*read)(JsonReader reader, const DataPaths& data, Problems& problems);
};

/// The kinds of files that have a schema.
std::span<const FileKind> file_kinds();

}  // namespace packsim
