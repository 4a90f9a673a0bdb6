#pragma once

#include <string>
#include <string_view>

namespace packsim {

/// Writes `text` to `directory`/`name`; the directory is created where it is missing. The file appears under
/// its name only when it is complete, so that a full disk leaves an older one as it was. Devices and pipes
/// are written to as they are.
///
/// Throws std::runtime_error with the path and the system's text where it cannot be written.
void write_file(const std::string& directory, std::string_view name, std::string_view text);
/// The same to a path.
void write_file(const std::string& path, std::string_view text);

}  // namespace packsim
