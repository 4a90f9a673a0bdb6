#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

/// One line per run under a header with the keys of report.json, quoted as RFC 4180 says (lines end in CR
/// LF). A number that does not exist is an empty cell. "groups" is capacity:sp:gc of each group, joined by
/// ';'.
std::string to_csv(const Report& report);

}  // namespace packsim
