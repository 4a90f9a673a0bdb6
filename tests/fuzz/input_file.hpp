#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "scenarios/loader/json/problems.hpp"
#include "tests/fuzz/expect.hpp"

namespace packsim::testing {

/// A file in memory that holds the input of a fuzz target, for functions that take a path.
class InputFile {
 public:
  InputFile() : descriptor_(memfd_create("input", 0)) { expect(descriptor_ >= 0, "memory for a file"); }
  ~InputFile() { close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void write(const void* bytes, std::size_t n_bytes) const {
    expect(ftruncate(descriptor_, 0) == 0, "an empty file");
    const auto size = static_cast<ssize_t>(n_bytes);
    expect(pwrite(descriptor_, bytes, n_bytes, 0) == size, "a whole file");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Every mistake is one line that says where it is, what was expected and what came, and names a file: the
/// input or one that it names.
inline void check_messages(const ScenarioError& error) {
  expect(!error.messages().empty(), "an error has a message");
  for (const std::string& message : error.messages()) {
    expect(message.find('\n') == std::string::npos, "a message is one line");
    expect(message.find("expected ") != std::string::npos, "a message says what was expected");
    expect(message.find(", got ") != std::string::npos, "a message says what came");
    expect(message.starts_with('/') || message.starts_with("lengths: "), "a message names the file");
  }
}

}  // namespace packsim::testing
