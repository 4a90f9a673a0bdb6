// Any bytes as a hardware profile: an accepted one can be written, and what was written reads as the same.

#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  using packsim::testing::expect;
  static const packsim::testing::InputFile file;
  file.write(data, n_bytes);
  std::string written;
  try {
    written = packsim::hardware_profile_json(packsim::read_hardware_profile(file.path()));
  } catch (const packsim::ScenarioError& error) {
    packsim::testing::check_messages(error);
    return 0;
  }
  file.write(written.data(), written.size());
  try {
    expect(packsim::hardware_profile_json(packsim::read_hardware_profile(file.path())) == written,
           "a profile that was written reads as the same");
  } catch (const packsim::ScenarioError& error) {
    std::fprintf(stderr, "%s\n%s\n", written.c_str(), error.what());
    expect(false, "a profile that was written is accepted");
  }
  return 0;
}
