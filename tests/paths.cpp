// The only file of the tests that knows where it was built: a compiler cache serves all others in another
// folder.
#include "tests/paths.hpp"

namespace packsim_test {

std::string source_dir() {
  return PACKSIM_SOURCE_DIR;
}

std::string program() {
  return PACKSIM_PROGRAM;
}

std::string failing_calls() {
  return PACKSIM_FAILING_CALLS;
}

}  // namespace packsim_test
