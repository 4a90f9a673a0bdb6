#include "sim/run/pass_spread.hpp"

#include <cmath>

namespace packsim {
namespace {

// Goes through the work of a pass in order.
class Pass {
 public:
  Pass(const MicroBatchPrice& price, double kernel_spread, const SlowestGpus& gpus)
      : price_(price), kernel_spread_(kernel_spread), gpus_(gpus) {}

  void forward(const ChunkShape& chunk) {
    if (chunk.has_embedding) phase(price_.tokens->embedding_forward, price_.attention_forward);
    for (const bool has_experts : {false, true}) {
      repeat(has_experts ? chunk.n_experts : chunk.n_dense,
             [&] { phase(layer(has_experts).forward, price_.attention_forward); });
    }
    if (chunk.has_head) phase(price_.tokens->head_forward, price_.attention_forward);
  }

  // From the last layer to the first; the first ones are the checkpointed ones.
  void backward(const ChunkShape& chunk) {
    if (chunk.has_head) phase(price_.tokens->head_backward, price_.attention_backward);
    const int n_dense_recomputed = chunk.n_checkpointed_of(LayerKind::dense);
    const int n_experts_recomputed = chunk.n_checkpointed_of(LayerKind::expert);
    layers_backward(chunk.n_experts - n_experts_recomputed, true, false);
    layers_backward(n_experts_recomputed, true, true);
    layers_backward(chunk.n_dense - n_dense_recomputed, false, false);
    layers_backward(n_dense_recomputed, false, true);
    if (chunk.has_embedding) phase(price_.tokens->embedding_backward, price_.attention_backward);
  }

  PassSpread spread() {
    end_piece();
    if (computed_ns_ == 0) return {.mean = gpus_.without_noise()};
    return {.mean = taken_ns_ / computed_ns_, .relative_spread = std::sqrt(variance_ns2_) / taken_ns_};
  }

 private:
  const LayerPrices& layer(bool has_experts) const { return price_.tokens->layers[has_experts ? 1 : 0]; }

  // The second of equal layers, with the piece that it shares with the first, is as all that follow.
  template <typename Layer>
  void repeat(int n_layers, Layer one_layer) {
    if (n_layers > 0) one_layer();
    times_ = n_layers - 1;
    if (n_layers > 1) one_layer();
    times_ = 1;
  }

  void layers_backward(int n_layers, bool has_experts, bool is_checkpointed) {
    repeat(n_layers, [&] {
      if (is_checkpointed) phase(layer(has_experts).recompute, price_.attention_forward);
      phase(layer(has_experts).backward, price_.attention_backward);
    });
  }

  void phase(const PricedPhase& phase, const RingPrice& attention) {
    for (const PricedStage& stage : phase.stages) {
      switch (stage.kind) {
        case PricedStage::Kind::compute:
          compute(stage.time_ns);
          break;
        case PricedStage::Kind::attention:
          for (int step = 0; step < attention.steps; ++step) {
            if (step > 0) end_piece();
            compute(attention.compute_ns);
          }
          compute(attention.windowed_ns);
          break;
        case PricedStage::Kind::exchange:
          end_piece();
          break;
      }
    }
  }

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

  const MicroBatchPrice& price_;
  double kernel_spread_;
  const SlowestGpus& gpus_;
  double times_ = 1;  // How often the work that is gone through comes.
  double piece_ns_ = 0;
  double squares_ns2_ = 0;  // Over the kernels of the piece.
  double computed_ns_ = 0;  // At the prices.
  double taken_ns_ = 0;
  double variance_ns2_ = 0;
};

}  // namespace

PassSpread pass_spread(const MicroBatchPrice& price, const ChunkShape& chunk, bool is_forward,
                       double kernel_spread, const SlowestGpus& gpus) {
  Pass pass(price, kernel_spread, gpus);
  if (is_forward) {
    pass.forward(chunk);
  } else {
    pass.backward(chunk);
  }
  return pass.spread();
}

}  // namespace packsim
