#include "models/step/tensor_overlap.hpp"

#include <algorithm>

namespace packsim {
namespace {

// TransformerEngine's num_splits of the method "pipeline".
constexpr int kScatterPieces = 4;

enum class Product : std::uint8_t { forward, input_gradient, weight_gradient };

void add_kernel(const LayerOp& linear, Product product, std::vector<CountedKernel>& kernels) {
  if (product == Product::forward) {
    kernels.push_back(forward_kernels(linear).front());
    return;
  }
  const std::vector<CountedKernel> gradients = backward_kernels(linear);
  if (product == Product::input_gradient) kernels.push_back(gradients.front());
  if (product == Product::weight_gradient && !linear.frozen) kernels.push_back(gradients.back());
}

std::int64_t part(std::int64_t size, int n_pieces) {
  return std::max<std::int64_t>(1, size / n_pieces);
}

}  // namespace

ProductsBeside products_beside(const std::vector<LayerOp>& ops, std::size_t at, bool is_backward) {
  const LayerOp& exchange = ops[at];
  const bool is_behind = exchange.op == "all_gather";
  const bool gathers = is_behind != is_backward;
  const Product product = !is_backward ? Product::forward
                          : gathers    ? Product::input_gradient
                                       : Product::weight_gradient;
  ProductsBeside beside;
  if (gathers) beside.n_pieces = exchange.gpus;
  if (!gathers && !is_backward) beside.n_pieces = kScatterPieces;
  beside.piece_first = !gathers && !is_backward;
  for (std::size_t i = is_behind ? at + 1 : at - 1; i < ops.size() && ops[i].kind == LayerOp::Kind::linear;
       is_behind ? ++i : --i) {
    LayerOp whole = ops[i];
    whole.casts = {};  // run before the exchange
    LayerOp piece = whole;
    std::int64_t& cut = gathers ? piece.rows : piece.out;
    if (beside.n_pieces > 1) cut = part(cut, beside.n_pieces);
    add_kernel(whole, product, beside.whole);
    add_kernel(piece, product, beside.piece);
  }
  return beside;
}

double added_time_s(const ProductsBeside& beside, double exchange_s, double whole_s, double piece_s) {
  const double n = beside.n_pieces;
  double overlapped_s = std::max(whole_s, exchange_s);
  if (beside.piece_first) {
    overlapped_s = piece_s + (n - 1) * std::max(piece_s, exchange_s / n) + exchange_s / n;
  } else if (n > 1) {
    overlapped_s = piece_s + (n - 1) * std::max(piece_s, exchange_s / (n - 1));
  }
  return std::clamp(overlapped_s - whole_s, 0.0, exchange_s);
}

}  // namespace packsim
