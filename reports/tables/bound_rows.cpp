#include "reports/tables/bound_rows.hpp"

#include <fmt/format.h>

#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

template <Cause cause>
double of_packs(const BoundResult& bound) {
  return bound.pack_gpu_days[static_cast<std::size_t>(cause)];
}

double exchange(const BoundResult& bound) {
  return of_packs<Cause::sequence>(bound) + of_packs<Cause::tensor>(bound) + of_packs<Cause::expert>(bound) +
         of_packs<Cause::states>(bound);
}

}  // namespace

std::span<const BoundPart> bound_parts() {
  static constexpr BoundPart kParts[] = {
      {"linear", of_packs<Cause::linear>},
      {"attention", of_packs<Cause::attention>},
      {"recompute", of_packs<Cause::recompute>},
      {"exchange", exchange},
      {"overhead", of_packs<Cause::overhead>},
      {"steps", [](const BoundResult& bound) { return bound.steps_gpu_days; }},
      {"waiting", [](const BoundResult& bound) { return bound.waiting_gpu_days; }},
  };
  return kParts;
}

std::vector<std::vector<std::string>> bound_rows(const Report& report) {
  if (report.bounds.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"lower bound", "GPU-days", "iterations"}};
  for (const BoundPart& part : bound_parts()) rows.front().emplace_back(part.name);
  for (const BoundResult& bound : report.bounds) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {fmt::format("ZeRO {}{}", bound.zero_stage,
                       bound.zero_stage == report.manifest.plan.zero_stage ? ", as planned" : ""),
           quantity(bound.gpu_days), grouped(bound.iterations)};
    for (const BoundPart& part : bound_parts()) row.push_back(percent(part.gpu_days(bound) / bound.gpu_days));
  }
  return rows;
}

}  // namespace packsim::formats_detail
