#pragma once

#include <array>
#include <compare>
#include <map>
#include <string>

#include "models/cause.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/kernels/kernel_case.hpp"

namespace packsim {

/// The curve that has to be measured to price a kernel: its key, and its family. Kernels of one family share
/// their error. The hardware profile may lack the curve.
struct CurveName {
  std::string family = {};
  std::string key = {};
  auto operator<=>(const CurveName&) const = default;
};

/// A time and how well it is known.
struct TimeEstimate {
  double time_s = 0;
  double error_s = 0;  ///< one standard deviation
  Evidence evidence = Evidence::missing;
  bool operator==(const TimeEstimate&) const = default;
};

/// A sum of times. Their errors add up too, because times of one curve share one error.
struct AccountedTime {
  double time_s = 0;
  double error_s = 0;
  std::array<double, kNEvidenceLevels> evidence_s = {};

  void add(const TimeEstimate& known, double times = 1) {
    time_s += times * known.time_s;
    error_s += times * known.error_s;
    evidence_s[static_cast<std::size_t>(known.evidence)] += times * known.time_s;
  }
  void add(const AccountedTime& other, double times = 1) {
    time_s += times * other.time_s;
    error_s += times * other.error_s;
    for (std::size_t i = 0; i < evidence_s.size(); ++i) evidence_s[i] += times * other.evidence_s[i];
  }
};

/// The evidence for prices: GPU time without waits, by cause and by the curve that prices it.
class PriceAccount {
 public:
  using Times = std::map<CurveName, AccountedTime>;
  /// The kernel that a text stands for, and how often it runs.
  struct Runs {
    KernelCase kernel;
    double count = 0;
  };
  using Kernels = std::map<std::string, Runs>;

  void add(Cause cause, const CurveName& curve, const TimeEstimate& known, double times = 1) {
    if (times > 0 && known.time_s > 0) of(cause)[curve].add(known, times);
  }
  void add(const PriceAccount& other, double times = 1);
  /// Adds runs of a kernel, which are no time. Pricers add those of their prices if they keep_kernels().
  void count(Cause cause, const KernelCase& kernel, double times);

  const Times& of(Cause cause) const { return by_cause_[static_cast<std::size_t>(cause)]; }
  AccountedTime total(Cause cause) const;
  /// The kernels that were counted, without attention's, which depend on the documents of a pack.
  const Kernels& kernels(Cause cause) const { return kernels_[static_cast<std::size_t>(cause)]; }

 private:
  Times& of(Cause cause) { return by_cause_[static_cast<std::size_t>(cause)]; }

  std::array<Times, kNCauses> by_cause_;
  std::array<Kernels, kNCauses> kernels_;
};

}  // namespace packsim
