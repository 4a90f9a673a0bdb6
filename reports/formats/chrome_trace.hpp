#pragma once

#include <string>

#include "sim/run/trace_step.hpp"

namespace packsim {

/// A simulated step in Google's Trace Event format, as ui.perfetto.dev and chrome://tracing open it: a
/// process for each lane, in it a track for each stream. Passes hold the operations of their compute stream;
/// waits for other ranks come before the collective that they are for. Times are in microseconds from the
/// step's start, to the nanosecond. n_ranks: data-parallel ranks that are written, the first ones; the others
/// are left out. Source: Trace Event Format,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
std::string to_chrome_trace(const TracedStep& step, const std::string& title, int n_ranks);

}  // namespace packsim
