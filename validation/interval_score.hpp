#pragma once

#include <vector>

#include "validation/validation_row.hpp"

namespace packsim {

/// The interval score of a 90 % interval of logarithms (Winkler 1972): its width, and 20 times the distance
/// to a value outside it. Less is better, and nothing is gained by an interval that is wider or narrower than
/// one believes. half_width: of an interval around 0; distance: of the value from 0, >= 0.
double interval_score(double half_width, double distance);

/// The mean score of the rows' intervals around what was predicted. Rows without an interval do not count.
double mean_interval_score(const std::vector<ValidationRow>& rows);

/// The mean score of the same rows if all intervals were as wide: with the width that is best for them.
double best_constant_score(const std::vector<ValidationRow>& rows);

}  // namespace packsim
