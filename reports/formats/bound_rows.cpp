#include "reports/formats/bound_rows.hpp"

#include <fmt/format.h>

#include "reports/formats/numbers.hpp"

namespace packsim::formats_detail {

std::vector<std::vector<std::string>> bound_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows = {{"lower bound", "GPU-days", "iterations", "linear",
                                                 "attention", "recompute", "exchange", "overhead", "steps",
                                                 "waiting"}};
  for (const BoundResult& bound : report.bounds) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {fmt::format("ZeRO {}{}", bound.zero_stage,
                       bound.zero_stage == report.manifest.plan.zero_stage ? ", as planned" : ""),
           quantity(bound.gpu_days), grouped(bound.iterations)};
    for (const double part :
         {bound.linear_gpu_days, bound.attention_gpu_days, bound.recompute_gpu_days, bound.exchange_gpu_days,
          bound.overhead_gpu_days, bound.steps_gpu_days, bound.waiting_gpu_days})
      row.push_back(percent(part / bound.gpu_days));
  }
  return rows;
}

}  // namespace packsim::formats_detail
