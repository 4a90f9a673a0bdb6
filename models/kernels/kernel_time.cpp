#include <algorithm>
#include <cmath>

#include "models/kernels/kernel_times.hpp"

namespace packsim {
namespace {

// How far a hot cache's time may be from a cold one's: much for operands that fit into the second-level
// cache (50 MB on an H100, 40 on an A100), little for those that are many times as large.
double other_cache_error(const KernelCase& kernel) {
  constexpr double kCacheBytes = 50e6;
  return std::min(0.3, 0.3 * kCacheBytes / std::max(1.0, kernel_bytes(kernel)));
}

std::optional<KernelTime> curve_only_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const CurvePlace place = curve_place(kernel);
  const KernelCurve* curve = profile.curve(place.key);
  if (curve == nullptr) return std::nullopt;
  return with_basis(curve_time(*curve, place.size), "curve " + curve->key);
}

std::optional<KernelTime> same_cache_time(const HardwareProfile& profile, const KernelCase& kernel,
                                          GemmShapes& shapes) {
  const std::string_view kind = kernel.kernel();
  if (kind == "gemm") return gemm_time(profile, kernel, shapes);
  if (kind == "attention") return attention_time(profile, kernel);
  if (kind == "collective") return collective_time(profile, kernel);
  if (kind == "overlap") return overlap_time(profile, kernel);
  if (kind == "step") return std::nullopt;
  return curve_only_time(profile, kernel);
}

bool has_key(const KernelCase& kernel, std::string_view key) {
  return std::ranges::find(kernel.kind().keys, key, &KernelKey::name) != kernel.kind().keys.end();
}

std::optional<KernelTime> any_cache_time(const HardwareProfile& profile, const KernelCase& kernel,
                                         GemmShapes& shapes) {
  std::optional<KernelTime> time = same_cache_time(profile, kernel, shapes);
  if (time || !has_key(kernel, "cache")) return time;
  const std::string other = kernel.value("cache") == "hot" ? "cold" : "hot";
  time = same_cache_time(profile, kernel.with("cache", other), shapes);
  if (!time) return time;
  time->evidence = std::max(time->evidence, Evidence::interpolated);
  time->relative_error = together(time->relative_error, other_cache_error(kernel));
  time->basis += ", of a " + other + " cache";
  return time;
}

}  // namespace

KernelTime with_basis(const CurveTime& time, const std::string& basis) {
  return {.time_s = time.time_s,
          .relative_error = time.relative_error,
          .evidence = time.evidence,
          .basis = time.evidence == Evidence::extrapolated ? basis + ", beyond its end" : basis};
}

std::optional<KernelTime> overlap_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const KernelModel* model = profile.model(kernel.text_without({"m", "n", "k", "bytes"}));
  if (model == nullptr) return std::nullopt;
  const KernelTime alone = kernel_time(profile, KernelCase::of("gemm", {kernel.value("m"), kernel.value("n"),
                                                                        kernel.value("k"), "tn", "hot"}));
  if (alone.evidence == Evidence::missing) return std::nullopt;
  const double outside = beyond_box(
      *model, {kernel.number("m"), kernel.number("n"), kernel.number("k"), kernel.number("bytes")});
  return KernelTime{
      alone.time_s * model->number("slow_down"),
      together(alone.relative_error, std::max(model->quality.rms, 0.01), model->end_error * outside),
      std::max(alone.evidence, outside > 0 ? Evidence::extrapolated : Evidence::interpolated),
      alone.basis + ", slowed down as in " + model->key};
}

KernelTime kernel_time(const HardwareProfile& profile, const KernelCase& kernel) {
  GemmShapes shapes(profile);
  return kernel_time(profile, kernel, shapes);
}

KernelTime kernel_time(const HardwareProfile& profile, const KernelCase& kernel, GemmShapes& shapes) {
  std::optional<KernelTime> time = any_cache_time(profile, kernel, shapes);
  if (!time && kernel.kernel() == "gemm" && kernel.value("layout") != "tn") {
    // The same product with another operand transposed; libraries give them times a few percent apart.
    constexpr double kOtherLayoutError = 0.1;
    time = any_cache_time(profile, kernel.with("layout", "tn"), shapes);
    if (time) {
      time->evidence = std::max(time->evidence, Evidence::extrapolated);
      time->relative_error = together(time->relative_error, kOtherLayoutError);
      time->basis += ", of layout tn";
    }
  }
  if (time) return *time;
  return {.time_s = 0,
          .relative_error = 0,
          .evidence = Evidence::missing,
          .basis = kernel.kernel() == "step" ? "a step is the sum of its kernels"
                                             : "nothing measured of " + kernel_family(kernel)};
}

}  // namespace packsim
