#include "reports/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "reports/formats/trace_tracks.hpp"
#include "reports/text/gpu_text.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

// A value of a process's memory counter, until its next one.
struct TraceCounter {
  std::uint32_t process = 0;
  SimTime time;
  // Bytes by part; all values of a process have the same parts. Those that it never holds are left out.
  std::vector<std::pair<std::string_view, double>> parts;
  double total_bytes = 0;
};

struct Held {
  SimTime time;
  MemoryPeak memory;
};

// The last value of a moment counts.
void add_held(SimTime time, const MemoryPeak& memory, std::vector<Held>& values) {
  if (!values.empty() && values.back().time == time) values.pop_back();
  values.push_back({time, memory});
}

std::vector<std::vector<Held>> held_by_process(std::span<const StrategyStep> steps,
                                               const TraceTracks& tracks) {
  std::vector<std::vector<Held>> held(tracks.processes().size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::set<std::uint32_t> seen;
    for (const TracedMemory& moment : steps[s].memory) {
      const std::optional<std::uint32_t> process = tracks.process(s, moment.lane);
      if (!process) continue;
      seen.insert(*process);
      add_held(moment.time, moment.held, held[*process]);
    }
    if (steps[s].memory.empty()) continue;  // not known in this step
    for (std::uint32_t process = 0; process < held.size(); ++process)
      if (!seen.contains(process)) add_held(steps[s].step.start, {}, held[process]);
  }
  return held;
}

std::vector<PeakPart> parts_of(const std::vector<Held>& values) {
  std::vector<PeakPart> parts;
  for (const PeakPart& part : peak_parts()) {
    if (std::ranges::any_of(values, [&](const Held& value) { return value.memory.*part.bytes != 0; }))
      parts.push_back(part);
  }
  return parts;
}

// The memory of every process of a trace, in order of time, with one value for each moment. A process whose
// lane does not run in a step has 0 in it: its GPUs are in other lanes.
std::vector<TraceCounter> memory_counters(std::span<const StrategyStep> steps, const TraceTracks& tracks) {
  std::vector<TraceCounter> counters;
  const std::vector<std::vector<Held>> held = held_by_process(steps, tracks);
  for (std::uint32_t process = 0; process < held.size(); ++process) {
    const std::vector<PeakPart> parts = parts_of(held[process]);
    for (const Held& value : held[process]) {
      TraceCounter& counter = counters.emplace_back();
      counter.process = process;
      counter.time = value.time;
      counter.total_bytes = value.memory.total_bytes();
      for (const PeakPart& part : parts) counter.parts.emplace_back(part.name, value.memory.*part.bytes);
    }
  }
  return counters;
}

std::string microseconds(SimTime time) {
  return fmt::format("{}.{:03}", time.ns / 1000, time.ns % 1000);
}

class Events {
 public:
  void add_name(std::string_view what, std::uint32_t process, std::uint32_t track, const std::string& name) {
    fmt::format_to(next(), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what,
                   process, track, name);
  }
  void add_order(std::string_view what, std::uint32_t process, std::uint32_t track, int order) {
    fmt::format_to(next(),
                   R"({{"ph":"M","name":"{0}_sort_index","pid":{1},"tid":{2},"args":{{"sort_index":{3}}}}})",
                   what, process, track, order);
  }
  // Spans of no time are not drawn. category: what a viewer can filter by.
  void add_span(std::string_view category, std::string_view name, std::uint32_t process, std::uint32_t track,
                SimTime start, SimTime end, const std::string& arguments = "") {
    if (end <= start) return;
    fmt::format_to(next(), R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{}{}}})",
                   category, name, process, track, microseconds(start), microseconds(end - start),
                   arguments.empty() ? "" : R"(,"args":{)" + arguments + "}");
  }
  // One end of an arrow from where the last rank arrives to where another one has waited for it. It is in the
  // span that begins there.
  void add_arrow_end(std::size_t id, bool is_start, std::uint32_t process, std::uint32_t track, SimTime at) {
    fmt::format_to(
        next(),
        R"({{"ph":"{}","cat":"arrival","name":"last rank arrives","id":{},"pid":{},"tid":{},"ts":{}}})",
        is_start ? "s" : R"(f","bp":"e)", id, process, track, microseconds(at));
  }
  // chrome://tracing stacks the values of a counter; Perfetto draws each by itself, so the sum is one more.
  void add_memory(const TraceCounter& counter) {
    std::string parts;
    for (const auto& [name, bytes] : counter.parts)
      fmt::format_to(std::back_inserter(parts), R"({}"{}":{:.0f})", parts.empty() ? "" : ",", name, bytes);
    const auto add = [&](std::string_view name, const std::string& values) {
      fmt::format_to(next(), R"({{"ph":"C","name":"{}","pid":{},"ts":{},"args":{{{}}}}})", name,
                     counter.process, microseconds(counter.time), values);
    };
    add("GPU memory, bytes", parts);
    add("GPU memory in all, bytes", fmt::format(R"("total":{:.0f})", counter.total_bytes));
  }
  std::string& text() { return text_; }

 private:
  std::back_insert_iterator<std::string> next() {
    text_ += text_.empty() ? "\n" : ",\n";
    return std::back_inserter(text_);
  }
  std::string text_;
};

// A communication stream is named after what it carries.
std::string stream_name(StreamKind kind, const std::set<Cause>& causes) {
  if (kind == StreamKind::compute) return "compute";
  std::string name;
  for (const Cause cause : causes) name += (name.empty() ? "" : ", ") + std::string(cause_name(cause));
  return "exchange: " + name;
}

void add_names(Events& events, const TraceTracks& tracks) {
  for (std::uint32_t process = 0; process < tracks.processes().size(); ++process) {
    const TracedLane& lane = tracks.processes()[process];
    events.add_name("process_name", process, 0,
                    fmt::format("{}: {}", formats_detail::rank_text(lane, tracks.has_stages()),
                                formats_detail::gpus_text(lane)));
    events.add_order("process", process, 0, static_cast<int>(process));
  }
  for (std::uint32_t t = 0; t < tracks.tracks().size(); ++t) {
    const TraceTrack& track = tracks.tracks()[t];
    events.add_name("thread_name", track.process, t, stream_name(track.kind, track.causes));
    events.add_order("thread", track.process, t, static_cast<int>(t));
  }
}

// Several steps have a process above all others, whose spans are the iterations.
void add_iterations(Events& events, std::span<const StrategyStep> steps, const TraceTracks& tracks) {
  if (steps.size() < 2) return;
  const auto process = static_cast<std::uint32_t>(tracks.processes().size());
  const auto track = static_cast<std::uint32_t>(tracks.tracks().size());
  events.add_name("process_name", process, 0, "steps");
  events.add_order("process", process, 0, -1);
  events.add_name("thread_name", process, track, "iterations");
  for (const StrategyStep& step : steps) {
    events.add_span("iteration", fmt::format("iteration {}", step.iteration), process, track, step.step.start,
                    step.step.end);
  }
}

std::string_view category(const TracedOp& op) {
  return op.stream_kind == StreamKind::compute ? "compute" : "exchange";
}

// Arrows go from the rank that a collective waits for to every rank that waits.
void add_arrows(Events& events, std::size_t s, const TracedStep& step, const TraceTracks& tracks,
                std::size_t& n_arrows) {
  std::map<decltype(TracedOp::collective), std::vector<const TracedOp*>> by_collective;
  for (const TracedOp& op : step.ops) {
    if (tracks.process(s, op.rank) && op.collective != Op::kLocal && op.end > op.transfer_start)
      by_collective[op.collective].push_back(&op);
  }
  const auto add_end = [&](const TracedOp& op, bool is_start) {
    events.add_arrow_end(n_arrows, is_start, *tracks.process(s, op.rank), tracks.track(s, op.stream),
                         op.transfer_start);
  };
  for (const auto& [collective, ops] : by_collective) {
    const TracedOp& last = **std::ranges::max_element(ops, {}, [](const TracedOp* op) { return op->start; });
    for (const TracedOp* op : ops) {
      if (op->start >= last.start) continue;
      add_end(last, true);
      add_end(*op, false);
      ++n_arrows;
    }
  }
}

void add_passes(Events& events, std::size_t s, const TracedStep& step, const TraceTracks& tracks) {
  for (const TracedPass& pass : step.passes) {
    const std::optional<std::uint32_t> process = tracks.process(s, pass.lane);
    if (!process) continue;
    events.add_span(
        "pass",
        fmt::format("{} of micro-batch {}", pass.is_forward ? "forward" : "backward", pass.micro_batch),
        *process, tracks.track(s, pass.stream), pass.start, pass.end,
        fmt::format(R"("micro_batch":{},"chunk":{})", pass.micro_batch, pass.chunk));
  }
}

void add_operations(Events& events, std::size_t s, const TracedStep& step, const TraceTracks& tracks) {
  for (const TracedOp& op : step.ops) {
    const std::optional<std::uint32_t> process = tracks.process(s, op.rank);
    if (!process) continue;
    const std::uint32_t track = tracks.track(s, op.stream);
    const std::string cause(cause_name(op.cause));
    if (op.collective == Op::kLocal) {
      events.add_span(category(op), cause, *process, track, op.start, op.end);
      continue;
    }
    const std::string collective = fmt::format(R"("collective":{})", op.collective);
    events.add_span("wait", "wait for " + cause, *process, track, op.start, op.transfer_start, collective);
    events.add_span("exchange", cause, *process, track, op.transfer_start, op.end, collective);
  }
}

}  // namespace

std::string to_chrome_trace(std::span<const StrategyStep> steps, const std::string& title, int n_ranks) {
  const TraceTracks tracks(steps, n_ranks);
  Events events;
  add_names(events, tracks);
  add_iterations(events, steps, tracks);
  std::size_t n_arrows = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    add_passes(events, s, steps[s].step, tracks);
    add_operations(events, s, steps[s].step, tracks);
    add_arrows(events, s, steps[s].step, tracks, n_arrows);
  }
  for (const TraceCounter& counter : memory_counters(steps, tracks)) events.add_memory(counter);
  return fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"title":{}}},"traceEvents":[{})",
                     nlohmann::json(title).dump(), events.text()) +
         "\n]}\n";
}

}  // namespace packsim
