#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/json/problems.hpp"

namespace packsim {

/// The numbers of a column of a length file, [n_samples], in the order of the file, such as scores of
/// difficulty: a column of a .csv with a header, or a member of the objects of a .jsonl. Leaves rows without
/// a finite number in `problems`, and files that have no columns.
std::vector<double> parse_column(const std::string& path, std::string_view bytes, const std::string& column,
                                 Problems& problems);

}  // namespace packsim
