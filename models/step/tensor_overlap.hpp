#pragma once

#include <cstddef>
#include <vector>

#include "models/layers/layer_op.hpp"

// Tensor-parallel exchange that runs beside the matrix products before or after it, as in the default mode of
// TransformerEngine's userbuffers (initialize_ub() in pytorch/module/base.py and common/comm_gemm_overlap,
// v1.13). The model leaves out that the products get slower because the exchange takes SMs and memory
// bandwidth from them.
namespace packsim {

/// The products that run beside an exchange of a layer: those of the linear layers right after an
/// all-gather or right before a reduce-scatter.
struct ProductsBeside {
  std::vector<CountedKernel> whole;
  int n_pieces = 1;
  std::vector<CountedKernel> piece;  ///< one of the n_pieces into which they are cut
  /// True if each piece is sent after it has been computed, false if it is computed after it has arrived.
  bool piece_first = false;
};

/// ops[at]: an all-gather or reduce-scatter in the forward pass of a layer; in the backward pass it is its
/// transpose.
///
///   all-gather               is cut into one piece per GPU, and the pieces go around a ring. The product
///                            (forward) or the gradient of its inputs (backward) is computed for the rows of
///                            one piece while the next piece arrives. A GPU starts with its own piece.
///   forward reduce-scatter   is cut into four pieces of the product's output, each of which is sent while
///                            the next is computed.
///   backward reduce-scatter  runs whole beside the gradients of the weights, which do not need it. If the
///                            weights are frozen, there is nothing beside it.
ProductsBeside products_beside(const std::vector<LayerOp>& ops, std::size_t at, bool is_backward);

/// Seconds that an exchange adds to the whole products: the part that they do not hide, and what they lose by
/// being cut into pieces. It is at most the time of the exchange alone, because a framework need not
/// overlap.
double added_time_s(const ProductsBeside& beside, double exchange_s, double whole_s, double piece_s);

}  // namespace packsim
