#include "validation/step_files.hpp"

#include "scenarios/loader/read_published_steps.hpp"

namespace packsim {

std::vector<PublishedStep> load_held_out_steps(const DataPaths& data) {
  return load_published_steps(data.root + "/validation/held_out_steps.json", data).steps;
}

std::vector<PublishedStep> load_all_steps(const DataPaths& data) {
  std::vector<PublishedStep> steps =
      load_published_steps(data.root + "/validation/published_steps.json", data).steps;
  const std::vector<PublishedStep> held_out = load_held_out_steps(data);
  steps.insert(steps.end(), held_out.begin(), held_out.end());
  return steps;
}

}  // namespace packsim
