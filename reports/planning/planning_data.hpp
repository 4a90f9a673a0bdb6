#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/tables/run_values.hpp"

namespace packsim {

/// What became of a point of a grid, or of a candidate of a recommendation.
enum class PointStanding {
  compared,       ///< fits, and trains the job that was asked for
  other_job,      ///< trains another job, so it is not compared
  does_not_fit,   ///< in GPU memory
  failed,         ///< the strategy cannot be run
  refused,        ///< the scenario has mistakes
  not_simulated,  ///< no schedule of it could be the answer, so nobody asked
  not_reached,    ///< might be the answer: no time was left
};
inline constexpr int kNPointStandings = 7;

/// "compared", "trains another job" ... as the page says it.
const char* standing_text(PointStanding standing);

/// Why a run has no times though it was simulated. Files have no number for that.
inline constexpr const char* kNeverFinishes =
    "the run fails faster than it makes progress; it would never finish";

/// A number with its 90 % interval, if it has one.
struct PlanningAmount {
  double value = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
};

/// A strategy on a cluster with some settings. With failures in the scenario, amounts are the expected ones.
struct PlanningPoint {
  std::int64_t number = 0;  ///< in its grid, or of its candidate
  std::string strategy = {};
  PointStanding standing = PointStanding::refused;
  std::string reason = {};  ///< why it is not compared; empty if it is
  std::optional<double> n_gpus = {};
  std::optional<PlanningAmount> hours = {};
  std::optional<PlanningAmount> gpu_days = {};
  std::optional<PlanningAmount> money = {};
};

/// One more value of all points.
struct PlanningColumn {
  std::string key;            ///< "cluster.nodes"; no two columns have the same
  std::string title;          ///< as the page shows it
  std::string unit = {};      ///< empty for plain numbers and texts
  std::vector<Value> values;  ///< [n_points]
};

/// What one thing that may turn out otherwise does to the recommended run.
struct PlanningChange {
  struct Case {
    std::string what;             ///< "x 0.5"
    std::optional<double> ratio;  ///< of money, or without prices of GPU-days, to those of now
    std::string reason;           ///< why there is none
  };
  std::string what;  ///< "network cards"
  Case less;
  Case more;
};

/// What points have to keep to, by the upper ends of their intervals.
struct PlanningLimits {
  std::optional<double> hours = {};
  std::optional<double> money = {};
  std::optional<double> n_gpus = {};

  bool are_any() const { return hours || money || n_gpus; }
};

/// All that a planning page shows (docs/planning.md).
struct PlanningData {
  std::string title;   ///< the scenario, or the file that the points are from
  std::string source;  ///< one sentence: where the points are from
  std::vector<PlanningPoint> points;
  std::vector<PlanningColumn> settings;  ///< what was varied, but for the strategy
  std::vector<PlanningColumn> further;   ///< what else is known of a point
  std::string question;                  ///< the limits and the answer of a recommendation; empty without one
  PlanningLimits limits = {};            ///< of the question, which the page begins with
  std::vector<PlanningChange> changes;   ///< the largest effect first
};

}  // namespace packsim
