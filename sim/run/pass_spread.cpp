#include "sim/run/pass_spread.hpp"

#include <cmath>

#include "models/step/pass/pass_list.hpp"

namespace packsim {
namespace {

// Adds up the pieces of a pass, in order.
class Pieces {
 public:
  Pieces(double kernel_spread, const SlowestGpus& gpus) : kernel_spread_(kernel_spread), gpus_(gpus) {}

  // Sets how many times each segment counts from here on.
  void set_times(double times) { times_ = times; }

  void add(const PassSegment& segment, const RingPrice* attention) {
    switch (segment.kind) {
      case PassSegment::Kind::compute:
        compute(segment.time_ns);
        break;
      case PassSegment::Kind::attention:
        for (int step = 0; step < attention->steps; ++step) {
          if (step > 0) end_piece();
          compute(attention->compute_ns);
        }
        compute(attention->copies_ns);
        compute(attention->windowed_ns);
        break;
      case PassSegment::Kind::exchange:
        end_piece();
        break;
      case PassSegment::Kind::host_copy:
      case PassSegment::Kind::host:
        break;  // takes the same on all GPUs
    }
  }

  PassSpread spread() {
    end_piece();
    if (computed_ns_ == 0) return {.mean = gpus_.without_noise()};
    return {.mean = taken_ns_ / computed_ns_, .relative_spread = std::sqrt(variance_ns2_) / taken_ns_};
  }

 private:
  void compute(std::int64_t time_ns) {
    const auto time = static_cast<double>(time_ns);
    piece_ns_ += time;
    squares_ns2_ += time * time;
    // The times of a single GPU add up, as it waits for no other.
    if (gpus_.n_gpus() == 1) end_piece();
  }

  // Adds the piece that ends here to the sums.
  void end_piece() {
    if (piece_ns_ == 0) return;
    const SlowestGpu slowest = gpus_.at(kernel_spread_ * std::sqrt(squares_ns2_) / piece_ns_);
    computed_ns_ += times_ * piece_ns_;
    taken_ns_ += times_ * piece_ns_ * slowest.mean;
    variance_ns2_ += times_ * piece_ns_ * slowest.sd * piece_ns_ * slowest.sd;
    piece_ns_ = squares_ns2_ = 0;
  }

  double kernel_spread_;
  const SlowestGpus& gpus_;
  double times_ = 1;
  double piece_ns_ = 0;
  double squares_ns2_ = 0;  // sum over the kernels of the piece
  double computed_ns_ = 0;  // at the prices, without noise
  double taken_ns_ = 0;
  double variance_ns2_ = 0;
};

}  // namespace

PassSpread pass_spread(const MicroBatchPrice& price, const ChunkShape& chunk, bool is_forward,
                       double kernel_spread, const SlowestGpus& gpus) {
  const PassList pass(price, chunk, is_forward);
  Pieces pieces(kernel_spread, gpus);
  pass.for_each_part([&](const PassPart& part) {
    const auto add_one = [&] {
      pass.for_each_segment(part, [&](const PassSegment& segment, const SegmentPlace& place) {
        pieces.add(segment, place.attention);
      });
    };
    add_one();
    if (part.times == 1) return;
    // The second of equal layers, with the piece that it shares with the first, stands for all that follow.
    pieces.set_times(part.times - 1);
    add_one();
    pieces.set_times(1);
  });
  return pieces.spread();
}

}  // namespace packsim
