#include "models/step/overlap.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {

double overlap_slow_down(const HardwareProfile& profile) {
  const std::vector<const KernelModel*> models = profile.models_of("overlap ");
  if (models.empty()) return 1;
  double log_sum = 0;
  for (const KernelModel* model : models) log_sum += std::log(model->number("slow_down"));
  return std::max(1.0, std::exp(log_sum / static_cast<double>(models.size())));
}

}  // namespace packsim
