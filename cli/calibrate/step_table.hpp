#pragma once

#include <cstddef>
#include <string>

#include "calibration/fit/steps/validate_steps.hpp"
#include "cli/calibrate/inputs.hpp"

namespace packsim {

/// A case "step model=..." in words, with its packs shortened: "llama3.1-8b, 4 of 32 layers, 2 checkpointed,
/// 1 pack of 2,030 tokens (3 documents)". What every plain step has (sp=1, dp=1, zero=0, no checkpointed
/// layers) is not said. Fewer words about the packs where it is wider than width_columns, which it may still
/// be.
std::string step_label(const KernelCase& step, const Transformer& model, std::size_t width_columns);

/// Every step's label with its numbers on a line under it. No line is wider than width_columns, where a
/// terminal has at least 40: columns are left out, the least important ones first.
std::string step_table(const StepValidation& validation, const ModelByName& model, std::size_t width_columns);

/// Mean, median, nine of ten and worst of all errors; empty without any.
std::string error_summary_table(const StepValidation& validation);

}  // namespace packsim
