#include "sim/step/cut_pass.hpp"

#include <utility>

namespace packsim {

void CutWork::clear() {
  time_ = {};
  pieces_ns_.assign(1, 0);
  exchanges_ns_.clear();
}

void CutWork::compute(Cause cause, std::int64_t time_ns) {
  time_.add(cause, time_ns);
  pieces_ns_.back() += time_ns;
}

void CutWork::book(const WorkTime& time) {
  time_ += time;
  pieces_ns_.back() += time.total_ns;
}

void CutWork::add(const PricedPhase& phase, const RingPrice& attention, bool with_experts, double slow_down) {
  for (const PricedStage& stage : phase.stages) {
    switch (stage.kind) {
      case PricedStage::Kind::compute:
        // A slow GPU has no slower framework.
        compute(stage.cause,
                stage.cause == Cause::overhead ? stage.time_ns : slowed_ns(stage.time_ns, slow_down));
        break;
      case PricedStage::Kind::attention:
        book(attention_time(attention, stage.cause, slow_down));
        break;
      case PricedStage::Kind::exchange:
        if (with_experts && stage.cause == Cause::expert) {
          exchanges_ns_.push_back(stage.time_ns);
          pieces_ns_.push_back(0);
        } else {
          compute(stage.cause, stage.time_ns);
        }
        break;
    }
  }
}

void CutWork::append(const CutWork& other) {
  time_ += other.time_;
  pieces_ns_.back() += other.pieces_ns_.front();
  pieces_ns_.insert(pieces_ns_.end(), other.pieces_ns_.begin() + 1, other.pieces_ns_.end());
  exchanges_ns_.insert(exchanges_ns_.end(), other.exchanges_ns_.begin(), other.exchanges_ns_.end());
}

const CutWork& PassCutter::layer(int index) {
  const bool has_experts = index >= chunk_.n_dense;
  const bool is_checkpointed = index < chunk_.n_checkpointed;
  const std::size_t kind = (has_experts ? 2U : 0U) + (is_checkpointed ? 1U : 0U);
  CutWork& layer = layers_[kind];
  if (std::exchange(has_layer_[kind], true)) return layer;
  layer.clear();
  const LayerPrices& prices = price_->tokens->layers[has_experts ? 1 : 0];
  const LaunchWait& launches = price_->launch_wait[has_experts ? 1 : 0];
  if (is_forward_) {
    layer.add(prices.forward, price_->attention_forward, has_experts, slow_down_);
    layer.compute(Cause::overhead, launches.forward_ns);
    if (is_checkpointed) layer.compute(Cause::states, price_->to_host_ns[has_experts ? 1 : 0]);
    return layer;
  }
  if (is_checkpointed) {
    layer.add(prices.recompute, price_->attention_forward, has_experts, slow_down_);
    layer.compute(Cause::overhead, launches.recompute_ns);
  }
  layer.add(prices.backward, price_->attention_backward, has_experts, slow_down_);
  layer.compute(Cause::overhead, launches.backward_ns);
  if (is_checkpointed) layer.compute(Cause::states, price_->from_host_ns[has_experts ? 1 : 0]);
  return layer;
}

void PassCutter::add_forward(const StateUnit& unit) {
  if (unit.has_embedding) work_.add(price_->tokens->embedding_forward, {}, false, slow_down_);
  for (int i = 0; i < unit.n_layers; ++i) work_.append(layer(unit.first_layer + i));
  if (unit.has_head) work_.add(price_->tokens->head_forward, {}, false, slow_down_);
}

void PassCutter::add_backward(const StateUnit& unit) {
  if (unit.has_head) work_.add(price_->tokens->head_backward, {}, false, slow_down_);
  for (int i = unit.n_layers; i-- > 0;) work_.append(layer(unit.first_layer + i));
  if (unit.has_embedding) work_.add(price_->tokens->embedding_backward, {}, false, slow_down_);
  if (!is_first_) work_.compute(Cause::linear, slowed_ns(unit.sum_ns, slow_down_));
}

const CutWork& PassCutter::cut(const RankWork& rank, std::size_t chunk, std::size_t micro_batch,
                               bool is_forward, std::span<const StateUnit> units) {
  price_ = rank.micro_batches[micro_batch];
  chunk_ = rank.plan_of(micro_batch).chunks[chunk];
  is_forward_ = is_forward;
  is_first_ = micro_batch == 0;
  slow_down_ = rank.slow_down(chunk, micro_batch, is_forward);
  has_layer_ = {};
  work_.clear();
  if (is_forward) {
    for (const StateUnit& unit : units) add_forward(unit);
  } else {
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) add_backward(*unit);
  }
  return work_;
}

}  // namespace packsim
