#include "packing/schedule/metrics.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace packsim {
namespace {

// The part of a pack's value that each of its GPUs has. sums: [n_gpus].
void add_to_gpus(const PlacedPack& placed, int degree, std::int64_t value, std::span<double> sums) {
  const double share = static_cast<double>(value) / degree;
  for (double& sum : sums.subspan(placed.first_gpu, static_cast<std::size_t>(degree))) sum += share;
}

// Sums neighbouring GPUs into slots of `gpus_per_slot`.
void sum_by_slot(std::span<const double> gpus, std::size_t gpus_per_slot, std::vector<double>& slots) {
  slots.clear();
  for (std::size_t first = 0; first < gpus.size(); first += gpus_per_slot) {
    const auto of_slot = gpus.subspan(first, std::min(gpus_per_slot, gpus.size() - first));
    slots.push_back(std::accumulate(of_slot.begin(), of_slot.end(), 0.0));
  }
}

struct MostAndSum {
  double most = 0;
  double sum = 0;
};
MostAndSum most_and_sum(std::span<const double> work) {
  return {*std::ranges::max_element(work), std::accumulate(work.begin(), work.end(), 0.0)};
}

// n: of the values.
double imbalance_of(const MostAndSum& work, std::size_t n) {
  return work.most > 0 ? 1.0 - work.sum / (work.most * static_cast<double>(n)) : 0.0;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

}  // namespace

double imbalance(std::span<const double> work) {
  return work.empty() ? 0.0 : imbalance_of(most_and_sum(work), work.size());
}

void attention_work(const Schedule& schedule, const Iteration& iteration,
                    std::span<const std::vector<MicroBatch>> batches, std::vector<double>& work) {
  work.assign(static_cast<std::size_t>(schedule.n_gpus), 0.0);
  for (const PlacedPack& placed : schedule.packs(iteration)) {
    add_to_gpus(placed, schedule.groups[placed.group].gpus_per_pack,
                batches[placed.group][placed.pack].attention_pairs, work);
  }
  const auto degree = static_cast<std::size_t>(schedule.gpus_per_pack(iteration).value_or(1));
  for (std::size_t rank = 0; rank * degree < work.size(); ++rank)
    work[rank] = static_cast<double>(degree) * work[rank * degree];
  work.resize(work.size() / degree);
}

ScheduleMetrics measure(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                        std::vector<double>* abr_of_iterations) {
  ScheduleMetrics metrics;
  metrics.iterations = static_cast<std::int64_t>(schedule.iterations.size());
  int widest = 1;
  for (const GroupPlan& group : schedule.groups) widest = std::max(widest, group.gpus_per_pack);

  std::vector<double> work;
  std::vector<double> slots;
  std::vector<double> tokens;
  double abr_sum = 0;
  double n_balanced = 0;
  double abr_slots_sum = 0;
  double dbr_sum = 0;
  double idle_work = 0;
  double most_work = 0;
  double rank_iterations = 0;
  std::int64_t communicated_tokens = 0;
  for (const Iteration& iteration : schedule.iterations) {
    work.assign(static_cast<std::size_t>(schedule.n_gpus), 0.0);
    tokens.assign(static_cast<std::size_t>(schedule.n_gpus), 0.0);
    std::int64_t iteration_tokens = 0;
    double tokens_per_gpu = 0;
    for (const PlacedPack& placed : schedule.packs(iteration)) {
      schedule.load_ahead(placed, batches);
      const MicroBatch& batch = batches[placed.group][placed.pack];
      const int degree = schedule.groups[placed.group].gpus_per_pack;
      add_to_gpus(placed, degree, batch.attention_pairs, work);
      add_to_gpus(placed, degree, batch.tokens + batch.padded_tokens, tokens);
      iteration_tokens += batch.tokens;
      tokens_per_gpu += static_cast<double>(batch.tokens) / degree;
      metrics.padded_tokens += batch.padded_tokens;
      if (degree > 1) communicated_tokens += batch.tokens;
    }
    const MostAndSum attention = most_and_sum(work);
    const double abr = imbalance_of(attention, work.size());
    abr_sum += abr;
    if (abr_of_iterations != nullptr) abr_of_iterations->push_back(abr);
    if (abr <= kBalancedAbr) ++n_balanced;
    sum_by_slot(work, static_cast<std::size_t>(widest), slots);
    abr_slots_sum += imbalance(slots);
    dbr_sum += imbalance(tokens);
    const double most = attention.most * schedule.n_gpus;
    most_work += most;
    idle_work += most - attention.sum;
    metrics.trained_tokens += iteration_tokens;
    metrics.largest_iteration_tokens = std::max(metrics.largest_iteration_tokens, iteration_tokens);
    // Ranks of different degrees count by the tokens that they train.
    if (iteration_tokens > 0)
      rank_iterations += schedule.n_gpus * tokens_per_gpu / static_cast<double>(iteration_tokens);
  }
  const auto n = static_cast<double>(schedule.iterations.size());
  const auto trained = static_cast<double>(metrics.trained_tokens);
  metrics.abr = ratio(abr_sum, n);
  metrics.balanced_fraction = ratio(n_balanced, n);
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
