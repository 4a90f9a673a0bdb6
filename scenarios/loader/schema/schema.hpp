#pragma once


#include "scenarios/loader/schema/file_kinds.hpp"

namespace packsim {

/// The JSON Schema (draft 2020-12) of such files: what their reader asks for, described as in
/// pages_of_keys(). Names of files are those of the data root, or any path.
Json schema_of(const FileKind& kind, const DataPaths& data);

}  // namespace packsim
