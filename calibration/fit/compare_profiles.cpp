#include "calibration/fit/compare_profiles.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/kernels/curve_time.hpp"

namespace packsim {
namespace {

// The kernel with what tells one kind of it from another.
std::string family_of_key(const std::string& key) {
  std::string family = key.substr(0, key.find(' '));
  for (const char* word : {"layout", "pass", "op", "kind"}) {
    const std::string_view value = key_value(key, word);
    if (!value.empty()) family += " " + std::string(word) + "=" + std::string(value);
  }
  return family;
}

std::set<double> common_sizes(const KernelCurve& a, const KernelCurve& b) {
  const double from = std::max(a.points.front().size, b.points.front().size);
  const double to = std::min(a.points.back().size, b.points.back().size);
  std::set<double> sizes;
  for (const KernelCurve* curve : {&a, &b}) {
    for (const CurvePoint& point : curve->points) {
      if (point.size >= from && point.size <= to) sizes.insert(point.size);
    }
  }
  return sizes;
}

void add(ProfileRatio& ratio, double log_ratio, double size) {
  const double value = std::exp(log_ratio);
  if (ratio.n == 0 || value < ratio.low) {
    ratio.low = value;
    ratio.low_at = size;
  }
  if (ratio.n == 0 || value > ratio.high) {
    ratio.high = value;
    ratio.high_at = size;
  }
  ratio.mean += log_ratio;  // a sum, until finish()
  ++ratio.n;
}

void finish(ProfileRatio& ratio) {
  ratio.mean = std::exp(ratio.mean / ratio.n);
}

}  // namespace

ProfileComparison compare_profiles(const HardwareProfile& a, const HardwareProfile& b) {
  ProfileComparison comparison;
  std::map<std::string, ProfileRatio> families;
  std::set<std::string> common;
  for (const KernelCurve& first : a.curves) {
    const KernelCurve* second = b.curve(first.key);
    if (second == nullptr) {
      comparison.only_in_a.push_back(first.key);
      continue;
    }
    common.insert(first.key);
    const std::set<double> sizes = common_sizes(first, *second);
    if (sizes.empty()) {
      comparison.no_common_size.push_back(first.key);
      continue;
    }
    ProfileRatio ratio{.key = first.key, .from = *sizes.begin(), .to = *sizes.rbegin()};
    ProfileRatio& family = families[family_of_key(first.key)];
    for (const double size : sizes) {
      const double log_ratio = std::log(curve_time(*second, size).time_s / curve_time(first, size).time_s);
      add(ratio, log_ratio, size);
      add(family, log_ratio, size);
    }
    finish(ratio);
    comparison.curves.push_back(ratio);
  }
  for (const KernelCurve& curve : b.curves) {
    if (!common.contains(curve.key)) comparison.only_in_b.push_back(curve.key);
  }
  for (auto& [key, ratio] : families) {
    ratio.key = key;
    finish(ratio);
    comparison.families.push_back(ratio);
  }
  return comparison;
}

}  // namespace packsim
