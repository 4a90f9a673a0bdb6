#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/kernel_case.hpp"
#include "models/parallel_plan.hpp"

namespace packsim {

/// The middle value, or the mean of the two middle ones. At least one value.
double median(std::vector<double> values);

/// Where measurements come from: the machine and the software that was measured, or the publication.
struct MeasurementSource {
  std::string id;                              ///< named by the measurements; "" for the file's own machine
  std::string gpu;                             ///< "NVIDIA H100 80GB HBM3"
  std::string provenance;                      ///< where it was published, or the command that measured it
  std::string licence;                         ///< of what was published; empty for own measurements
  std::map<std::string, std::string> details;  ///< driver, libraries, clocks, topology, as they were recorded
  /// The plan of its training steps, beside what their cases say. None: they go as calibration/steps runs
  /// them.
  std::optional<ParallelPlan> plan = {};

  /// What a GPU's share of its node's network cards carries one way, of collectives between nodes: the detail
  /// of this name. None if it was not recorded.
  std::optional<double> nic_bytes_per_s_of_gpu() const;
};

/// One kernel case as it was measured.
struct Measurement {
  KernelCase kernel;
  std::string library;            ///< what ran: cublaslt, cudnn, fa3, nccl, torch
  std::string source;             ///< id of its source
  std::vector<double> samples_s;  ///< raw, in the order in which they were taken; one for a published figure
  std::map<std::string, std::vector<double>>
      parts_s;  ///< of a step: forward, backward, optimizer; [n_samples] each
  std::optional<double> peak_memory_bytes = {};  ///< of a step, where it was measured
  /// noisy, throttled, cut, host_bound, recompiled, published, read_off_figure
  std::vector<std::string> flags;
  std::string note;
  std::string place = {};  ///< file:line that it was read from; empty for those made in memory

  double median_s() const;
  /// Median absolute deviation x 1.4826 over the median; 0 for one sample.
  double relative_spread() const;
  bool has_flag(std::string_view flag) const;
};

/// A case that was asked for and could not be measured.
struct SkippedCase {
  std::string kernel;
  std::string reason;
};

struct Measurements {
  std::vector<MeasurementSource> sources;
  std::vector<Measurement> rows;
  std::vector<SkippedCase> skipped;
  bool complete = false;  ///< the run that wrote it came to its end

  /// Every row names one of the sources.
  const MeasurementSource& source_of(const Measurement& row) const;
};

}  // namespace packsim
