#pragma once

#include <cstdint>

#include "packing/batch_problem.hpp"
#include "tests/planning/tiny_jobs.hpp"

namespace packsim::testing {

// The prices of a tiny job as those of a setting: a group for each degree.
inline BatchSetting setting_of(const TinyJob& job) {
  BatchSetting setting{.groups = {}, .n_gpus = job.n_gpus, .tokens_per_iteration = job.tokens_per_iteration};
  setting.step_s = job.step_s;
  for (std::size_t d = 0; d < job.degrees.size(); ++d) {
    BatchGroup group{
        .capacity_tokens = job.capacity_tokens * job.degrees[d], .gpus_per_pack = job.degrees[d], .cost = {}};
    for (std::int64_t t = 0; t <= group.capacity_tokens; ++t) {
      const auto gpu_tokens = static_cast<std::size_t>((t + job.degrees[d] - 1) / job.degrees[d]);
      group.cost.tokens_s.tokens.push_back(t);
      group.cost.tokens_s.time_s.push_back(job.pack_s[d][gpu_tokens]);
    }
    for (std::size_t s = 0; s < job.document_s[d].size(); ++s) {
      group.cost.document_s.tokens.push_back(static_cast<std::int64_t>(s));
      group.cost.document_s.time_s.push_back(job.document_s[d][s]);
    }
    setting.groups.push_back(group);
  }
  return setting;
}

}  // namespace packsim::testing
