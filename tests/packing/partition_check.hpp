#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "packing/pack.hpp"

namespace packsim::testing {

/// A second opinion on a packing, written without looking at check_packing(): it accounts for every token of
/// every sample, and recounts what the policies did. Returns what is wrong, or nothing.
class PartitionCheck {
 public:
  PartitionCheck(const Packing& packing, const PackRequest& request)
      : packing_(packing), request_(request), longest_(request.capacities_tokens.back()) {}

  std::string run() {
    std::string wrong = check_packs();
    if (wrong.empty()) wrong = check_samples();
    if (wrong.empty() && !(expected_ == packing_.counts)) wrong = "the counts do not add up";
    return wrong;
  }

 private:
  bool over_long(std::uint32_t sample) const { return request_.lengths_tokens[sample] > longest_; }

  // Packs within capacity, none empty; collects every piece that was packed.
  std::string check_packs() {
    if (packing_.groups.size() != request_.capacities_tokens.size()) return "a group is missing";
    for (std::size_t group = 0; group < packing_.groups.size(); ++group) {
      const PackSet& packs = packing_.groups[group];
      if (packs.offsets.front() != 0 || packs.offsets.back() != packs.items.size())
        return "offsets miss items";
      for (std::size_t p = 0; p < packs.n_packs(); ++p) {
        const std::string wrong = check_pack(packs[p], request_.capacities_tokens[group]);
        if (!wrong.empty())
          return "group " + std::to_string(group) + " pack " + std::to_string(p) + " " + wrong;
      }
    }
    return {};
  }

  std::string check_pack(std::span<const ItemIndex> items, std::int64_t capacity) {
    if (items.empty()) return "is empty";
    std::int64_t tokens = 0;
    bool own_pack = false;
    for (const ItemIndex item : items) {
      if (item >= packing_.lengths_tokens.size()) return "holds an item that is not there";
      const Piece piece = packing_.piece(item);
      if (piece.n_tokens != packing_.lengths_tokens[item]) return "holds an item of two lengths";
      if (piece.sample_index >= request_.lengths_tokens.size()) return "holds a sample that is not there";
      own_pack |= request_.over_long == OverLong::own_pack && over_long(piece.sample_index);
      if (!own_pack && piece.n_tokens > capacity) return "holds an item that is too long";
      tokens += piece.n_tokens;
      packed_.push_back(piece);
    }
    if (own_pack && items.size() > 1) return "is an own pack but is shared";
    if (packing_.strategy->layout == Layout::packed && !own_pack && tokens > capacity) return "is over-full";
    return {};
  }

  // Walks samples and packed pieces side by side: the pieces of each sample must join up to what is kept of
  // it.
  std::string check_samples() {
    std::ranges::sort(packed_, {},
                      [](const Piece& p) { return std::tuple(p.sample_index, p.start_token, p.n_tokens); });
    std::size_t next = 0;
    expected_.n_samples = static_cast<std::int64_t>(request_.lengths_tokens.size());
    for (std::uint32_t sample = 0; sample < request_.lengths_tokens.size(); ++sample) {
      const std::int64_t kept_tokens = count_sample(sample);  // -1: not packed at all
      std::int64_t found_tokens = 0;
      std::int64_t n_pieces = 0;
      for (; next < packed_.size() && packed_[next].sample_index == sample; ++next, ++n_pieces) {
        if (packed_[next].start_token != found_tokens) return "a token is lost or packed twice";
        if (packed_[next].n_tokens == 0 && kept_tokens != 0) return "a piece has no tokens";
        found_tokens += packed_[next].n_tokens;
      }
      const std::string name = "sample " + std::to_string(sample);
      if (kept_tokens < 0 && n_pieces > 0) return name + " is packed, expected it left out";
      if (kept_tokens < 0) continue;
      if (n_pieces == 0) return name + " is in no pack";
      if (found_tokens != kept_tokens) return name + " has lost tokens";
      const bool may_cut = packing_.strategy->cuts_samples || request_.over_long == OverLong::split;
      if (n_pieces > 1 && !may_cut) return name + " is cut";
      if (!packing_.strategy->cuts_samples && may_cut && n_pieces > (kept_tokens + longest_ - 1) / longest_ &&
          kept_tokens > 0) {
        return name + " is cut into more pieces than necessary";
      }
      if (n_pieces > 1) ++expected_.split_samples;
    }
    return {};
  }

  std::int64_t count_sample(std::uint32_t sample) {
    const std::int64_t length = request_.lengths_tokens[sample];
    expected_.n_tokens += length;
    if (length == 0 && request_.empty == Empty::drop) {
      ++expected_.empty_samples;
      return -1;
    }
    if (length <= longest_) return length;
    switch (request_.over_long) {
      case OverLong::error:
        return -1;
      case OverLong::drop:
        ++expected_.dropped_samples;
        expected_.dropped_tokens += length;
        return -1;
      case OverLong::truncate:
        ++expected_.truncated_samples;
        expected_.truncated_tokens += length - longest_;
        return longest_;
      case OverLong::split:
        return length;
      case OverLong::own_pack:
        ++expected_.own_pack_samples;
        return length;
    }
    return -1;
  }

  const Packing& packing_;
  const PackRequest& request_;
  std::int64_t longest_;
  std::vector<Piece> packed_;
  PackCounts expected_;
};

inline std::string what_is_wrong(const Packing& packing, const PackRequest& request) {
  return PartitionCheck(packing, request).run();
}

}  // namespace packsim::testing
