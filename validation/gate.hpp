#pragma once

#include <span>
#include <string>
#include <vector>

#include "validation/validation_row.hpp"

namespace packsim {

/// How much the error of a row may grow: 0.2 percentage points.
inline constexpr double kGateSlack = 0.002;

struct GateFindings {
  std::vector<std::string> failures;  ///< "steps: mpt-7b: error 3.1 %, was 2.4 %"
  /// Rows whose error is now smaller than in the gate, which can be tightened.
  std::vector<std::string> gains;
};

/// The error and outcome of every row, as JSON for validation/gate.json; ends in a newline.
std::string gate_json(std::span<const ValidationSet> sets);

/// Compares the sets with a gate that gate_json() wrote. These are failures: an error that has grown by more
/// than the slack (for layers, by any amount), a row or bound that was met and no longer is, a row that was
/// modelled and is now refused, and a row that only the gate or only the sets have.
///
/// Throws std::invalid_argument if the text is not a gate.
GateFindings check_gate(const std::string& gate, std::span<const ValidationSet> sets);

}  // namespace packsim
