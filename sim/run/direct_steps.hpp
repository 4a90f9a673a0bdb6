#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/run/plain_steps.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {

/// Computes steps whose ranks all have as many micro-batches and meet only in transfers of weights and
/// gradients, operation by operation in the order of the program: the times and accounts are those that a
/// simulation of their events gives, to the nanosecond, without a graph and a queue. Only for steps in which
/// nothing contends and stages are not shown. Keeps its memory from step to step.
class DirectSteps {
 public:
  /// The step of these ranks; null if it must be simulated. It is valid until the next call.
  const PlainStep* find(std::span<const RankWork> ranks);

 private:
  static constexpr int kNone = -1;

  // An operation on one of a lane's two streams, in as little memory as a long step needs. Indices are of the
  // same lane's operations.
  struct Op {
    std::int64_t transfer_ns = 0;  // when all participants of a collective have arrived
    std::int64_t end_ns = 0;
    int previous = kNone;  // on the same stream; kCompute for computation
    int after = kNone;     // what a collective waits for on the compute stream
    bool is_compute() const { return previous == kCompute; }
  };
  static constexpr int kCompute = -2;
  // Times of one micro-batch on a lane, without transfers.
  struct PassTimes {
    std::int64_t embedding_ns = 0;
    std::int64_t head_ns = 0;
    std::array<std::array<std::int64_t, 2>, 2> layer_ns = {};  // by has_experts and is_checkpointed
  };
  // What StepBuilder's Lane and StateExchange know of one rank.
  struct Lane {
    std::vector<Op> ops;  // the first n_ops are of this step
    int n_ops = 0;
    int last_compute = kNone;
    int last_transfer = kNone;
    bool last_may_grow = false;
    std::array<int, 4> waits = {};  // transfers that later computation waits for
    int n_waits = 0;
    int computed_before_gather = kNone;
    int computed = kNone;                         // the latest computation when a gather is made
    std::array<int, 2> reduced = {kNone, kNone};  // the last two reductions; kNone: takes no time
    std::array<int, 4> held_back = {};            // what reductions that are held back wait for
    PassTimes pass;
    WorkTime work;
    RankAccount account;
  };

  bool is_direct(std::span<const RankWork> ranks) const;
  void begin(std::span<const RankWork> ranks);
  void forward(std::size_t micro_batch);
  void backward(std::size_t micro_batch);
  void gather_ahead(const StateUnit& unit);
  void reduce(const StateUnit& unit);
  void send_held_back();
  void wait_for_gradients();
  void finish();

  static std::int64_t end_of(const Lane& lane, int op) {
    return op == kNone ? 0 : lane.ops[static_cast<std::size_t>(op)].end_ns;
  }
  static int add(Lane& lane, const Op& op);
  static void compute(Lane& lane, std::int64_t time_ns);
  static void wait_for(Lane& lane, int op);
  static int computed(Lane& lane);
  // Every lane joins a collective, behind its operation after_of(lane); then done(lane, its new operation).
  template <typename AfterOf, typename Done>
  void join(std::int64_t time_ns, const AfterOf& after_of, const Done& done);
  template <typename AfterOf>
  void send_reduction(std::int64_t time_ns, const AfterOf& after_of);
  static int waited_for(const Lane& lane, int op);
  static void explain(Lane& lane, int op, std::int64_t begin_ns, std::int64_t end_ns);

  // What the plan says of its transfers (models/state_traffic.hpp), asked once for each step.
  struct Traffic {
    bool overlaps = false;
    bool gathers_every_pass = false;
    bool gathers_in_forward = false;
    bool reduces_every_micro_batch = false;
    bool reduces_at_end = false;
    bool reduces_after_next_gather = false;
    bool has_two_buckets = false;
  };

  std::span<const RankWork> ranks_;
  const PricedPlan* plan_ = nullptr;
  Traffic traffic_;
  std::array<std::int64_t, 4> held_back_ns_ = {};  // reductions that wait for the next gather
  std::size_t n_held_back_ = 0;
  std::size_t n_reduced_ = 0;  // in this step, of every lane
  std::vector<Lane> lanes_;    // those of this step come first
  PlainStep step_;
};

}  // namespace packsim
