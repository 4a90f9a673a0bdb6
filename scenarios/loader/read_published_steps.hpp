#pragma once

#include <string>

#include "models/coverage/published_step.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// Reads published training steps, as validation/README.md describes the file. Models are those of the file
/// itself and those that are shipped; cluster types are shipped.
///
/// Throws ScenarioError with every mistake in it and in the files that it names, FileError where the machine
/// will not read one of them.
PublishedSteps load_published_steps(const std::string& path, const DataPaths& data);

}  // namespace packsim
