#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"

namespace packsim {

/// The part of a pack's work that its forward pass does: products of matrices and attention have about twice
/// as much to do in the backward pass.
inline constexpr double kForwardPart = 1.0 / 3;

/// How long a pipeline (1F1B) takes for packs of different lengths.
class PipelineTime {
 public:
  /// The number of stages is that of the shape's fill_rounds, rounded. The last stage takes longest if these
  /// are not whole: the others take as much less as filling the pipeline does.
  explicit PipelineTime(const RoundShape& shape);

  /// What a pack takes on the stage that takes longest. The fixed part precedes its forward pass.
  struct Pack {
    double time_s = 0;
    double fixed_s = 0;
  };
  /// packs: in the order in which they are trained.
  double of(std::span<const Pack> packs);

 private:
  struct Stage {
    std::size_t n_forward = 0;   // that it has ended
    std::size_t n_backward = 0;  // that it has ended
    double free_s = 0;
  };
  bool advance(std::size_t s, std::span<const Pack> packs);

  std::size_t n_stages_ = 1;
  double other_stages_ = 1;  // their time over that of the last
  std::vector<Stage> stages_;
  std::vector<double> forward_s_;   // [n_stages][n_packs]: when it ends
  std::vector<double> backward_s_;  // likewise
};

}  // namespace packsim
