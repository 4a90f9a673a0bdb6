#pragma once

#include <string>

namespace packsim {

/// The folder of the data that come with the program: $PACKSIM_DATA, or beside the installed program, or the
/// source tree. Throws std::invalid_argument where $PACKSIM_DATA is no folder.
std::string find_data_root();

}  // namespace packsim
