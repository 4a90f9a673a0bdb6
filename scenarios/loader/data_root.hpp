#pragma once

#include <string>

namespace packsim {

/// The folder of the data that come with packsim: $PACKSIM_DATA, or share/packsim in one of the folders above
/// an installed program or library, or the source tree. binary: the path of that program or library, which
/// may be a link. Throws std::invalid_argument where $PACKSIM_DATA is no folder.
std::string find_data_root(const std::string& binary);

}  // namespace packsim
