#pragma once

#include <span>
#include <string>

#include "experiment/trace_strategy.hpp"

namespace packsim {

/// Simulated steps in Google's Trace Event format, as ui.perfetto.dev and chrome://tracing open it: a process
/// for each lane, in it a track for each stream and counters of a GPU's memory. Passes hold the operations of
/// their compute stream; waits for other ranks come before the collective that they are for. Several steps
/// follow each other, with a track that names their iterations. Times are in microseconds from the start of
/// the first step, to the nanosecond. n_ranks: data-parallel ranks that are written, the first ones; the
/// others are left out. Source: Trace Event Format,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
std::string to_chrome_trace(std::span<const StrategyStep> steps, const std::string& title, int n_ranks);

}  // namespace packsim
