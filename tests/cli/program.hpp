#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/paths.hpp"

namespace packsim_test {

struct ProgramRun {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// A folder of its own for each test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "packsim_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
}

/// Runs a shell command in `folder`; `packsim` is the program under test.
inline ProgramRun run_shell(const TemporaryFolder& folder, const std::string& command) {
  const std::string out = folder / "stdout.txt";
  const std::string err = folder / "stderr.txt";
  const std::string bin = std::filesystem::path(packsim_test::program()).parent_path().string();
  const std::string line = "cd '" + folder.string() + "' && export PATH='" + bin +
                           "':\"$PATH\" PACKSIM_DATA='" + packsim_test::source_dir() + "' && (" + command +
                           ") >'" + out + "' 2>'" + err + "'";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

/// What a run said on stderr beside its progress, which it shows only where it takes long.
inline std::string without_progress(const std::string& err) {
  return std::regex_replace(err, std::regex("\\[[0-9]+ s\\] [^\\n]*\\n"), "");
}

}  // namespace packsim_test
