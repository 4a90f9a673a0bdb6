#include "tests/sim/closed_forms/network_closed_forms.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace packsim {
namespace {

std::vector<std::size_t> smallest_first(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

}  // namespace

std::vector<double> shared_link_rates(std::span<const double> asked_bytes_per_s, double link_bytes_per_s) {
  std::vector<double> rates(asked_bytes_per_s.size());
  double left = link_bytes_per_s;
  auto n_left = static_cast<double>(rates.size());
  for (const std::size_t i : smallest_first(asked_bytes_per_s)) {
    rates[i] = std::min(asked_bytes_per_s[i], left / n_left);
    left -= rates[i];
    n_left -= 1;
  }
  return rates;
}

std::vector<double> shared_link_ends_s(std::span<const double> bytes, double link_bytes_per_s) {
  std::vector<double> ends_s(bytes.size());
  double now_s = 0;
  double sent = 0;
  auto n_left = static_cast<double>(bytes.size());
  for (const std::size_t i : smallest_first(bytes)) {
    now_s += (bytes[i] - sent) * n_left / link_bytes_per_s;
    sent = bytes[i];
    ends_s[i] = now_s;
    n_left -= 1;
  }
  return ends_s;
}

double all_to_all_crossing_bytes(int inside_gpus, int n_gpus, double payload_bytes) {
  return static_cast<double>(inside_gpus) * (n_gpus - inside_gpus) * payload_bytes / n_gpus;
}

double ring_crossing_bytes(int n_gpus, double payload_bytes, int passes) {
  return passes * payload_bytes * (n_gpus - 1) / n_gpus;
}

}  // namespace packsim
