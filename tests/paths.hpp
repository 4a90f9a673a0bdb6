#pragma once

#include <string>

namespace packsim_test {

/// The project's sources, which tests read shipped files and published cases from.
std::string source_dir();
/// The program under test.
std::string program();
/// The library of tests/faults, to preload.
std::string failing_calls();

}  // namespace packsim_test
