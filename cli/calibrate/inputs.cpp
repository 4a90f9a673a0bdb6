#include "cli/calibrate/inputs.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "models/coverage/step_kernels.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {

std::function<std::vector<KernelUse>(const KernelCase&)> kernels_of_steps(const DataPaths& data,
                                                                          int gpus_per_node) {
  const auto models = std::make_shared<std::map<std::string, Transformer>>();
  return [=](const KernelCase& step) {
    const std::string& name = step.value("model");
    if (!models->contains(name)) (*models)[name] = load_model(name, data);
    return step_kernels(step_plan(step, models->at(name), gpus_per_node));
  };
}

std::string readable_time(double time_s) {
  if (time_s >= 1) return fmt::format("{:.3g} s", time_s);
  if (time_s >= 1e-3) return fmt::format("{:.3g} ms", time_s * 1e3);
  return fmt::format("{:.3g} us", time_s * 1e6);
}

std::string signed_percent(double fraction) {
  return fmt::format("{:+.1f} %", 100 * fraction);
}

}  // namespace packsim
