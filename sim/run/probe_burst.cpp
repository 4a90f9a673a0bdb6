#include "sim/run/probe_burst.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace packsim {
namespace {

// The passes, those with the largest keys first.
template <typename Key>
std::vector<ProbePass> largest_first(std::span<const ProbePass> passes, int n_gpus, Key key) {
  for (const ProbePass& pass : passes) {
    if (pass.gpus > n_gpus || pass.gpus < 1) {
      throw std::invalid_argument("probe: expected 1 to " + std::to_string(n_gpus) + " GPUs, got " +
                                  std::to_string(pass.gpus));
    }
  }
  std::vector<ProbePass> order(passes.begin(), passes.end());
  std::ranges::stable_sort(order, std::greater<>(), key);
  return order;
}

}  // namespace

SimTime spread_probes_time(std::span<const ProbePass> passes, int n_gpus, SimTime exchange) {
  const auto width_and_time = [](const ProbePass& pass) { return std::tuple(pass.gpus, pass.time_ns); };
  std::vector<std::int64_t> free_ns(static_cast<std::size_t>(n_gpus), 0);  // when each GPU is free
  for (const ProbePass& pass : largest_first(passes, n_gpus, width_and_time)) {
    auto best = free_ns.begin();
    std::int64_t best_ns = -1;
    for (auto first = free_ns.begin(); free_ns.end() - first >= pass.gpus; first += pass.gpus) {
      const std::int64_t start_ns = *std::max_element(first, first + pass.gpus);
      if (best_ns >= 0 && start_ns >= best_ns) continue;
      best = first;
      best_ns = start_ns;
    }
    std::fill_n(best, pass.gpus, best_ns + pass.time_ns);
  }
  return exchange + SimTime{std::ranges::max(free_ns)};
}

SimTime lockstep_probes_time(std::span<const ProbePass> passes, int n_gpus, SimTime exchange) {
  SimTime time = exchange;
  int n_free = 0;
  for (const ProbePass& pass : largest_first(passes, n_gpus, &ProbePass::time_ns)) {
    if (pass.gpus > n_free) {  // begins the next round, whose longest pass it is
      time += SimTime{pass.time_ns};
      n_free = n_gpus;
    }
    n_free -= pass.gpus;
  }
  return time;
}

SimTime repeated_probes_time(std::span<const ProbePass> passes) {
  SimTime time;
  for (const ProbePass& pass : passes) time += SimTime{pass.time_ns};
  return time;
}

}  // namespace packsim
