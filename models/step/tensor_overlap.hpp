#pragma once

#include <cstddef>
#include <vector>

#include "models/layers/layer_op.hpp"

// Tensor-parallel exchange beside the products next to it, as TransformerEngine's userbuffers do it by
// default (initialize_ub() in pytorch/module/base.py and common/comm_gemm_overlap, v1.13). It is not modelled
// that the products get slower, as the exchange takes SMs and memory bandwidth from them.
namespace packsim {

/// The products that run beside an exchange of a layer: those of the linear layers right behind an all-gather
/// or right before a reduce-scatter.
struct ProductsBeside {
  std::vector<CountedKernel> whole;
  int n_pieces = 1;
  std::vector<CountedKernel> piece;  ///< one of n_pieces that they are cut into
  bool piece_first = false;          ///< the exchange waits for a piece, not a piece for the exchange
};

/// ops[at]: an all-gather or reduce-scatter in the forward pass of a layer; in the backward pass it is its
/// transpose.
///
///   all-gather               a ring of pieces, one a GPU: rows of the product that reads them, backward the
///                            gradient of the inputs; a GPU starts with its own
///   forward reduce-scatter   four pieces of the product's output, each sent while the next is computed
///   backward reduce-scatter  whole, beside the gradients of the weights, which do not need it; none where
///                            these are frozen
ProductsBeside products_beside(const std::vector<LayerOp>& ops, std::size_t at, bool is_backward);

/// Seconds that an exchange adds to the whole products: the part that they do not hide, and what they lose by
/// being cut into pieces. It is at most what the exchange takes by itself, as a framework need not overlap.
double added_time_s(const ProductsBeside& beside, double exchange_s, double whole_s, double piece_s);

}  // namespace packsim
