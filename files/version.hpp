#pragma once

namespace packsim {

/// The sources that this build was made of: "0.1.0+g", the release and the first 12 digits of the commit.
/// Where files of the commit were changed, ".dirty." and a hash of the sources follow; a build outside a git
/// repository has "0.1.0+sources." and that hash. Two builds of equal versions give equal results. Link
/// packsim_version (cmake/version.cmake) for it.
const char* build_version();

}  // namespace packsim
