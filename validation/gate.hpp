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
  std::vector<std::string> gains;     ///< rows that are nearer than the gate says: it can be tightened
};

/// The error and outcome of every row, as JSON for validation/gate.json; ends in a newline.
std::string gate_json(std::span<const ValidationSet> sets);

/// Compares with a gate that gate_json() wrote. A failure: an error that has grown by more than the slack
/// (layers: at all), a row or bound that was met and no longer is, one that was modelled and is refused, and
/// rows that only one of the two has.
///
/// Throws std::invalid_argument where the text is no gate.
GateFindings check_gate(const std::string& gate, std::span<const ValidationSet> sets);

}  // namespace packsim
