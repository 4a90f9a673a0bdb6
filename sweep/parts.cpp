#include "sweep/parts.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <utility>

namespace packsim {
namespace {

bool decides_prices(const std::string& setting) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"model", "cluster", "profile", "hardware", "what_if"},
      [&](const char* key) { return setting.starts_with(key); });
}

// Those that do not decide prices, then those that do.
std::pair<std::vector<std::string>, std::vector<std::string>> packs_then_prices(const SweepJob& job) {
  std::vector<std::string> of_packs;
  std::ranges::copy_if(job.settings, std::back_inserter(of_packs), std::not_fn(decides_prices));
  return {std::move(of_packs), price_settings(job)};
}

}  // namespace

std::vector<std::string> price_settings(const SweepJob& job) {
  std::vector<std::string> settings;
  std::ranges::copy_if(job.settings, std::back_inserter(settings), decides_prices);
  return settings;
}

std::vector<std::vector<std::size_t>> parts_of(std::span<const SweepJob> jobs, std::size_t n_parts) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t j) { return packs_then_prices(jobs[j]); });
  std::size_t n_points = 0;
  for (const SweepJob& job : jobs) n_points += job.points.size();
  std::vector<std::vector<std::size_t>> parts;
  std::size_t n_before = 0;
  std::size_t last_part = 0;
  for (const std::size_t j : order) {
    const std::size_t part = n_before * n_parts / n_points;
    if (parts.empty() || part != last_part) parts.emplace_back();
    last_part = part;
    parts.back().push_back(j);
    n_before += jobs[j].points.size();
  }
  return parts;
}

}  // namespace packsim
