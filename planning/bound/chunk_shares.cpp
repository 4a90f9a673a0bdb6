#include "planning/bound/chunk_shares.hpp"

#include <algorithm>
#include <set>

#include "models/step/pass/pass_time.hpp"
#include "planning/bound/pipeline_chain.hpp"
#include "planning/bound/rounding.hpp"

namespace packsim {
namespace {

// Times of one pack, or of attention.
struct OfChunks {
  std::vector<PassTimes> chunks_s;
  double lost_s = 0;  // the most that rounding has taken
};

std::vector<ChunkShape> all_chunks(const StepPricer& pricer) {
  std::vector<ChunkShape> chunks;
  for (int chunk = 0; chunk < pricer.plan().n_chunks(); ++chunk) chunks.push_back(pricer.chunk(chunk));
  return chunks;
}

// Chunks at numbers of checkpointed layers between which the time of each is linear: they checkpoint their
// first layers, which are the dense ones.
std::vector<std::vector<ChunkShape>> checkpointing_corners(StepPricer& pricer) {
  std::set<int> n_layers = {0};
  for (const ChunkShape& chunk : all_chunks(pricer)) {
    n_layers.insert(chunk.n_dense);
    n_layers.insert(chunk.n_layers());
  }
  const std::vector<ChunkShape> all = all_chunks(pricer);
  std::vector<std::vector<ChunkShape>> corners;
  for (const int n : n_layers) {
    int gc_layers = 0;
    for (const ChunkShape& chunk : all) gc_layers += std::min(n, chunk.n_layers());
    pricer.set_gc_layers(gc_layers);
    corners.push_back(all_chunks(pricer));
  }
  return corners;
}

OfChunks time_pack(const MicroBatchPrice& price, const std::vector<ChunkShape>& chunks) {
  OfChunks times{.chunks_s = {}, .lost_s = rounding_s(price, chunks)};
  for (const ChunkShape& chunk : chunks) {
    times.chunks_s.push_back({1e-9 * static_cast<double>(forward_time(price, chunk).total_ns),
                              1e-9 * static_cast<double>(backward_time(price, chunk).total_ns)});
  }
  return times;
}

// Attention takes the same time in every layer of all chunks.
OfChunks time_attention(const std::vector<ChunkShape>& chunks) {
  OfChunks times;
  for (const ChunkShape& chunk : chunks) {
    times.chunks_s.push_back({static_cast<double>(chunk.n_layers()),
                              static_cast<double>(chunk.n_layers() + chunk.n_attention_recomputed())});
  }
  return times;
}

class LeastShares {
 public:
  LeastShares(std::size_t n_chunks, int n_stages, int stage)
      : n_stages_(static_cast<std::size_t>(n_stages)),
        stage_(static_cast<std::size_t>(stage)),
        shares_(n_chunks, 1.0) {}

  void add(const OfChunks& times) {
    PassTimes reference;
    for (std::size_t chunk = stage_; chunk < shares_.size(); chunk += n_stages_) {
      reference.forward += times.chunks_s[chunk].forward;
      reference.backward += times.chunks_s[chunk].backward;
    }
    for (std::size_t chunk = 0; chunk < shares_.size(); ++chunk) {
      const PassTimes& own = times.chunks_s[chunk];
      const double least = std::min((own.forward - times.lost_s) / (reference.forward + times.lost_s),
                                    (own.backward - times.lost_s) / (reference.backward + times.lost_s));
      shares_[chunk] = std::clamp(least, 0.0, shares_[chunk]);
    }
  }
  const std::vector<double>& shares() const { return shares_; }

 private:
  std::size_t n_stages_;
  std::size_t stage_;
  std::vector<double> shares_;
};

}  // namespace

std::vector<double> chunk_shares(std::span<StepPricer* const> pricers,
                                 std::span<const std::int64_t> most_tokens, int stage) {
  const std::vector<std::vector<ChunkShape>> corners = checkpointing_corners(*pricers.front());
  LeastShares least(corners.front().size(), pricers.front()->plan().pp_degree, stage);
  for (const std::vector<ChunkShape>& corner : corners) least.add(time_attention(corner));
  for (std::size_t i = 0; i < pricers.size(); ++i) {
    StepPricer& pricer = *pricers[i];
    for (std::int64_t tokens = most_tokens[i]; tokens > 0;
         tokens = tokens > 1 ? StepPricer::exact_tokens_up_to(tokens - 1) : 0) {
      MicroBatchPrice price = pricer.micro_batch(tokens * pricer.plan().sequence_gpus(), {});
      price.overhead_ns = 0;
      price.attention_forward = price.attention_backward = {};
      price.added.clear();
      price.host = {};
      for (const std::vector<ChunkShape>& corner : corners) least.add(time_pack(price, corner));
    }
  }
  return least.shares();
}

}  // namespace packsim
