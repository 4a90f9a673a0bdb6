#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>

namespace packsim {

/// A point or a span of simulated time in whole nanoseconds: sums are exact, so the order of events is the
/// same on every machine. 64 bits last for 292 years; a sum beyond that is a std::logic_error, not a wrapped
/// clock.
struct SimTime {
  std::int64_t ns = 0;

  friend auto operator<=>(const SimTime&, const SimTime&) = default;

  SimTime& operator+=(SimTime other) {
    if (__builtin_add_overflow(ns, other.ns, &ns)) throw std::logic_error("simulated time is over 292 years");
    return *this;
  }
  friend SimTime operator+(SimTime a, SimTime b) { return a += b; }
  friend SimTime operator-(SimTime a, SimTime b) { return {a.ns - b.ns}; }
};

/// Seconds rounded to the nearest nanosecond. Throws std::logic_error if they are negative, not a number, or
/// over 292 years: cost models, from which durations come, must not make such times.
SimTime sim_time(double seconds);

inline double to_seconds(SimTime time) {
  return static_cast<double>(time.ns) * 1e-9;
}

}  // namespace packsim
