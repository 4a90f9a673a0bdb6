#include "reports/text/gpu_text.hpp"

#include <fmt/format.h>

namespace packsim::formats_detail {

std::string sequence_text(const SequenceParallelism& sequence) {
  return sequence.ring == 1 ? fmt::format("{}", sequence.ulysses)
                            : fmt::format("{} x CP {}", sequence.ulysses, sequence.ring);
}

std::string rank_text(const TracedLane& lane, bool has_stages) {
  return has_stages ? fmt::format("rank {}, stage {}", lane.rank, lane.stage)
                    : fmt::format("rank {}", lane.rank);
}

std::string gpus_text(const TracedLane& lane) {
  return lane.n_gpus == 1 ? fmt::format("GPU {}", lane.first_gpu)
                          : fmt::format("GPUs {} to {}", lane.first_gpu, lane.first_gpu + lane.n_gpus - 1);
}

}  // namespace packsim::formats_detail
