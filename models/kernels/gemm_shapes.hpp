#pragma once

#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/kernels/hardware_profile.hpp"

namespace packsim {

struct Gemm {
  double m = 0;
  double n = 0;
  double k = 0;
};

/// The two sides of a product that a curve holds fixed, and the one that it runs over.
struct GemmSides {
  std::array<double, 2> fixed = {};
  double size = 0;
  bool over_k = false;  ///< layout nt: the curve runs over k

  Gemm at(double size_value) const {
    return over_k ? Gemm{fixed[0], fixed[1], size_value} : Gemm{size_value, fixed[0], fixed[1]};
  }
};
GemmSides sides_of(const KernelCase& kernel);

struct GemmNumbers;
/// gemm_model_s() of the product that has this size.
double gemm_model_s(const GemmNumbers& numbers, const GemmSides& sides, double size);

/// A measured shape near another one.
struct GemmNeighbour {
  const KernelCurve* curve = nullptr;
  GemmSides sides;
  double distance = 0;
  double weight = 0;
};

struct GemmPoint {
  double size = 0;
  double time_s = 0;
};

/// What is known of a shape by the measured shapes near it.
struct GemmSurroundings {
  std::vector<GemmNeighbour> neighbours;
  /// The model, times the ratio of the neighbours' times to it, at the sizes that they were measured at,
  /// ascending. Time never falls with size. Empty without neighbours.
  std::vector<GemmPoint> points;
};

/// Finds the measured shapes nearest to a shape, once for each, as pricing asks for many sizes of few shapes.
/// The profile and the models must outlive it.
class GemmShapes {
 public:
  explicit GemmShapes(const HardwareProfile& profile) : profile_(&profile) {}
  /// The nearest shapes by the logarithms of the fixed sides. A curve of this very shape does not count: it
  /// is what the estimate goes beyond.
  const GemmSurroundings& near(const KernelModel& model, const GemmSides& sides);

 private:
  const std::vector<GemmNeighbour>& measured(const KernelModel& model, bool over_k);

  const HardwareProfile* profile_;
  std::map<std::pair<const KernelModel*, bool>, std::vector<GemmNeighbour>> measured_;
  std::map<std::tuple<const KernelModel*, bool, double, double>, GemmSurroundings> known_;
};

}  // namespace packsim
