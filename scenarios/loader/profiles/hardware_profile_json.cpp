#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

std::string text(const std::string& value) {
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

template <typename Items, typename ToText>
std::string list(const Items& items, const ToText& to_text, const char* between = ", ") {
  std::string result;
  for (const auto& item : items) result += (result.empty() ? "" : between) + to_text(item);
  return result;
}

std::string fitted(const FittedNumber& value) {
  return fmt::format("[{}, {}]", number(value.value), number(value.standard_error));
}

std::string quality(const FitQuality& quality) {
  return fmt::format(
      R"({{"n_rows": {}, "n_samples": {}, "n_outliers": {}, "rms": {}, "left_out_rms": {}, "max_error": {}}})",
      quality.n_rows, quality.n_samples, quality.n_outliers, number(quality.rms),
      number(quality.left_out_rms), number(quality.max_error));
}

std::string source_line(const MeasurementSource& source) {
  std::string details;
  for (const auto& [key, value] : source.details)
    details += (details.empty() ? "" : ", ") + text(key) + ": " + text(value);
  return fmt::format(R"({{"id": {}, "gpu": {}, "provenance": {}, "licence": {}, "details": {{{}}}}})",
                     text(source.id), text(source.gpu), text(source.provenance), text(source.licence),
                     details);
}

std::string curve_line(const KernelCurve& curve) {
  const auto point = [](const CurvePoint& at) {
    return fmt::format("[{}, {}, {}, {}]", at.size, number(at.time_s), number(at.relative_error), at.n_rows);
  };
  return fmt::format(
      R"({{"key": {}, "library": {}, "size": {}, "fixed_s": {}, "size_per_s": {}, "straight": {}, )"
      R"("end_error": {}, "quality": {}, "sources": [{}], "points": [{}]}})",
      text(curve.key), text(curve.library), text(curve.size_name), fitted(curve.fixed_s),
      fitted(curve.size_per_s), curve.straight, number(curve.end_error), quality(curve.quality),
      list(curve.sources, text), list(curve.points, point));
}

std::string model_line(const KernelModel& model) {
  const auto value = [](const FittedNumber& at) { return text(at.name) + ": " + fitted(at); };
  const auto range = [](const KeyRange& at) {
    return fmt::format("{}: [{}, {}]", text(at.key), at.low, at.high);
  };
  return fmt::format(
      R"({{"key": {}, "library": {}, "numbers": {{{}}}, "box": {{{}}}, "end_error": {}, "quality": {}, )"
      R"("sources": [{}]}})",
      text(model.key), text(model.library), list(model.numbers, value), list(model.box, range),
      number(model.end_error), quality(model.quality), list(model.sources, text));
}

std::string unused_line(const UnusedRows& unused) {
  return fmt::format(R"({{"family": {}, "library": {}, "n_rows": {}, "reason": {}}})", text(unused.family),
                     text(unused.library), unused.n_rows, text(unused.reason));
}

template <typename Items, typename ToText>
std::string lines(const std::string& key, const Items& items, const ToText& to_text) {
  if (items.empty()) return fmt::format("  \"{}\": []", key);
  return fmt::format("  \"{}\": [\n    {}\n  ]", key, list(items, to_text, ",\n    "));
}

}  // namespace

std::string hardware_profile_json(const HardwareProfile& profile) {
  return fmt::format(
      "{{\n  \"format\": 1,\n  \"name\": {},\n  \"gpu\": {},\n  \"description\": {},\n{}"
      "  \"point\": [\"size\", \"time_s\", \"relative_error\", \"n_rows\"],\n"
      "  \"number\": [\"value\", \"standard_error\"],\n{},\n{},\n{},\n{}\n}}\n",
      text(profile.name), text(profile.gpu), text(profile.description),
      profile.missing_kernels_from.empty()
          ? ""
          : fmt::format("  \"missing_kernels_from\": {},\n", text(profile.missing_kernels_from)),
      lines("sources", profile.sources, source_line), lines("models", profile.models, model_line),
      lines("curves", profile.curves, curve_line), lines("unused", profile.unused, unused_line));
}

}  // namespace packsim
