#pragma once

#include "scenarios/loader/data_paths.hpp"
#include "tests/paths.hpp"

namespace packsim_test {

/// Models, clusters, profiles and scenarios as they are shipped.
inline const packsim::DataPaths kData{.root = source_dir()};

}  // namespace packsim_test
