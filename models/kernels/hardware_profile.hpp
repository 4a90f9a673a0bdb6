#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/kernel_case.hpp"
#include "models/kernels/measurement.hpp"

namespace packsim {

class GemmShapes;

/// How well a time is known.
enum class Evidence {
  measured,      ///< this very size was measured; of attention: every document's length, at these heads
  interpolated,  ///< between measured sizes or shapes, or a hot cache for a cold one and the other way
  extrapolated,  ///< outside what was measured, or something else stands in
  missing,       ///< nothing that was measured can stand in
};
inline constexpr int kNEvidenceLevels = 4;
std::string_view evidence_name(Evidence evidence);

/// What a kernel takes, according to a profile.
struct KernelTime {
  double time_s = 0;          ///< 0 where missing
  double relative_error = 0;  ///< one standard deviation of the logarithm of time_s over a new measurement
  Evidence evidence = Evidence::missing;
  std::string basis = {};  ///< for people: the curves and models that it comes from, or what is missing
};

/// A number that a fit found.
struct FittedNumber {
  std::string name = {};  ///< with its unit
  double value = 0;
  double standard_error = 0;  ///< in the number's unit
  bool operator==(const FittedNumber&) const = default;
};

/// How well a fit agrees with its rows. Errors are logarithms of fitted over measured.
struct FitQuality {
  std::int64_t n_rows = 0;
  std::int64_t n_samples = 0;
  std::int64_t n_outliers = 0;
  double rms = 0;           ///< of the rows that are no outliers
  double left_out_rms = 0;  ///< of points or shapes predicted by a fit without them; 0: too few to leave out
  double max_error = 0;     ///< of the rows that are no outliers
  bool operator==(const FitQuality&) const = default;
};

struct CurvePoint {
  double size = 0;
  double time_s = 0;
  double relative_error = 0;  ///< of time_s, with the noise of one more measurement
  std::int64_t n_rows = 0;
  bool operator==(const CurvePoint&) const = default;
};

/// Measured times of one kernel over its size. What lies between the points, and beyond the ends, follows a
/// base: the growth fixed_s + size / size_per_s, or the model of the kernel (gemm, attention). The logarithm
/// of time over base is linear in the logarithm of size between points, and constant beyond the ends.
struct KernelCurve {
  std::string key = {};  ///< the case's text without the keys that make the size
  std::string library = {};
  std::string size_name = {};           ///< bytes, parameters, m, length_tokens
  std::vector<CurvePoint> points = {};  ///< sizes rise, times never fall
  FittedNumber fixed_s = {.name = "fixed_s"};
  FittedNumber size_per_s = {.name = "size_per_s"};
  bool straight = false;  ///< the base counts beyond the ends alone, as straight lines do better between
  double end_error = 0;   ///< relative error that one e-fold beyond an end adds
  FitQuality quality = {};
  std::vector<std::string> sources = {};  ///< ids, sorted
  bool operator==(const KernelCurve&) const = default;
};

/// The smallest and largest value of a key that a model was fitted to.
struct KeyRange {
  std::string key = {};
  double low = 0;
  double high = 0;
  bool operator==(const KeyRange&) const = default;
};

/// A few numbers that price every size of a kernel; for shapes without a curve, and beyond a curve's ends.
struct KernelModel {
  std::string key = {};  ///< kernel and the keys that the numbers do not cover
  std::string library = {};
  std::vector<FittedNumber> numbers = {};
  std::vector<KeyRange> box = {};
  double end_error = 0;  ///< relative error that one e-fold outside the box adds
  FitQuality quality = {};
  std::vector<std::string> sources = {};

  /// Throws std::logic_error for a name that it has not.
  double number(std::string_view name) const;
  bool operator==(const KernelModel&) const = default;
};

/// Rows that a profile leaves out, as their library was not chosen.
struct UnusedRows {
  std::string family = {};
  std::string library = {};
  std::int64_t n_rows = 0;
  std::string reason = {};
  bool operator==(const UnusedRows&) const = default;
};

/// What was measured of one kind of GPU and its network, as curves and models. JSON files in
/// calibration/profiles/hardware.
struct HardwareProfile {
  std::string name = {};
  std::string gpu = {};
  std::string description = {};
  std::vector<MeasurementSource> sources = {};  ///< by id
  std::vector<KernelCurve> curves = {};         ///< by key
  std::vector<KernelModel> models = {};         ///< by key
  std::vector<UnusedRows> unused = {};

  /// Null where there is none.
  const KernelCurve* curve(std::string_view key) const;
  const KernelModel* model(std::string_view key) const;
  /// Curves whose key starts with a text, such as those of one kernel.
  std::vector<const KernelCurve*> curves_of(std::string_view start) const;
  std::vector<const KernelModel*> models_of(std::string_view start) const;
};

/// Kernels of different libraries do not mix: a profile takes one library for each family, as "elementwise
/// op=rms_norm pass=fwd", "attention pass=bwd", "copy kind=device", "collective op=all_gather", "collective
/// op=all_gather between nodes", "gemm".
std::string kernel_family(const KernelCase& kernel);

/// The curve that a case lies on, and where. Attention lies on one for each of its documents: size is 0.
struct CurvePlace {
  std::string key = {};
  std::string size_name = {};
  double size = 0;
};
CurvePlace curve_place(const KernelCase& kernel);
/// A value of a key in the text of a case, curve or model: 4096 of n in "gemm n=4096 k=...". Empty: none.
std::string_view key_value(std::string_view text, std::string_view key);
double key_number(std::string_view text, std::string_view key);

/// What a kernel takes. Never throws for a case; a step is missing, as predict_step() is what prices steps.
///
/// Longer documents, more rows and more bytes never take less time. Of shapes (n, k of a gemm; heads of
/// attention) that have no curve of their own, this holds along m and along the documents' lengths; from one
/// such shape to the next it may fall by the residuals of the shapes nearby, a few percent.
KernelTime kernel_time(const HardwareProfile& profile, const KernelCase& kernel);
/// The same for whoever prices many: shapes of the same profile.
KernelTime kernel_time(const HardwareProfile& profile, const KernelCase& kernel, GemmShapes& shapes);

}  // namespace packsim
