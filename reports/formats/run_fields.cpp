#include "reports/formats/run_fields.hpp"

namespace packsim::formats_detail {

std::span<const RunField> run_fields() {
  using Run = StrategyResult;
  static const RunField kFields[] = {
      {"name", &Run::name},
      {"strategy", &Run::strategy},
      {"order", &Run::order},
      {"last_iteration", &Run::last_iteration},
      {"padding", &Run::padding},
      {"over_long", &Run::over_long},
      {"feasible", &Run::feasible},
      {"packs", &Run::packs},
      {"iterations", &Run::iterations},
      {"abr", &Run::abr},
      {"abr_slots", &Run::abr_slots},
      {"abr_weighted", &Run::abr_weighted},
      {"cr", &Run::cr},
      {"dbr", &Run::dbr},
      {"pr", &Run::pr},
      {"ave_t_tokens", &Run::ave_t_tokens},
      {"step_mean_s", &Run::step_mean_s},
      {"step_p99_s", &Run::step_p99_s},
      {"gpu_days", &Run::gpu_days},
      {"gpu_days_low", &Run::gpu_days_low},
      {"gpu_days_high", &Run::gpu_days_high},
      {"most_doubtful", &Run::most_doubtful},
      {"wall_hours", &Run::wall_hours},
      {"speedup", &Run::speedup},
      {"linear_fraction", &Run::linear_fraction},
      {"attention_fraction", &Run::attention_fraction},
      {"recompute_fraction", &Run::recompute_fraction},
      {"sequence_fraction", &Run::sequence_fraction},
      {"tensor_fraction", &Run::tensor_fraction},
      {"expert_fraction", &Run::expert_fraction},
      {"pipeline_fraction", &Run::pipeline_fraction},
      {"states_fraction", &Run::states_fraction},
      {"optimizer_fraction", &Run::optimizer_fraction},
      {"overhead_fraction", &Run::overhead_fraction},
      {"idle_fraction", &Run::idle_fraction},
      {"measured_fraction", &Run::measured_fraction},
      {"extrapolated_fraction", &Run::extrapolated_fraction},
      {"guessed_fraction", &Run::guessed_fraction},
      {"dropped_samples", &Run::dropped_samples},
      {"dropped_tokens", &Run::dropped_tokens},
      {"empty_samples", &Run::empty_samples},
      {"truncated_samples", &Run::truncated_samples},
      {"truncated_tokens", &Run::truncated_tokens},
      {"split_samples", &Run::split_samples},
      {"own_pack_samples", &Run::own_pack_samples},
      {"repeated_tokens", &Run::repeated_tokens},
      {"padded_tokens", &Run::padded_tokens},
      {"trained_tokens", &Run::trained_tokens},
      {"curriculum_iterations", &Run::curriculum_iterations},
  };
  return kFields;
}

}  // namespace packsim::formats_detail
