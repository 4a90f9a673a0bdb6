#pragma once

#include <string>

#include "models/kernels/hardware_profile.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

inline constexpr NamedFiles kHardwareProfileFiles = {"hardware profile", "calibration/profiles/hardware",
                                                     "hardware-profiles"};

/// Reads a hardware profile. Throws ScenarioError with every mistake (unknown keys, sizes that do not rise,
/// times that fall, numbers out of range, keys of no kernel), FileError.
HardwareProfile read_hardware_profile(const std::string& path);
/// The same of a shipped one's name, or a path, with the data sheet of its GPU and the profile that it names
/// for missing kernels.
HardwareProfile load_hardware_profile(const std::string& name_or_path, const DataPaths& data);

/// A profile as its file: one curve, model and source a line, ends in a newline. Numbers have six digits,
/// sizes all of theirs; reading it and writing it again gives the same bytes.
std::string hardware_profile_json(const HardwareProfile& profile);

}  // namespace packsim
