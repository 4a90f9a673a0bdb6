#include "sim/reliability/failure_model.hpp"

#include <cmath>
#include <stdexcept>

namespace packsim {
namespace {

class Mistakes {
 public:
  void expect(bool met, const std::string& name, const std::string& expected, const std::string& got) {
    if (!met) found.push_back(name + ": expected " + expected + ", got " + got);
  }
  void expect_duration(const std::string& name, double duration_s) {
    expect(duration_s >= 0 && std::isfinite(duration_s), name, "a number of at least 0",
           std::to_string(duration_s));
  }

  std::vector<std::string> found;
};

void refuse(const std::vector<std::string>& mistakes) {
  std::string all;
  for (const std::string& mistake : mistakes) all += (all.empty() ? "" : "; ") + mistake;
  if (!all.empty()) throw std::invalid_argument(all);
}

// Checkpoints of a run are counted exactly in a double.
constexpr double kMostCheckpoints = 1e12;

void check_interval(double work_s, const FailureModel& model, Mistakes& mistakes) {
  if (model.checkpoint_interval_s) {
    const double interval_s = *model.checkpoint_interval_s;
    mistakes.expect(interval_s > 0 && work_s / interval_s <= kMostCheckpoints, "checkpoint_interval_s",
                    "a number above 0 and of at most 1e12 checkpoints a run", std::to_string(interval_s));
  } else {
    mistakes.expect(model.checkpoint_write_s > 0 || std::isinf(model.unit_mtbf_h), "checkpoint_interval_s",
                    "a number where checkpoint_write_s is 0, as the best interval is then 0", "none");
  }
}

}  // namespace

std::vector<std::string> failure_mistakes(double work_s, std::int64_t n_gpus, const FailureModel& model) {
  Mistakes mistakes;
  mistakes.expect_duration("work_s", work_s);
  mistakes.expect(n_gpus >= 1, "n_gpus", "at least 1", std::to_string(n_gpus));
  mistakes.expect(model.unit_mtbf_h > 0, "unit_mtbf_h", "a number above 0",
                  std::to_string(model.unit_mtbf_h));
  mistakes.expect(model.unit_gpus >= 1, "unit_gpus", "at least 1", std::to_string(model.unit_gpus));
  mistakes.expect_duration("checkpoint_write_s", model.checkpoint_write_s);
  check_interval(work_s, model, mistakes);
  const double fraction = model.checkpoint_blocking_fraction;
  mistakes.expect(fraction >= 0 && fraction <= 1, "checkpoint_blocking_fraction", "0..1",
                  std::to_string(fraction));
  mistakes.expect_duration("detection_s", model.detection_s);
  mistakes.expect_duration("reschedule_s", model.reschedule_s);
  mistakes.expect_duration("load_s", model.load_s);
  if (model.spares) {
    mistakes.expect(model.spares->n_units >= 0, "spares.n_units", "at least 0",
                    std::to_string(model.spares->n_units));
    mistakes.expect_duration("spares.repair_s", model.spares->repair_s);
  }
  return mistakes.found;
}

void check_failure_model(double work_s, std::int64_t n_gpus, const FailureModel& model) {
  refuse(failure_mistakes(work_s, n_gpus, model));
}

double failure_rate_per_s(std::int64_t n_gpus, const FailureModel& model) {
  const std::int64_t n_units = (n_gpus - 1) / model.unit_gpus + 1;
  return static_cast<double>(n_units) / (model.unit_mtbf_h * 3600);
}

double gpu_days(double wall_s, std::int64_t n_gpus, const FailureModel& model) {
  const auto n_spares = static_cast<double>(model.spares ? model.spares->n_units : 0);
  const auto unit_gpus = static_cast<double>(model.unit_gpus);
  return wall_s * (static_cast<double>(n_gpus) + n_spares * unit_gpus) / 86400;
}

double checkpoint_write_s(double size_bytes, double bandwidth_bytes_per_s) {
  Mistakes mistakes;
  mistakes.expect(size_bytes >= 0 && std::isfinite(size_bytes), "size_bytes", "a number of at least 0",
                  std::to_string(size_bytes));
  mistakes.expect(bandwidth_bytes_per_s > 0, "bandwidth_bytes_per_s", "a number above 0",
                  std::to_string(bandwidth_bytes_per_s));
  refuse(mistakes.found);
  return size_bytes / bandwidth_bytes_per_s;
}

}  // namespace packsim
