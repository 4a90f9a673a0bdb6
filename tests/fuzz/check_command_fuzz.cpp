// `packsim check` in process, on any bytes as a scenario: it ends with 0 and says on stdout that the file is
// valid, or with 2, nothing on stdout and mistakes on stderr.

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/program.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/paths.hpp"

namespace {

using packsim::testing::expect;

// Collects what is printed to a stream of C as long as it lives.
class Captured {
 public:
  explicit Captured(std::FILE*& stream) : stream_(stream), printed_(stream) {
    stream = open_memstream(&text_, &size_);
  }
  ~Captured() {
    end();
    std::free(text_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  std::string end() {
    if (stream_ != printed_) {
      std::fclose(stream_);
      stream_ = printed_;
    }
    return {text_, size_};
  }

 private:
  std::FILE*& stream_;
  std::FILE* printed_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  static const packsim::testing::InputFile file;
  static const bool has_data = setenv("PACKSIM_DATA", packsim_test::source_dir().c_str(), 1) == 0;
  expect(has_data, "the shipped data");
  file.write(data, n_bytes);
  std::string path = file.path();
  std::array<char*, 4> arguments = {nullptr, nullptr, path.data(), nullptr};
  std::string program = "packsim";
  std::string command = "check";
  arguments[0] = program.data();
  arguments[1] = command.data();
  Captured out(stdout);
  Captured err(stderr);
  const int exit_code = packsim::run_program(3, arguments.data());
  const std::string errors = err.end();
  const std::string output = out.end();
  if (exit_code != 0 && exit_code != 2) std::fprintf(stderr, "%d: %s\n", exit_code, errors.c_str());
  expect(exit_code == 0 || exit_code == 2, "a scenario is valid, or the user's mistake");
  if (exit_code == 0) {
    expect(errors.empty(), "a valid scenario has no mistakes");
    expect(output.starts_with(path + ": valid\n"), "a valid scenario is said to be valid");
    return 0;
  }
  if (!output.empty()) std::fprintf(stderr, "%s%s\n", output.c_str(), errors.c_str());
  expect(output.empty(), "nothing is said of a scenario with mistakes");
  expect(errors.find("expected ") != std::string::npos && errors.ends_with('\n'), "mistakes are said");
  return 0;
}
