#include <sstream>
#include <stdexcept>

#include "calibration/fit/steps/step_fit.hpp"
#include "files/read_file.hpp"

namespace packsim {

ParallelPlan published_plan() {
  return {.n_gpus = 32,
          .zero_stage = 1,
          // The fitted time of a micro-batch has the launches.
          .execution = {.fp32_gradients = true, .overlaps_states = false, .recompute_stops_early = false}};
}

std::vector<StepRow> read_step_rows(const std::string& path) {
  std::istringstream file(read_file(path));
  std::vector<StepRow> rows;
  std::string line;
  std::getline(file, line);
  for (int number = 2; std::getline(file, line); ++number) {
    StepRow row;
    std::istringstream fields(line);
    std::string pack;
    std::string sp;
    std::string gc;
    std::string memory;
    std::string step;
    std::getline(fields, row.table, ',');
    std::getline(fields, pack, ',');
    std::getline(fields, sp, ',');
    std::getline(fields, gc, ',');
    std::getline(fields, memory, ',');
    std::getline(fields, step, ',');
    try {
      row.pack_tokens = std::stoll(pack);
      row.sequence.ulysses = std::stoi(sp);
      row.gc_layers = std::stoi(gc);
      row.out_of_memory = memory == "OOM";
      if (!row.out_of_memory) row.step_s = std::stod(step);
    } catch (const std::exception&) {
      throw std::runtime_error(path + ": line " + std::to_string(number) +
                               ": expected table,pack_tokens,sp_degree,gc_layers,memory,step_s, got \"" +
                               line + "\"");
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace packsim
