#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "packing/loss/loss_weights.hpp"
#include "plan_files/restore_plan.hpp"

namespace packsim::testing {

/// The promises of docs/plan_files.md, read off the tables in the plainest way there is, to be held against
/// the checks of plan_files/. Ends the program where one is broken.
class NaivePlan {
 public:
  explicit NaivePlan(const PlanView& view) : view_(view), plan_(*view), facts_(plan_.facts) {}

  void check() {
    count_items();
    if (plan_.piece_samples.empty() && std::ssize(plan_.lengths_tokens) == facts_.counts.n_samples) {
      check_whole_samples();
    } else {
      check_pieces();
    }
    check_packs();
    check_gpus();
    check_epochs();
    check_weights();
  }

 private:
  void expect(bool is_true, const char* promise) const {
    if (is_true) return;
    std::fprintf(stderr, "a plan that breaks a promise was accepted: %s\n%s\n", promise,
                 facts_to_json(facts_).c_str());
    std::abort();
  }

  void count_items() {
    for (const std::uint32_t item : plan_.pack_items) ++n_packs_of_[item];
    for (const auto& [item, n] : n_packs_of_) {
      expect(item < plan_.lengths_tokens.size(), "items exist");
      expect(n == 1, "an item is in one pack");
    }
  }

  void check_whole_samples() const {
    PackCounts counts;
    for (std::uint32_t i = 0; i < plan_.lengths_tokens.size(); ++i) {
      ++counts.n_samples;
      counts.n_tokens += plan_.lengths_tokens[i];
      if (n_packs_of_.contains(i)) continue;
      if (plan_.lengths_tokens[i] == 0 && facts_.empty == Empty::drop) {
        ++counts.empty_samples;
      } else {
        ++counts.dropped_samples;
        counts.dropped_tokens += plan_.lengths_tokens[i];
      }
    }
    counts.own_pack_samples = facts_.counts.own_pack_samples;
    expect(counts == facts_.counts, "counts of samples and tokens");
    expect(hash_of_lengths(plan_.lengths_tokens) == facts_.lengths_hash, "the hash of the lengths");
  }

  void check_pieces() const {
    std::map<std::uint32_t, std::map<std::int64_t, std::int64_t>> pieces;  // sample, start, end
    std::int64_t tokens = 0;
    for (std::uint32_t i = 0; i < plan_.piece_samples.size(); ++i) {
      expect(n_packs_of_.contains(i), "every piece is in a pack");
      const std::int64_t start = plan_.piece_starts[i];
      auto& of_sample = pieces[plan_.piece_samples[i]];
      expect(of_sample.emplace(start, start + plan_.lengths_tokens[i]).second, "pieces begin once");
      tokens += plan_.lengths_tokens[i];
    }
    std::int64_t n_split = 0;
    for (const auto& [sample, of_sample] : pieces) {
      std::int64_t end = 0;
      for (const auto& [start, piece_end] : of_sample) {
        expect(start == end, "pieces tile their sample");
        end = piece_end;
      }
      n_split += of_sample.size() > 1 ? 1 : 0;
    }
    const PackCounts& counts = facts_.counts;
    expect(counts.split_samples == n_split, "split samples");
    expect(counts.dropped_samples + counts.empty_samples == counts.n_samples - std::ssize(pieces),
           "samples without a piece");
    expect(counts.n_tokens - counts.dropped_tokens - counts.truncated_tokens == tokens, "tokens of pieces");
  }

  void check_packs() const {
    const bool rows = find_strategy(facts_.strategy)->layout == Layout::rows;
    for (const PlanGroup& group : plan_.groups) {
      for (std::uint64_t p = group.first_pack; p < group.first_pack + group.n_packs; ++p) {
        std::int64_t tokens = 0;
        expect(plan_.pack_offsets[p] < plan_.pack_offsets[p + 1], "a pack has items");
        for (std::uint64_t i = plan_.pack_offsets[p]; i < plan_.pack_offsets[p + 1]; ++i) {
          const std::int64_t length = plan_.lengths_tokens[plan_.pack_items[i]];
          tokens = rows ? std::max(tokens, length) : tokens + length;
        }
        const bool is_own =
            facts_.over_long == OverLong::own_pack && plan_.pack_offsets[p + 1] - plan_.pack_offsets[p] == 1;
        expect(tokens <= group.capacity_tokens || is_own, "a pack fits");
      }
    }
  }

  void check_gpus() const {
    if (facts_.n_gpus > 4096) return;  // counting them takes long
    for (const PlanIteration& iteration : plan_.iterations) {
      std::set<std::pair<int, std::uint64_t>> taken;  // round, GPU
      int round = 0;
      for (const PlanPlacedPack& placed : plan_.packs(iteration)) {
        expect(placed.round >= round, "rounds ascend");
        round = placed.round;
        for (std::uint64_t g = 0; g < plan_.groups[placed.group].gpus_per_pack(); ++g)
          expect(taken.emplace(round, placed.first_gpu + g).second, "a GPU has one pack in a round");
      }
      for (const auto& [of_round, gpu] : taken)
        expect(gpu < static_cast<std::uint64_t>(facts_.n_gpus), "GPUs exist");
    }
  }

  void check_epochs() const {
    std::int64_t dropped = 0;
    std::int64_t dropped_tokens = 0;
    std::int64_t repeated = 0;
    std::int64_t repeated_tokens = 0;
    const std::int64_t n = plan_.iterations_per_epoch();
    expect(n * facts_.epochs == std::ssize(plan_.iterations), "as many iterations in each epoch");
    for (std::int64_t epoch = 0; epoch < facts_.epochs; ++epoch) {
      std::vector<std::int64_t> n_uses(plan_.pack_offsets.size() - 1);
      for (std::int64_t i = epoch * n; i < (epoch + 1) * n; ++i) {
        for (const PlanPlacedPack& placed : plan_.packs(plan_.iterations[static_cast<std::size_t>(i)]))
          ++n_uses[plan_.pack_index(placed)];
      }
      for (std::size_t p = 0; p < n_uses.size(); ++p) {
        std::int64_t tokens = 0;
        for (std::uint64_t i = plan_.pack_offsets[p]; i < plan_.pack_offsets[p + 1]; ++i)
          tokens += plan_.lengths_tokens[plan_.pack_items[i]];
        const std::int64_t more = std::max<std::int64_t>(n_uses[p] - 1, 0);
        dropped += n_uses[p] == 0 ? 1 : 0;
        dropped_tokens += n_uses[p] == 0 ? tokens : 0;
        repeated += more;
        repeated_tokens += more * tokens;
      }
    }
    expect(dropped == facts_.dropped_packs && dropped_tokens == facts_.dropped_pack_tokens, "dropped packs");
    expect(repeated == facts_.repeated_packs && repeated_tokens == facts_.repeated_tokens, "repeated packs");
    expect(dropped == 0 || facts_.last_iteration == LastIteration::drop,
           "packs are dropped where that is said");
    expect(repeated == 0 || facts_.last_iteration == LastIteration::repeat,
           "packs are repeated where that is said");
  }

  void check_weights() const {
    if (facts_.n_gpus > 4096) return;
    const RestoredPlan restored = restore_plan(view_);
    const LossTokens loss_tokens(restored.packing, plan_.loss_tokens);
    const std::vector<double> expected = loss_weights(
        restored.schedule, count_losses(restored.packing, loss_tokens), known_normaliser(facts_.normaliser));
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect(std::abs(plan_.weights[i] - expected[i]) <= 1e-8 * expected[i], "weights of the normaliser");
  }

  const PlanView& view_;
  const PlanTables& plan_;
  const PlanFacts& facts_;
  std::map<std::uint32_t, int> n_packs_of_;  // packs that an item is in
};

}  // namespace packsim::testing
