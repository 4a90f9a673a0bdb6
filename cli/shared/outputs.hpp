#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace packsim {

/// The files that commands write. Every command writes through it, as it has the one rule of what may be
/// replaced (docs/files.md): a file that is as packsim wrote it (WrittenFiles), or empty; any other one with
/// --force; a file that the command reads never.
///
/// A file is named by a folder and a name that goes on from there, as "settings/README.md" does, or by one
/// path. Devices, pipes and open descriptors are written to and never in the way.
class Outputs {
 public:
  using Text = std::pair<std::string, std::string>;  ///< a name and what is written there

  /// Adds --force to a command.
  void add_force_option(CLI::App& command);
  bool is_forced() const { return is_forced_; }
  /// Throws std::invalid_argument that names all of these files that may not be replaced: those at paths, of
  /// which an empty one is none, and those in a folder. For when the inputs are known and before the work, so
  /// that none is lost.
  void expect(const std::vector<std::string>& paths, const std::string& folder = {},
              const std::vector<std::string>& names = {}) const;

  /// Writes files that an interrupt leaves whole, all of them. Says which of them --force replaced. Throws as
  /// expect() does, before any is written, for a file that came meanwhile, and as write_file() does.
  void write(const std::string& folder, const std::vector<Text>& texts);
  void write(const std::string& folder, const std::string& name, std::span<const std::byte> bytes);
  void write(const std::string& path, std::span<const std::byte> bytes);
  void write(const std::string& path, std::string_view text);

  /// Writes a file that the command has read and changes in place.
  void change(const std::string& path, std::string_view text);
  /// Remembers a file that another program wrote for the command.
  void add_written(const std::string& folder, const std::string& name);
  /// Removes a file that --force replaces by one that is not written here, and says so.
  void remove(const std::string& path);

 private:
  struct Output {
    std::string name;
    std::span<const std::byte> bytes;
  };
  void write(const std::string& folder, std::span<const Output> outputs);
  void say(std::string_view line) const;

  std::vector<const CLI::App*> commands_;
  bool is_forced_ = false;
};

}  // namespace packsim
