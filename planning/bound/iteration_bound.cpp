#include "planning/bound/iteration_bound.hpp"

#include <algorithm>
#include <limits>

namespace packsim {

double iteration_bound(std::span<const std::vector<SampleChoice>> choices, int n_gpus) {
  struct Way {
    double time_s = 0;
    double gpu_s = 0;
    std::size_t sample = 0;
  };
  std::vector<Way> ways;
  for (std::size_t sample = 0; sample < choices.size(); ++sample) {
    for (const SampleChoice& choice : choices[sample]) ways.push_back({choice.time_s, choice.gpu_s, sample});
  }
  std::ranges::sort(ways, {}, &Way::time_s);

  // More time allows more ways, so the least GPU time falls as the time rises, until the time is enough.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> least_gpu_s(choices.size(), kNone);
  std::size_t without_way = choices.size();
  double all_gpu_s = 0;
  double bound_s = choices.empty() ? 0 : kNone;
  for (const Way& way : ways) {
    if (way.time_s >= bound_s) break;
    double& least = least_gpu_s[way.sample];
    if (way.gpu_s >= least) continue;
    if (least == kNone) {
      --without_way;
      all_gpu_s += way.gpu_s;
    } else {
      all_gpu_s += way.gpu_s - least;
    }
    least = way.gpu_s;
    if (without_way == 0) bound_s = std::min(bound_s, std::max(way.time_s, all_gpu_s / n_gpus));
  }
  return bound_s;
}

}  // namespace packsim
