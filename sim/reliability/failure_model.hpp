#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// Units that stand by. A failed unit is gone for repair_s and then stands by itself.
struct SparePool {
  std::int64_t n_units = 0;
  double repair_s = 0;

  bool operator==(const SparePool&) const = default;
};

/// What goes wrong in a run and what is done about it.
///
/// Failures are a Poisson process: every unit fails at a constant rate, also while the run writes a
/// checkpoint, restarts or waits, and one failure stops the whole run. The run then restarts from its last
/// complete checkpoint; a failure during the restart starts the restart again. A run saves its result when it
/// ends, as a checkpoint that it waits for.
struct FailureModel {
  double unit_mtbf_h = std::numeric_limits<double>::infinity();  ///< infinity: nothing fails
  std::int64_t unit_gpus = 1;  ///< GPUs that fail together: 8 where unit_mtbf_h is a node's

  /// Work between checkpoints; nothing: the interval with the least expected time (optimal_interval_s()).
  std::optional<double> checkpoint_interval_s = {};
  double checkpoint_write_s = 0;  ///< from its start until it counts
  /// The first part of the write, during which the run stands still. The rest goes on beside the work, and a
  /// failure before its end falls back to the checkpoint before.
  double checkpoint_blocking_fraction = 1;

  double detection_s = 0;   ///< from the failure until it is noticed
  double reschedule_s = 0;  ///< until the new processes run
  double load_s = 0;        ///< until they have read the checkpoint and work again

  /// Nothing: a replacement is always at hand.
  std::optional<SparePool> spares = {};

  double restart_s() const { return detection_s + reschedule_s + load_s; }

  bool operator==(const FailureModel&) const = default;
};

/// Why a run cannot be so, every reason: "unit_mtbf_h: expected a number above 0, got -1". Empty where it
/// can.
std::vector<std::string> failure_mistakes(double work_s, std::int64_t n_gpus, const FailureModel& model);

/// Throws std::invalid_argument with all of failure_mistakes(), if any.
void check_failure_model(double work_s, std::int64_t n_gpus, const FailureModel& model);

/// Failures of the run per second: units that hold its GPUs, the last one perhaps in part, over their MTBF.
double failure_rate_per_s(std::int64_t n_gpus, const FailureModel& model);

/// Of the GPUs of the run and its spare units.
double gpu_days(double wall_s, std::int64_t n_gpus, const FailureModel& model);

/// Throws std::invalid_argument unless size_bytes >= 0 and bandwidth_bytes_per_s > 0.
double checkpoint_write_s(double size_bytes, double bandwidth_bytes_per_s);

/// Failure rates that others published, to choose from; none is a default.
struct PublishedMtbf {
  std::string_view name;
  double unit_mtbf_h;
  std::int64_t unit_gpus;
  std::string_view source;
};

inline constexpr std::array kPublishedMtbfs{
    PublishedMtbf{"llama3-405b-h100", 16384 * 54 * 24.0 / 419, 1,
                  "419 unexpected interruptions in 54 days on 16 384 H100 (The Llama 3 Herd of Models, arXiv "
                  "2407.21783, section 3.3.4)"},
    PublishedMtbf{"rsc1-a100", 24 * 1000 / 6.50, 8,
                  "6.50 failures per thousand node-days of 8 A100 (Kokolis et al., arXiv 2410.21680, RSC-1)"},
    PublishedMtbf{"rsc2-a100", 24 * 1000 / 2.34, 8,
                  "2.34 failures per thousand node-days of 8 A100 (Kokolis et al., arXiv 2410.21680, RSC-2)"},
};

}  // namespace packsim
