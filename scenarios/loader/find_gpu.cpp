#include "scenarios/loader/find_gpu.hpp"

#include "scenarios/loader/readers.hpp"

namespace packsim {

std::optional<Gpu> find_gpu(const std::string& driver_name, const DataPaths& data) {
  Problems problems;
  std::optional<Gpu> found;
  for (const std::string& name : names_of(kGpuFiles, data)) {
    const JsonDocument document = read_json(path_of(kGpuFiles, name, data), problems);
    Gpu gpu = read_gpu(JsonReader(document, problems));
    if (gpu.driver_name == driver_name) found = std::move(gpu);
  }
  problems.throw_if_any();
  return found;
}

}  // namespace packsim
