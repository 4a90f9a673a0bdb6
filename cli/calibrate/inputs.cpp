#include "cli/calibrate/inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <stdexcept>

#include "cli/shared/print.hpp"
#include "models/coverage/step_kernels.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {

ModelByName models_by_name(const DataPaths& data) {
  const auto models = std::make_shared<std::map<std::string, Transformer>>();
  return [=](const std::string& name) {
    if (!models->contains(name)) (*models)[name] = load_model(name, data);
    return models->at(name);
  };
}

std::function<std::vector<KernelUse>(const KernelCase&)> kernels_of_steps(const ModelByName& model,
                                                                          int gpus_per_node) {
  return [=](const KernelCase& step) {
    return step_kernels(step_plan(step, model(step.value("model")), gpus_per_node));
  };
}

std::string gpu_of(const Measurements& measurements) {
  std::set<std::string> gpus;
  for (const Measurement& row : measurements.rows) gpus.insert(measurements.source_of(row).gpu);
  if (gpus.size() > 1)
    throw std::invalid_argument(
        fmt::format("expected measurements of one kind of GPU, got {}", fmt::join(gpus, ", ")));
  return gpus.empty() ? "" : *gpus.begin();
}

void warn_of_other_gpus(const std::set<std::string>& gpus, const HardwareProfile& hardware) {
  for (const std::string& gpu : gpus) {
    if (gpu.empty() || gpu == hardware.gpu) continue;
    print_error("packsim: warning: steps were measured on {}, the hardware profile {} is of {}\n", gpu,
                hardware.name, hardware.gpu);
  }
}

void warn_of_other_gpus(const std::set<std::string>& gpus, const std::string& cluster_name,
                        const Cluster& cluster) {
  for (const std::string& gpu : gpus) {
    if (gpu.empty() || gpu == cluster.gpu.driver_name) continue;
    print_error("packsim: warning: steps were measured on {}, --cluster {} has {}\n", gpu, cluster_name,
                cluster.gpu.driver_name);
  }
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
