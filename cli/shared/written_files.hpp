#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// What packsim wrote into a folder, as FOLDER/.packsim-files says it: a line for each file with the XXH3 of
/// its content and its name, as xxh128sum prints and checks them.
///
/// So a file is known by what is in it, whatever its format: one that was changed since is somebody's own,
/// and a folder may be moved or copied. A file that is being replaced has two lines, as a kill may leave
/// either.
class WrittenFiles {
 public:
  static constexpr std::string_view kName = ".packsim-files";

  /// Where the folder has no record, or one that may not be read, packsim wrote nothing into it. Throws
  /// FileError.
  explicit WrittenFiles(const std::string& folder);

  /// Whether packsim wrote a file of this name, which goes on from the folder and may have folders.
  bool has(const std::string& name) const { return hashes_.contains(name); }
  bool has(const std::string& name, const std::string& hash) const;
  /// From now on, the file has one of these contents. A name with a line break is not remembered.
  void set(const std::string& name, std::vector<std::string> hashes);
  /// Throws FileError.
  void save() const;

 private:
  std::string path_;
  std::string text_;  // as it is on the disk
  std::map<std::string, std::vector<std::string>> hashes_;
};

}  // namespace packsim
