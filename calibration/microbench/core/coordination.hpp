#pragma once

namespace packsim::microbench {

/// How the processes of a run on several nodes stay in step. This class is the run of a single process;
/// one over a network derives from it. Every rank makes the same calls in the same order.
class Coordination {
 public:
  Coordination() = default;
  Coordination(const Coordination&) = delete;
  Coordination& operator=(const Coordination&) = delete;
  virtual ~Coordination() = default;

  /// 0 writes the measurement file and decides when to stop.
  virtual int rank() const { return 0; }
  virtual int n_ranks() const { return 1; }
  /// What rank 0 gave, for all.
  virtual bool first_decides(bool mine) { return mine; }
  /// The largest of what the ranks gave, for all.
  virtual double largest(double mine) { return mine; }
  virtual void barrier() {}
};

}  // namespace packsim::microbench
