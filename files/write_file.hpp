#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace packsim {

/// What becomes of the folder of a file where there is none.
enum class MissingFolder { create, refuse };

/// Writes a file so that its path always names a whole file: the old one until the new one is on the disk,
/// then the new one.
///
/// - The bytes go into a temporary file in the same folder, which is created for this writer alone, is
///   synchronised and renamed; then the folder is synchronised. The last of two writers to end wins.
/// - A symbolic link stays, and the file that it names is replaced. Other hard links keep the old file.
/// - A file that is replaced keeps its permissions and, where the system allows it, its owner. One without
///   permission to write is not replaced.
/// - A file that the program has read is never replaced (inputs.hpp): std::invalid_argument.
/// - Devices, pipes and sockets are written to as such, and so are open descriptors (/dev/stdout, /dev/fd/3).
/// - Temporary files that killed writers of the same path left behind are removed.
///
/// Throws FileError with the path ("PATH: cannot write: No space left on device"). The old file is then as it
/// was, unless the folder alone could not be synchronised: then the new one is in its place, but may not
/// survive a power failure. The Python package writes by the same rules: python/packsim/_whole_file.py.
void write_file(const std::string& path, std::span<const std::byte> bytes,
                MissingFolder missing_folder = MissingFolder::create);
void write_file(const std::string& path, std::string_view text,
                MissingFolder missing_folder = MissingFolder::create);
/// The same to `directory`/`name`.
void write_file(const std::string& directory, std::string_view name, std::string_view text);

/// Whether write_file() would write to an open descriptor, as it does for /dev/stdout.
bool names_open_descriptor(std::string_view path);

}  // namespace packsim
