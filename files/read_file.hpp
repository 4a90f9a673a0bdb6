#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// What a file of descriptions (JSON, measurements) may have, and one of data (token lengths). Data that are
/// larger are read in parts by what uses them, or not at all.
constexpr std::int64_t kMostDescriptionBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMostDataBytes = std::int64_t{8} << 30;

/// The bytes of a regular file, or of a pipe up to its end.
///
/// Throws UnusableFileError for folders, devices (/dev/zero never ends) and sockets, and for files of more
/// than `most_bytes`: regular ones before they are read, pipes when they go beyond it. Throws FileError where
/// the machine will not read it.
std::string read_file(const std::string& path, std::int64_t most_bytes = kMostDescriptionBytes);

}  // namespace packsim
