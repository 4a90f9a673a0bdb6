#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/gpu.hpp"
#include "models/kernels/kernel_case.hpp"
#include "models/kernels/measurement.hpp"

namespace packsim {

class GemmShapes;

/// How well a time is known.
enum class Evidence {
  /// Exactly this size was measured; for attention, every document's length with these heads.
  measured,
  /// It is between measured sizes or shapes, or was measured with the other state of the cache (hot, cold).
  interpolated,
  /// It is outside the measured range, or something else was measured in its place.
  extrapolated,
  /// It was measured on another GPU or over other links, and scaled to these (transfer_profile()).
  transferred,
  missing,  ///< no measurement can be used
};
inline constexpr int kNEvidenceLevels = 5;
std::string_view evidence_name(Evidence evidence);

/// Time of a kernel according to a profile.
struct KernelTime {
  double time_s = 0;  ///< 0 if evidence is missing
  /// Standard deviation of the logarithm of time_s over a new measurement.
  double relative_error = 0;
  Evidence evidence = Evidence::missing;
  /// Explanation for people: the curves and models used, or what is missing.
  std::string basis = {};
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
  double rms = 0;  ///< over all rows that are not outliers
  /// Error of points or shapes as predicted by a fit without them; 0: too few points to leave one out.
  double left_out_rms = 0;
  double max_error = 0;  ///< over all rows that are not outliers
  bool operator==(const FitQuality&) const = default;
};

struct CurvePoint {
  double size = 0;
  double time_s = 0;
  double relative_error = 0;  ///< of time_s, including the noise of a further measurement
  std::int64_t n_rows = 0;
  bool operator==(const CurvePoint&) const = default;
};

/// Measured times of one kernel by its size.
///
/// Between the points, and beyond the first and last, times follow a base function: either fixed_s + size /
/// size_per_s, or the model of the kernel (gemm, attention). Between two points the logarithm of time over
/// base is linear in the logarithm of size; beyond the first and last points it is constant.
struct KernelCurve {
  std::string key = {};  ///< text of the case without the keys that make up the size
  std::string library = {};
  std::string size_name = {};           ///< bytes, parameters, m, length_tokens
  std::vector<CurvePoint> points = {};  ///< sizes increase, times never decrease
  FittedNumber fixed_s = {.name = "fixed_s"};
  FittedNumber size_per_s = {.name = "size_per_s"};
  /// Whether times between the points are straight lines, and the base is used only beyond the ends.
  bool straight = false;
  double end_error = 0;      ///< relative error added for each factor of e beyond an end
  bool transferred = false;  ///< whether it was measured on another GPU or over other links
  FitQuality quality = {};
  std::vector<std::string> sources = {};  ///< sorted ids
  bool operator==(const KernelCurve&) const = default;
};

/// The smallest and largest value of a key that a model was fitted to.
struct KeyRange {
  std::string key = {};
  double low = 0;
  double high = 0;
  bool operator==(const KeyRange&) const = default;
};

/// A few numbers that price every size of a kernel. They are used for shapes without a curve, and beyond the
/// ends of curves.
struct KernelModel {
  std::string key = {};  ///< the kernel, and the keys whose values are the same for all its cases
  std::string library = {};
  std::vector<FittedNumber> numbers = {};
  std::vector<KeyRange> box = {};
  double end_error = 0;      ///< relative error added for each factor of e outside the box
  bool transferred = false;  ///< whether it was measured on another GPU or over other links
  FitQuality quality = {};
  std::vector<std::string> sources = {};

  /// Throws std::logic_error if the model has no number of that name.
  double number(std::string_view name) const;
  bool operator==(const KernelModel&) const = default;
};

/// What the links of a GPU carry one way, as their makers state it. 0: not known.
struct LinkRates {
  double gpu_bytes_per_s = 0;  ///< to the other GPUs of the node: NVLink, or PCIe where there is none
  double nic_bytes_per_s = 0;  ///< its share of its node's network cards
  bool switch_adds = false;    ///< whether the switches between the GPUs of a node add up what passes them
  bool operator==(const LinkRates&) const = default;
};

/// How the collectives of one family are scaled to other links.
struct LinkScaling {
  LinkRates measured = {};  ///< of the GPUs that they were measured on
  bool is_same_gpu = true;
  double work_error = 0;     ///< relative error that scaling adds to what goes with the payload
  double latency_error = 0;  ///< and to the rest
  bool operator==(const LinkScaling&) const = default;
};

/// The links of the cluster that collectives are priced on, and how each family (kernel_family()) is scaled.
struct ClusterLinks {
  LinkRates rates = {};
  std::map<std::string, LinkScaling, std::less<>> families = {};
};

/// Rows that a profile does not use, because another library was chosen for their kernels.
struct UnusedRows {
  std::string family = {};
  std::string library = {};
  std::int64_t n_rows = 0;
  std::string reason = {};
  bool operator==(const UnusedRows&) const = default;
};

/// Measurements of one kind of GPU and its network, as curves and models. The JSON files are in
/// calibration/profiles/hardware.
struct HardwareProfile {
  std::string name = {};
  std::string gpu = {};
  /// What is known of that GPU; none if models/gpus has no file of it.
  std::optional<Gpu> data_sheet = {};
  std::string description = {};
  std::vector<MeasurementSource> sources = {};  ///< sorted by id
  std::vector<KernelCurve> curves = {};         ///< sorted by key
  std::vector<KernelModel> models = {};         ///< sorted by key
  std::vector<UnusedRows> unused = {};
  /// The name or path of stand_in; empty if there is none.
  std::string missing_kernels_from = {};
  /// Measurements of another GPU or network, for the kernel families that this profile has none of.
  std::shared_ptr<const HardwareProfile> stand_in = {};
  /// If set, collectives are scaled from the links that they were measured on to these (transfer_profile()).
  std::optional<ClusterLinks> links = {};

  /// The curve or model with that key, or null.
  const KernelCurve* curve(std::string_view key) const;
  const KernelModel* model(std::string_view key) const;
  /// All curves whose key starts with a text, such as the name of a kernel.
  std::vector<const KernelCurve*> curves_of(std::string_view start) const;
  std::vector<const KernelModel*> models_of(std::string_view start) const;
};

/// The family of a kernel. A profile has measurements of only one library for each family. Families are, for
/// example, "elementwise op=rms_norm pass=fwd", "attention pass=bwd", "copy kind=device", "collective
/// op=all_gather", "collective op=all_gather between nodes" and "gemm".
std::string kernel_family(const KernelCase& kernel);
/// The same of the text of a case, or of the key of a curve or model.
std::string kernel_family(std::string_view text);

/// The curve that a case lies on, and its size there. For attention the size is 0, because each document has
/// a size of its own.
struct CurvePlace {
  std::string key = {};
  std::string size_name = {};
  double size = 0;
};
CurvePlace curve_place(const KernelCase& kernel);
/// The value of a key in the text of a case, curve or model: "4096" for n in "gemm n=4096 k=...". Empty if
/// the text lacks the key.
std::string_view key_value(std::string_view text, std::string_view key);
double key_number(std::string_view text, std::string_view key);

/// Time of a kernel. It never throws. The evidence of a "step" case is missing: predict_step() prices those.
///
/// More tokens in a document, more rows or more bytes never take less time. For shapes without a curve of
/// their own (n and k of a gemm, heads of attention) this holds along m and along the lengths of documents.
/// From one such shape to a larger one, the time may fall by a few percent, as much as the fit misses the
/// shapes nearby.
KernelTime kernel_time(const HardwareProfile& profile, const KernelCase& kernel);
/// The same, faster if many kernels are priced: `shapes` is made once for the profile.
KernelTime kernel_time(const HardwareProfile& profile, const KernelCase& kernel, GemmShapes& shapes);

}  // namespace packsim
