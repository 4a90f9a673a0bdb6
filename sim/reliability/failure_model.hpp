#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// Spare units. A unit that has failed is in repair for repair_s, and is then a spare itself.
struct SparePool {
  std::int64_t n_units = 0;
  double repair_s = 0;

  bool operator==(const SparePool&) const = default;
};

/// How a run fails and recovers.
///
/// Failures are a Poisson process. Every unit fails at a constant rate, also while the run writes a
/// checkpoint, restarts or waits, and one failure stops the whole run. The run then restarts from its last
/// complete checkpoint; a failure during the restart begins the restart again. At its end the run saves its
/// result as a checkpoint, and waits until that is written.
struct FailureModel {
  /// Mean time between failures of a unit; infinity: nothing fails.
  double unit_mtbf_h = std::numeric_limits<double>::infinity();
  std::int64_t unit_gpus = 1;  ///< GPUs that fail together; 8 if unit_mtbf_h is for a node of 8

  /// Work between checkpoints; if not set, the interval with the least expected time (optimal_interval_s()).
  std::optional<double> checkpoint_interval_s = {};
  double checkpoint_write_s = 0;  ///< time from the start of a checkpoint until it is durable
  /// The part of the write, at its beginning, during which the run stands still. The rest is written while
  /// the run continues. After a failure before the write is complete, the run restarts from the checkpoint
  /// before.
  double checkpoint_blocking_fraction = 1;

  double detection_s = 0;   ///< time from a failure until it is noticed
  double reschedule_s = 0;  ///< then time until the new processes run
  double load_s = 0;        ///< then time until they have read the checkpoint and train again

  /// The spare units; if not set, a replacement is always available.
  std::optional<SparePool> spares = {};

  double restart_s() const { return detection_s + reschedule_s + load_s; }

  bool operator==(const FailureModel&) const = default;
};

/// All mistakes in the arguments, such as "unit_mtbf_h: expected a number above 0, got -1". Empty if there
/// are none.
std::vector<std::string> failure_mistakes(double work_s, std::int64_t n_gpus, const FailureModel& model);

/// Throws std::invalid_argument with all of failure_mistakes(), if any.
void check_failure_model(double work_s, std::int64_t n_gpus, const FailureModel& model);

/// Failures of the run per second: the number of units over the MTBF of a unit. A unit of which the run uses
/// only some GPUs counts in full.
double failure_rate_per_s(std::int64_t n_gpus, const FailureModel& model);

/// GPU-days of the run in this wall time, those of its spare units included.
double gpu_days(double wall_s, std::int64_t n_gpus, const FailureModel& model);

/// Seconds that writing a checkpoint takes. Throws std::invalid_argument unless size_bytes >= 0 and
/// bandwidth_bytes_per_s > 0.
double checkpoint_write_s(double size_bytes, double bandwidth_bytes_per_s);

/// Published failure rates to choose from. None of them is a default.
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
