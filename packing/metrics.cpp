#include "packing/metrics.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace packsim {
namespace {

// One value per DP rank of an iteration: the micro-batches of a rank summed.
template <typename Value>
void sum_by_rank(const Schedule& schedule, const Iteration& iteration, std::span<const MicroBatch> batches,
                 Value value, std::vector<double>& sums) {
  const auto n_ranks = static_cast<std::size_t>(schedule.groups[iteration.group].n_dp_ranks);
  sums.assign(n_ranks, 0.0);
  const auto packs = schedule.packs(iteration);
  for (std::size_t i = 0; i < packs.size(); ++i)
    sums[i % n_ranks] += static_cast<double>(value(batches[packs[i]]));
}

// Sums neighbouring ranks into slots of `ranks_per_slot`.
void sum_by_slot(std::span<const double> ranks, std::size_t ranks_per_slot, std::vector<double>& slots) {
  slots.assign((ranks.size() + ranks_per_slot - 1) / ranks_per_slot, 0.0);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) slots[rank / ranks_per_slot] += ranks[rank];
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

}  // namespace

double imbalance(std::span<const double> work) {
  if (work.empty()) return 0.0;
  const double most = *std::max_element(work.begin(), work.end());
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  return most > 0 ? 1.0 - sum / (most * static_cast<double>(work.size())) : 0.0;
}

void attention_work(const Schedule& schedule, const Iteration& iteration, std::span<const MicroBatch> batches,
                    std::vector<double>& work) {
  sum_by_rank(
      schedule, iteration, batches, [](const MicroBatch& b) { return b.attention_pairs; }, work);
}

ScheduleMetrics measure(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches) {
  ScheduleMetrics metrics;
  metrics.iterations = static_cast<std::int64_t>(schedule.iterations.size());
  int widest = 1;
  for (const GroupPlan& group : schedule.groups) widest = std::max(widest, group.sp_degree);

  std::vector<double> work;
  std::vector<double> slots;
  std::vector<double> tokens;
  double abr_sum = 0;
  double abr_slots_sum = 0;
  double dbr_sum = 0;
  double idle_work = 0;
  double most_work = 0;
  double rank_iterations = 0;
  std::int64_t communicated_tokens = 0;
  for (const Iteration& iteration : schedule.iterations) {
    const GroupPlan& plan = schedule.groups[iteration.group];
    const std::vector<MicroBatch>& group = batches[iteration.group];
    const double n_ranks = plan.n_dp_ranks;

    attention_work(schedule, iteration, group, work);
    abr_sum += imbalance(work);
    sum_by_slot(work, static_cast<std::size_t>(widest / std::min(widest, plan.sp_degree)), slots);
    abr_slots_sum += imbalance(slots);
    const double most = *std::max_element(work.begin(), work.end()) * n_ranks;
    most_work += most;
    idle_work += most - std::accumulate(work.begin(), work.end(), 0.0);

    sum_by_rank(
        schedule, iteration, group, [](const MicroBatch& b) { return b.tokens + b.padded_tokens; }, tokens);
    dbr_sum += imbalance(tokens);
    rank_iterations += n_ranks;
    for (const std::uint32_t pack : schedule.packs(iteration)) {
      metrics.trained_tokens += group[pack].tokens;
      metrics.padded_tokens += group[pack].padded_tokens;
      if (plan.sp_degree > 1) communicated_tokens += group[pack].tokens;
    }
  }
  const auto n = static_cast<double>(schedule.iterations.size());
  const auto trained = static_cast<double>(metrics.trained_tokens);
  metrics.abr = ratio(abr_sum, n);
  metrics.abr_slots = ratio(abr_slots_sum, n);
  metrics.abr_weighted = ratio(idle_work, most_work);
  metrics.dbr = ratio(dbr_sum, n);
  metrics.cr = ratio(static_cast<double>(communicated_tokens), trained);
  metrics.pr =
      ratio(static_cast<double>(metrics.padded_tokens), trained + static_cast<double>(metrics.padded_tokens));
  metrics.ave_t_tokens = ratio(trained, rank_iterations);
  return metrics;
}

PackStatistics pack_statistics(const Packing& packing) {
  PackStatistics statistics;
  double samples = 0;
  double tokens = 0;
  double squares = 0;
  double filled = 0;
  double capacity = 0;
  for (std::size_t group = 0; group < packing.groups.size(); ++group) {
    const PackSet& packs = packing.groups[group];
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      double pack_tokens = 0;
      for (const ItemIndex item : packs[p]) {
        const double length = packing.lengths_tokens[item];
        pack_tokens += length;
        squares += length * length;
      }
      samples += static_cast<double>(packs[p].size());
      tokens += pack_tokens;
      const auto room = static_cast<double>(packing.capacities_tokens[group]);
      if (pack_tokens <= room) {
        filled += pack_tokens;
        capacity += room;
      }
    }
  }
  statistics.n_packs = static_cast<std::int64_t>(packing.n_packs());
  const auto n = static_cast<double>(statistics.n_packs);
  statistics.samples_per_pack = ratio(samples, n);
  statistics.tokens_per_pack = ratio(tokens, n);
  const bool rows = packing.strategy->layout == Layout::rows;
  statistics.fill_fraction = rows ? std::numeric_limits<double>::quiet_NaN() : ratio(filled, capacity);
  statistics.squared_length_per_sample = ratio(squares, samples);
  statistics.squared_length_per_pack = ratio(squares, n);
  return statistics;
}

}  // namespace packsim
