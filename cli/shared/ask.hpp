#pragma once

#include <string>

namespace packsim {

/// Whether there is somebody to ask: standard input and output are a terminal.
bool can_ask();

/// Asks on the terminal; an empty answer, or the end of the input, is the default. A question without a
/// default is asked again, and throws std::invalid_argument at the end of the input.
std::string ask(const std::string& question, const std::string& fallback);

}  // namespace packsim
