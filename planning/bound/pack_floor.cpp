#include "planning/bound/pack_floor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/step/pass/pass_time.hpp"
#include "planning/bound/pass_units.hpp"
#include "planning/bound/rounding.hpp"

namespace packsim {
namespace {

double& of(SecondsByCause& by_cause_s, Cause cause) {
  return by_cause_s[static_cast<std::size_t>(cause)];
}

// Two documents side by side take as long as this (AttentionPricer::parts).
double fourth_power_sum(double a_s, double b_s) {
  const double a = a_s * a_s;
  const double b = b_s * b_s;
  return std::sqrt(std::sqrt(a * a + b * b));
}

}  // namespace

PackFloor::PackFloor(const Job& job, StepPricer& pricer, const PackFloorSetting& setting)
    : pricer_(pricer),
      setting_(setting),
      gpus_(setting.plan.sequence_gpus()),
      launch_(pricer.attention_launch()),
      longest_s_per_token_(pricer.longest_cost_per_token()) {
  set_intervals(job);
  set_points();
}

// The fewest checkpointed layers with which so many tokens fit. A pack that leaves its last GPU part of a
// token has that much less on all of them, so that one more counts.
void PackFloor::set_intervals(const Job& job) {
  const std::int64_t most = (setting_.most_tokens + gpus_ - 1) / gpus_;
  std::int64_t last = 0;
  for (int gc_layers = 0; gc_layers <= job.model.n_layers && last < most; ++gc_layers) {
    setting_.plan.gc_layers = gc_layers;
    const std::int64_t fitting = most_tokens_that_fit(job, setting_.plan, most, setting_.n_micro_batches);
    const std::int64_t until = std::min(most, fitting > 0 && gpus_ > 1 ? fitting + 1 : fitting);
    if (until <= last && gc_layers > 0) continue;
    Interval interval{.first_tokens = last + 1, .last_tokens = until};
    pricer_.set_gc_layers(gc_layers);
    for (int chunk = setting_.stage; chunk < setting_.plan.n_chunks(); chunk += setting_.plan.pp_degree) {
      const ChunkShape& shape = interval.chunks.emplace_back(pricer_.chunk(chunk));
      interval.n_layers += shape.n_layers();
      interval.n_attention_recomputed += shape.n_attention_recomputed();
    }
    if (gc_layers == 0) without_recomputation_ = interval;
    if (until <= last) continue;
    last = until;
    intervals_.push_back(std::move(interval));
  }
}

PackFloor::Point PackFloor::price(std::int64_t tokens, std::size_t interval) const {
  // What is added to a pass may hide behind attention, as a ring's transfers do. There is none here.
  MicroBatchPrice without_attention = pricer_.without_attention(tokens);
  if (!setting_.counts_overhead) without_attention.overhead_ns = 0;
  Point point = price(without_attention, tokens, intervals_[interval]);
  point.interval = interval;
  point.least_rate_without_recomputation = price(without_attention, tokens, without_recomputation_).rate();
  return point;
}

PackFloor::Point PackFloor::price(const MicroBatchPrice& price, std::int64_t tokens,
                                  const Interval& of_tokens) const {
  const double lost_s = setting_.plan.pp_degree * rounding_s(price, of_tokens.chunks);
  WorkTime forward;
  WorkTime backward;
  for (const ChunkShape& chunk : of_tokens.chunks) {
    forward += forward_time(price, chunk);
    backward += backward_time(price, chunk);
  }
  Point point{.tokens = tokens};
  for (std::size_t cause = 0; cause < point.by_cause_s.size(); ++cause)
    point.by_cause_s[cause] =
        1e-9 * static_cast<double>(forward.by_cause_ns[cause] + backward.by_cause_ns[cause]);
  point.passes_s.forward =
      1e-9 * static_cast<double>(forward.total_ns) + of_tokens.n_layers * launch_.forward_s - lost_s;
  point.passes_s.backward = 1e-9 * static_cast<double>(backward.total_ns) +
                            of_tokens.n_layers * launch_.backward_s +
                            of_tokens.n_attention_recomputed * launch_.forward_s - lost_s;
  of(point.by_cause_s, Cause::attention) += of_tokens.n_layers * (launch_.forward_s + launch_.backward_s);
  of(point.by_cause_s, Cause::recompute) += of_tokens.n_attention_recomputed * launch_.forward_s;
  of(point.by_cause_s, Cause::linear) += setting_.sums_s - lost_s;
  of(point.by_cause_s, Cause::states) += setting_.states_s;
  for (const double cause_s : point.by_cause_s) point.pack_s += cause_s;
  return point;
}

// Descending. False once the framework's cost alone is more than the best pack's, for each token: fewer
// tokens are no cheaper.
bool PackFloor::add_points(std::size_t interval, double& least_rate) {
  const Interval& of_tokens = intervals_[interval];
  std::int64_t tokens = of_tokens.last_tokens;
  while (true) {
    const Point& point = points_.emplace_back(price(tokens, interval));
    least_rate = std::min(least_rate, point.rate());
    if (overhead_s_ >= least_rate * static_cast<double>(tokens)) return false;
    if (tokens == of_tokens.first_tokens) return true;
    tokens = std::max(of_tokens.first_tokens, StepPricer::exact_tokens_up_to(tokens - 1));
  }
}

void PackFloor::set_points() {
  if (intervals_.empty()) return;
  if (setting_.counts_overhead) {
    overhead_s_ = 1e-9 * static_cast<double>(pricer_.micro_batch(gpus_, {}).overhead_ns) *
                  static_cast<double>(intervals_.front().chunks.size());
  }
  double least_rate = std::numeric_limits<double>::infinity();
  for (std::size_t interval = intervals_.size(); interval-- > 0;) {
    if (!add_points(interval, least_rate)) break;
  }
  std::ranges::reverse(points_);
  for (std::size_t i = points_.size(); i-- > 0;) {
    Point& point = points_[i];
    point.least_rate = i;
    point.least_pack_s = point.pack_s;
    if (i + 1 == points_.size()) continue;
    const Point& next = points_[i + 1];
    if (points_[next.least_rate].rate() < point.rate()) point.least_rate = next.least_rate;
    point.least_pack_s = std::min(point.pack_s, next.least_pack_s);
    point.least_rate_without_recomputation =
        std::min(point.least_rate_without_recomputation, next.least_rate_without_recomputation);
  }
  if (!setting_.counts_overhead) set_least_rates();
}

void PackFloor::set_least_rates() {
  least_rates_.resize(points_.size());
  std::vector<PassTimes> least;
  for (std::size_t i = points_.size(); i-- > 0;) {
    const Point& point = points_[i];
    const auto tokens = static_cast<double>(point.tokens);
    least.push_back({point.passes_s.forward / tokens, point.passes_s.backward / tokens});
    least_rates_[i] = least = least_passes(std::move(least));
  }
}

std::int64_t PackFloor::tokens_per_gpu(std::int32_t length_tokens) const {
  return (length_tokens + gpus_ - 1) / gpus_;
}

bool PackFloor::holds(std::int32_t length_tokens) const {
  return tokens_per_gpu(length_tokens) <= most_tokens_per_gpu();
}

const PackFloor::Interval& PackFloor::interval_of(std::int64_t tokens) const {
  return *std::ranges::lower_bound(intervals_, tokens, {}, &Interval::last_tokens);
}

// The start of the line on which packs of so many tokens lie, or the first point behind them.
std::size_t PackFloor::first_point(std::int64_t tokens) const {
  const auto at = std::ranges::lower_bound(points_, tokens, {}, &Point::tokens);
  const bool is_inside = at != points_.begin() && at->tokens > tokens && (at - 1)->interval == at->interval;
  return static_cast<std::size_t>(at - points_.begin()) - (is_inside ? 1 : 0);
}

const PackFloor::Point& PackFloor::cheapest_from(std::int64_t tokens) const {
  return points_[points_[first_point(tokens)].least_rate];
}

double PackFloor::least_pack_s_from(std::int64_t tokens) const {
  const double least_s = points_[first_point(tokens)].least_pack_s;
  return tokens < points_.front().tokens ? std::min(least_s, overhead_s_) : least_s;
}

PackFloor::Attention PackFloor::attention(std::int32_t length_tokens) const {
  const Interval& interval = interval_of(tokens_per_gpu(length_tokens));
  const StepPricer::AttentionCost layer = pricer_.document_cost(length_tokens);
  return {.forward_s = interval.n_layers * layer.forward_s,
          .backward_s = interval.n_layers * layer.backward_s,
          .recompute_s = interval.n_attention_recomputed * layer.forward_s};
}

double PackFloor::gpu_s(std::int32_t length_tokens) const {
  const Attention documents = attention(length_tokens);
  return cheapest_from(tokens_per_gpu(length_tokens)).rate() * length_tokens +
         gpus_ * (documents.forward_s + documents.backward_s + documents.recompute_s);
}

double PackFloor::gpu_s_without_recomputation(std::int32_t length_tokens) const {
  const Attention documents = attention(length_tokens);
  const Point& point = points_[first_point(tokens_per_gpu(length_tokens))];
  return point.least_rate_without_recomputation * length_tokens +
         gpus_ * (documents.forward_s + documents.backward_s);
}

void PackFloor::add_gpu_s(std::int32_t length_tokens, double n_samples, SecondsByCause& by_cause_s) const {
  const Point& best = cheapest_from(tokens_per_gpu(length_tokens));
  const double share = n_samples * length_tokens / static_cast<double>(best.tokens);
  for (std::size_t cause = 0; cause < by_cause_s.size(); ++cause)
    by_cause_s[cause] += share * best.by_cause_s[cause];
  const Attention documents = attention(length_tokens);
  of(by_cause_s, Cause::attention) += n_samples * gpus_ * (documents.forward_s + documents.backward_s);
  of(by_cause_s, Cause::recompute) += n_samples * gpus_ * documents.recompute_s;
}

void PackFloor::add_units(std::int32_t length_tokens, double gpu_s, std::vector<PassTimes>& units) const {
  const Attention documents = attention(length_tokens);
  for (const PassTimes& rate : least_rates_[first_point(tokens_per_gpu(length_tokens))]) {
    units.push_back(
        {(rate.forward * length_tokens + gpus_ * documents.forward_s) / gpu_s,
         (rate.backward * length_tokens + gpus_ * (documents.backward_s + documents.recompute_s)) / gpu_s});
  }
}

// Its own attention and that of the longest document, which it makes no shorter. Windows shorten both.
double PackFloor::attention_alone_s(std::int32_t length_tokens) const {
  const Interval& interval = interval_of(tokens_per_gpu(length_tokens));
  const Transformer& model = pricer_.model();
  StepPricer::AttentionCost layer = pricer_.document_cost(length_tokens);
  if (model.n_windowed_layers == 0 || model.sliding_window_tokens == 0) {
    layer.forward_s = fourth_power_sum(layer.forward_s, longest_s_per_token_.forward_s * length_tokens);
    layer.backward_s = fourth_power_sum(layer.backward_s, longest_s_per_token_.backward_s * length_tokens);
  }
  return (interval.n_layers + interval.n_attention_recomputed) * layer.forward_s +
         interval.n_layers * layer.backward_s;
}

double PackFloor::alone_s(std::int32_t length_tokens) const {
  // The first pack of a step has no gradients to be added to.
  return least_pack_s_from(tokens_per_gpu(length_tokens)) - setting_.sums_s +
         attention_alone_s(length_tokens);
}

}  // namespace packsim
