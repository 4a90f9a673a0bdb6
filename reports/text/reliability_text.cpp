#include "reports/text/reliability_text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

std::string cluster_text(const RunManifest& manifest) {
  const std::string price =
      manifest.gpu_hour_price ? fmt::format(" at {} an hour", quantity(*manifest.gpu_hour_price)) : "";
  return fmt::format("{}, {} GPUs{}", manifest.cluster, manifest.n_gpus, price);
}

std::string variability_text(const Variability& variability) {
  std::string text = fmt::format("GPUs spread by {}, kernels by {}", percent(variability.rank_spread),
                                 percent(variability.kernel_spread));
  for (const SlowRank& slow : variability.slow_ranks)
    text += fmt::format("; GPU {} takes {} times as long", slow.rank, slow.factor);
  return text + fmt::format("; seed {}", variability.seed);
}

std::string beside_steps_text(const BesideSteps& beside) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view what, double time_s) {
    if (time_s > 0) parts.push_back(fmt::format("{} {} s", what, quantity(time_s)));
  };
  add("start-up", beside.startup_s);
  add("first steps", beside.first_steps_s);
  add("waits for data of each iteration", beside.data_wait_s);
  if (const auto& evaluation = beside.evaluation) {
    const std::string size = evaluation->duration_s
                                 ? fmt::format("{} s", quantity(*evaluation->duration_s))
                                 : token_count(static_cast<std::int64_t>(evaluation->tokens)) + " tokens";
    parts.push_back(
        fmt::format("evaluation of {} every {}", size, counted(evaluation->every_iterations, "iteration")));
  }
  if (const auto& checkpoints = beside.checkpoints)
    parts.push_back(fmt::format("{} s for a checkpoint every {}", quantity(checkpoints->blocking_s),
                                counted(checkpoints->every_iterations, "iteration")));
  add("end", beside.finish_s);
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, "; "));
}

std::string failures_text(const FailureModel& model) {
  const std::string unit = model.unit_gpus == 1 ? "a GPU" : fmt::format("a unit of {} GPUs", model.unit_gpus);
  const std::string waits =
      model.checkpoint_blocking_fraction == 1
          ? ""
          : fmt::format(", {} of it in front of the work", percent(model.checkpoint_blocking_fraction));
  const std::string interval = model.checkpoint_interval_s
                                   ? fmt::format("every {} s", quantity(*model.checkpoint_interval_s))
                                   : "at the best interval";
  const std::string spares =
      model.spares
          ? fmt::format("{} spare unit{}, repairs of {} h", model.spares->n_units,
                        model.spares->n_units == 1 ? "" : "s", quantity(model.spares->repair_s / 3600))
          : "replacements at hand";
  return fmt::format("{} fails every {} h; checkpoints {}, writes of {} s{}; restarts of {} s; {}", unit,
                     quantity(model.unit_mtbf_h), interval, quantity(model.checkpoint_write_s), waits,
                     quantity(model.restart_s()), spares);
}

}  // namespace packsim::formats_detail
