#pragma once

namespace packsim {

/// Says when a search that looks at plans in the order of their floors should end: after so many in a row
/// that were no better. Otherwise it would look at all of them where thousands are within the accuracy of
/// their floors, as with an optimizer on the host that takes most of a step.
class Patience {
 public:
  static constexpr int kMostInRow = 4000;

  /// best_s: time of the best plan after one more was looked at, above 0.
  void look_at(double best_s) {
    constexpr double kLeastGain = 1e-3;
    const bool is_better = best_s_ == 0 || best_s < (1 - kLeastGain) * best_s_;
    n_in_row_ = is_better ? 0 : n_in_row_ + 1;
    if (is_better) best_s_ = best_s;
  }
  bool is_over() const { return n_in_row_ >= kMostInRow; }

 private:
  int n_in_row_ = 0;
  double best_s_ = 0;  // the last one that was clearly better; 0: none was looked at
};

}  // namespace packsim
