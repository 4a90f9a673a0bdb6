#include "planning/exposed_time.hpp"

#include <algorithm>
#include <stdexcept>

namespace packsim {
namespace {

void check(std::span<const double> solve_s, std::span<const double> model_s, const PlannerService& service) {
  if (solve_s.size() != model_s.size()) {
    throw std::invalid_argument("exposed_time_s: expected one model time for each solve time");
  }
  const auto negative = [](double time_s) { return !(time_s >= 0); };
  if (std::ranges::any_of(solve_s, negative) || std::ranges::any_of(model_s, negative)) {
    throw std::invalid_argument("exposed_time_s: expected times of at least 0");
  }
  if (service.n_processes < 1) throw std::invalid_argument("exposed_time_s: expected at least one process");
  if (service.look_ahead_batches < 0) {
    throw std::invalid_argument("exposed_time_s: expected a look-ahead of at least 0");
  }
}

}  // namespace

std::vector<double> exposed_time_s(std::span<const double> solve_s, std::span<const double> model_s,
                                   const PlannerService& service) {
  check(solve_s, model_s, service);
  const auto look_ahead = static_cast<std::size_t>(service.look_ahead_batches);
  std::vector<double> free_s(static_cast<std::size_t>(service.n_processes), 0);  // each process's last plan
  std::vector<double> start_s;
  std::vector<double> exposed_s;
  double end_s = 0;  // of the iteration before
  for (std::size_t i = 0; i < solve_s.size(); ++i) {
    double begin_s = 0;
    if (look_ahead == 0) {
      begin_s = end_s;
    } else if (i >= look_ahead) {
      begin_s = start_s[i - look_ahead];
    }
    double& process_s = *std::ranges::min_element(free_s);
    process_s = std::max(process_s, begin_s) + solve_s[i];
    start_s.push_back(std::max(end_s, process_s));
    exposed_s.push_back(start_s.back() - end_s);
    end_s = start_s.back() + model_s[i];
  }
  return exposed_s;
}

}  // namespace packsim
