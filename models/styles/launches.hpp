#pragma once

namespace packsim {

/// Kernels that are counted for their launches alone, as they take no time worth counting.
struct Launches {
  double forward = 0;
  double backward = 0;
  /// How often the host waits, forward, until the GPU has done all that was launched: it reads a value.
  double waits = 0;

  Launches operator*(double n) const { return {n * forward, n * backward, n * waits}; }
  Launches operator+(const Launches& other) const {
    return {forward + other.forward, backward + other.backward, waits + other.waits};
  }
  bool operator==(const Launches&) const = default;
};

}  // namespace packsim
