#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// A framework profile as its file (format 2), ends in a newline. numbers: those of which a standard error is
/// known. provenance: how the numbers came about.
std::string framework_profile_text(const FrameworkProfile& profile, const std::string& description,
                                   const std::vector<FittedNumber>& numbers,
                                   const nlohmann::ordered_json& provenance);

/// Six digits: more than rows can tell, few enough to be the same on every machine.
double six_digits(double value);
/// 0.01234 is 1.23.
double percent_of(double fraction);

}  // namespace packsim
