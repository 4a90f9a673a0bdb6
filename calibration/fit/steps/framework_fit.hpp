#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/transformer.hpp"

namespace packsim {

struct FrameworkFitOptions {
  std::string name = "unnamed";
  std::string description = {};
  std::string hardware = {};  ///< the hardware profile by name or path; empty: its own name
};

/// A measured step beside what the fitted profile says of it.
struct FrameworkFitRow {
  std::string step;
  double measured_s = 0;
  double predicted_s = 0;
  double left_out_s = 0;  ///< by a fit without the row, or of over 40 rows without one in ten
  std::optional<double> measured_memory_bytes = {};  ///< where it was measured
  double predicted_memory_bytes = 0;  ///< by the styles of the step's plan; nothing of it is fitted
};

struct FrameworkFit {
  FrameworkProfile profile;
  std::string description;
  std::vector<FittedNumber> numbers;  ///< of the profile, with standard errors; 0 for assumed ones
  std::vector<std::string> assumed;   ///< names of numbers that the rows do not tell
  std::vector<FrameworkFitRow> rows;
  double mean_error = 0;  ///< of |predicted / measured - 1|
  double max_error = 0;
  double left_out_mean_error = 0;
  double left_out_max_error = 0;
  double memory_mean_error = 0;
  /// Seconds of a launch, where the rows tell them. None: the profile has those of the plan, or 0 where these
  /// would make GPUs wait beside the fitted numbers.
  std::optional<FittedNumber> launch = {};
};

/// Fits what measured steps, whose documents are known, take beyond the kernels of a hardware profile: the
/// time factors. Peak memory follows from the styles of the plan and is compared where it was measured. A
/// number that the rows do not tell (exchanges where no step has groups, the micro-batch's cost where every
/// step has as many) is taken as what a framework that adds nothing has; the covariance knows of assumed
/// exchange factors that they may be half or twice as large.
///
/// Where a source says its plan, steps were not queued ahead of the GPU, and the seconds of a launch are
/// fitted, too; if the rows tell them, no fixed cost of a micro-batch is.
///
/// model: by the name in the case; a step of fewer layers is priced as the model cut to these. cluster: the
/// type of the nodes, for which GPUs share a node. Steps are taken to go as source_plan() of their sources.
/// Throws std::invalid_argument for fewer than 4 steps, for steps that are executed in several ways, and with
/// every reason for steps that cannot exist.
FrameworkFit fit_framework_profile(const Measurements& measurements,
                                   const std::function<Transformer(const std::string&)>& model,
                                   const Cluster& cluster, const HardwareProfile& hardware,
                                   const FrameworkFitOptions& options = {});

/// The file of the profile, with every row in its provenance; ends in a newline.
std::string framework_profile_json(const FrameworkFit& fit);
/// Its numbers with their standard errors, or that they are assumed: a line each.
std::string framework_numbers_text(const FrameworkFit& fit);
/// The fit for people: these numbers, then errors.
std::string framework_fit_text(const FrameworkFit& fit);

}  // namespace packsim
