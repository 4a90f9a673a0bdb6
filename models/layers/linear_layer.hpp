#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace packsim {

/// Values of one token, and how tensor parallelism shards them.
struct Width {
  std::int64_t whole = 0;
  bool is_split = false;   ///< each GPU of a tensor-parallel group has its part, otherwise all of it
  std::int64_t least = 1;  ///< size that is not split any further: a key or value head
  /// Of the values those that `least` is not about: queries beside the keys and values of one product.
  std::int64_t queries = 0;

  double share(int tp_degree) const {
    if (!is_split) return static_cast<double>(whole);
    const auto others = static_cast<double>(whole - queries);
    return static_cast<double>(queries) / tp_degree +
           std::max(static_cast<double>(least), others / tp_degree);
  }
  std::int64_t on_gpu(int tp_degree) const { return static_cast<std::int64_t>(share(tp_degree)); }
};

/// A linear layer of a decoder, y[tokens, out] = x[tokens, in] W[out, in]^T.
struct LinearLayer {
  std::string_view name = {};  ///< such as "q" or "expert_up"
  std::int64_t out = 0;
  std::int64_t in = 0;
  bool splits_in = false;  ///< tensor parallelism shards its input, not its output: o and down
  /// Tensor parallelism shards neither: the router, and latent down projections.
  bool replicated = false;
  std::int64_t least_out = 1;  ///< output size that is not split any further: a key or value head
  std::int64_t query_out = 0;  ///< of the outputs those that least_out is not about: queries
  bool has_bias = false;
  int copies = 1;     ///< number of equal layers, one for each expert; expert parallelism spreads them
  int per_token = 1;  ///< copies that a token goes through
  /// It has the shape of the layer before it, and the two run one after another.
  bool is_like_previous = false;

  /// Share of the tokens that one copy sees if the router is balanced.
  double token_share() const { return static_cast<double>(per_token) / copies; }
  double parameters() const { return static_cast<double>(out) * static_cast<double>(in) * copies; }
  /// Parameters of the copies that a token goes through.
  double active_parameters() const { return static_cast<double>(out) * static_cast<double>(in) * per_token; }
  /// Forward flop of all copies for one token.
  double flop_per_token() const { return 2 * parameters() * token_share(); }

  Width out_width() const {
    return {.whole = out, .is_split = !replicated && !splits_in, .least = least_out, .queries = query_out};
  }
  Width in_width() const { return {.whole = in, .is_split = !replicated && splits_in}; }
};

}  // namespace packsim
