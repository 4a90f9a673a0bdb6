#include "cli/shared/outputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "cli/shared/interrupts.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/written_files.hpp"
#include "files/file_bytes.hpp"
#include "files/file_descriptor.hpp"
#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/write_file.hpp"
#include "scenarios/loader/json/file_text.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

std::string output_path(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

std::string output_folder(const std::string& path) {
  return fs::path(path).parent_path().string();
}

std::string output_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::string hash_of_bytes(std::span<const std::byte> bytes) {
  return hash_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// What is at the path of an output.
struct InTheWay {
  bool is_file = true;                  // or nothing; not a device, a folder, an open descriptor
  std::optional<std::string> own = {};  // the hash of a file that may be replaced
  std::string mistake = {};             // why the file may not be
  bool is_input = false;
};

// Only to compare it, which makes it no input. None where it may not be read.
std::optional<std::string> hash_of_file(const std::string& path) {
  try {
    std::string hash = hash_of_bytes(FileBytes(RegularFile(path)).bytes());
    release_input(path);
    return hash;
  } catch (const FileError& error) {
    if (error.code().value() != EACCES) throw;
    return std::nullopt;
  }
}

InTheWay in_the_way(const std::string& folder, const std::string& name, const WrittenFiles& written) {
  const std::string path = output_path(folder, name);
  struct stat status = {};
  if (names_open_descriptor(path)) return {.is_file = false};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) return {.is_file = false};
  if (is_kept_input(status)) return {.mistake = input_mistake(path), .is_input = true};
  const std::optional<std::string> hash = hash_of_file(path);
  if (hash && (status.st_size == 0 || written.has(name, *hash))) return {.own = hash};
  return {.mistake = fmt::format(
              "{}: expected no file but packsim's own, got one that {}", path,
              written.has(name) ? "was changed since packsim wrote it" : "packsim has no record of writing")};
}

void refuse(const std::vector<InTheWay>& all, bool is_forced) {
  std::vector<std::string> mistakes;
  bool may_force = false;
  for (const InTheWay& found : all) {
    if (found.mistake.empty() || (is_forced && !found.is_input)) continue;
    mistakes.push_back(found.mistake);
    may_force = may_force || !found.is_input;
  }
  if (may_force) mistakes.emplace_back("--force replaces files that are no input; another path keeps them");
  if (!mistakes.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(mistakes, "\n")));
}

// While one lives, no other packsim changes the record of the folder. Where folders cannot be locked, one of
// two that end at the same moment may be forgotten.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : file_(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (file_.is_open()) ::flock(file_.get(), LOCK_EX);
  }

 private:
  FileDescriptor file_;
};

// Why the record could not be written; empty: it was. No result is lost for it.
std::string save(const WrittenFiles& written) {
  try {
    written.save();
  } catch (const FileError& error) {
    return fmt::format(
        "packsim: warning: {}; the next run takes the files that are written now for somebody's own\n",
        error.what());
  }
  return "";
}

}  // namespace

void Outputs::add_force_option(CLI::App& command) {
  commands_.push_back(&command);
  command.add_flag(
      "--force", is_forced_,
      "Replace also files that packsim did not write or that were changed since; never an input");
}

void Outputs::expect(const std::vector<std::string>& paths, const std::string& folder,
                     const std::vector<std::string>& names) const {
  std::vector<InTheWay> found;
  for (const std::string& path : paths) {
    if (!path.empty())
      found.push_back(in_the_way(output_folder(path), output_name(path), WrittenFiles(output_folder(path))));
  }
  const WrittenFiles written(folder);
  for (const std::string& name : names) found.push_back(in_the_way(folder, name, written));
  refuse(found, is_forced_);
}

void Outputs::write(const std::string& folder, const std::vector<Text>& texts) {
  std::vector<Output> outputs;
  for (const auto& [name, text] : texts) outputs.push_back({name, std::as_bytes(std::span(text))});
  write(folder, outputs);
}

void Outputs::write(const std::string& folder, const std::string& name, std::span<const std::byte> bytes) {
  const Output output{name, bytes};
  write(folder, std::span(&output, 1));
}

void Outputs::write(const std::string& path, std::span<const std::byte> bytes) {
  write(output_folder(path), output_name(path), bytes);
}

void Outputs::write(const std::string& path, std::string_view text) {
  write(path, std::as_bytes(std::span(text)));
}

// The record comes first: whenever the program is killed, it knows the file that is there.
void Outputs::write(const std::string& folder, std::span<const Output> outputs) {
  const WholeOutputs whole;
  std::vector<InTheWay> found;
  std::string warning;
  {
    const FolderLock lock(folder);
    WrittenFiles written(folder);
    for (const Output& output : outputs) found.push_back(in_the_way(folder, output.name, written));
    refuse(found, is_forced_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!found[i].is_file) continue;
      std::vector<std::string> hashes = {hash_of_bytes(outputs[i].bytes)};
      if (found[i].own && *found[i].own != hashes.front()) hashes.push_back(*found[i].own);
      written.set(outputs[i].name, std::move(hashes));
    }
    if (std::ranges::any_of(found, &InTheWay::is_file)) warning = save(written);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = output_path(folder, outputs[i].name);
    write_file(path, outputs[i].bytes);
    if (!found[i].mistake.empty()) say(fmt::format("packsim: replaced {}, as --force says\n", path));
  }
  say(warning);
}

void Outputs::change(const std::string& path, std::string_view text) {
  const WholeOutputs whole;
  release_input(path);
  write_file(path, text);
}

void Outputs::add_written(const std::string& folder, const std::string& name) {
  const std::optional<std::string> hash = hash_of_file(output_path(folder, name));
  if (!hash) return;
  const FolderLock lock(folder);
  WrittenFiles written(folder);
  written.set(name, {*hash});
  say(save(written));
}

void Outputs::remove(const std::string& path) {
  fs::remove(path);
  say(fmt::format("packsim: replaced {}, as --force says\n", path));
}

// --quiet leaves only errors.
void Outputs::say(std::string_view line) const {
  const auto is_quiet = [](const CLI::App* command) {
    return command->get_option_no_throw("--quiet") != nullptr && command->count("--quiet") > 0;
  };
  if (std::ranges::none_of(commands_, is_quiet)) print_error("{}", line);
}

}  // namespace packsim
