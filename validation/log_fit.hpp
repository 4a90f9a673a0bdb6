#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace packsim {

/// Fits numbers above 0 to measured times: least squares of the logarithms of predicted over measured time,
/// by Gauss-Newton's steps in the logarithms of the numbers. None where no time depends on the number.
///
/// log_error(row, numbers): of row 0 to n_rows - 1.
std::vector<std::optional<double>> fit_logs(
    std::size_t n_rows, std::vector<double> start,
    const std::function<double(std::size_t row, const std::vector<double>& numbers)>& log_error);

}  // namespace packsim
