#include "reports/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace packsim {
namespace {

std::string microseconds(SimTime time) {
  return fmt::format("{}.{:03}", time.ns / 1000, time.ns % 1000);
}

class Events {
 public:
  void add_name(std::string_view what, std::uint32_t lane, StreamId stream, const std::string& name) {
    fmt::format_to(next(), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what, lane,
                   stream, name);
  }
  void add_order(std::string_view what, std::uint32_t lane, StreamId stream) {
    fmt::format_to(next(),
                   R"({{"ph":"M","name":"{0}_sort_index","pid":{1},"tid":{2},"args":{{"sort_index":{3}}}}})",
                   what, lane, stream, what == "thread" ? stream : lane);
  }
  // Spans of no time are not drawn. category: what a viewer can filter by.
  void add_span(std::string_view category, std::string_view name, std::uint32_t lane, StreamId stream,
                SimTime start, SimTime end, const std::string& arguments = "") {
    if (end <= start) return;
    fmt::format_to(next(), R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{}{}}})",
                   category, name, lane, stream, microseconds(start), microseconds(end - start),
                   arguments.empty() ? "" : R"(,"args":{)" + arguments + "}");
  }
  // An arrow from where the last rank arrives to where another one has waited for it. Its ends are in the
  // spans that begin there.
  void add_arrow(std::size_t id, const TracedOp& from, const TracedOp& to) {
    for (const TracedOp* end : {&from, &to}) {
      fmt::format_to(
          next(),
          R"({{"ph":"{}","cat":"arrival","name":"last rank arrives","id":{},"pid":{},"tid":{},"ts":{}}})",
          end == &from ? "s" : R"(f","bp":"e)", id, end->rank, end->stream,
          microseconds(end->transfer_start));
    }
  }
  std::string& text() { return text_; }

 private:
  std::back_insert_iterator<std::string> next() {
    text_ += text_.empty() ? "\n" : ",\n";
    return std::back_inserter(text_);
  }
  std::string text_;
};

std::string lane_name(const TracedLane& lane, bool has_stages) {
  const std::string gpus =
      lane.n_gpus == 1 ? fmt::format("GPU {}", lane.first_gpu)
                       : fmt::format("GPUs {} to {}", lane.first_gpu, lane.first_gpu + lane.n_gpus - 1);
  return fmt::format("rank {}{}: {}", lane.rank, has_stages ? fmt::format(", stage {}", lane.stage) : "",
                     gpus);
}

// Of a communication stream, what it carries.
std::string stream_name(StreamKind kind, const std::set<Cause>& causes) {
  if (kind == StreamKind::compute) return "compute";
  std::string name;
  for (const Cause cause : causes) name += (name.empty() ? "" : ", ") + std::string(cause_name(cause));
  return "exchange: " + name;
}

struct Stream {
  std::uint32_t lane = 0;
  StreamKind kind = StreamKind::compute;
  std::set<Cause> causes;
};

void add_names(Events& events, const TracedStep& step, std::uint32_t n_lanes) {
  const bool has_stages = !step.lanes.empty() && step.lanes.back().stage > 0;
  for (std::uint32_t lane = 0; lane < n_lanes; ++lane) {
    events.add_name("process_name", lane, 0, lane_name(step.lanes[lane], has_stages));
    events.add_order("process", lane, 0);
  }
  std::map<StreamId, Stream> streams;
  for (const TracedOp& op : step.ops) {
    if (op.rank >= n_lanes) continue;
    Stream& stream = streams[op.stream];
    stream.lane = op.rank;
    stream.kind = op.stream_kind;
    stream.causes.insert(op.cause);
  }
  for (const auto& [id, stream] : streams) {
    events.add_name("thread_name", stream.lane, id, stream_name(stream.kind, stream.causes));
    events.add_order("thread", stream.lane, id);
  }
}

std::string_view category(const TracedOp& op) {
  return op.stream_kind == StreamKind::compute ? "compute" : "exchange";
}

// From the rank that a collective waits for to every rank that waits.
void add_arrows(Events& events, const TracedStep& step, std::uint32_t n_lanes) {
  std::map<decltype(TracedOp::collective), std::vector<const TracedOp*>> by_collective;
  for (const TracedOp& op : step.ops) {
    if (op.rank < n_lanes && op.collective != Op::kLocal && op.end > op.transfer_start)
      by_collective[op.collective].push_back(&op);
  }
  std::size_t n_arrows = 0;
  for (const auto& [collective, ops] : by_collective) {
    const TracedOp& last = **std::ranges::max_element(ops, {}, [](const TracedOp* op) { return op->start; });
    for (const TracedOp* op : ops)
      if (op->start < last.start) events.add_arrow(n_arrows++, last, *op);
  }
}

}  // namespace

std::string to_chrome_trace(const TracedStep& step, const std::string& title, int n_ranks) {
  std::uint32_t n_lanes = 0;
  for (const TracedLane& lane : step.lanes) n_lanes += lane.rank < n_ranks ? 1 : 0;
  Events events;
  add_names(events, step, n_lanes);
  for (const TracedPass& pass : step.passes) {
    if (pass.lane >= n_lanes) continue;
    events.add_span(
        "pass",
        fmt::format("{} of micro-batch {}", pass.is_forward ? "forward" : "backward", pass.micro_batch),
        pass.lane, pass.stream, pass.start, pass.end,
        fmt::format(R"("micro_batch":{},"chunk":{})", pass.micro_batch, pass.chunk));
  }
  for (const TracedOp& op : step.ops) {
    if (op.rank >= n_lanes) continue;
    const std::string cause(cause_name(op.cause));
    if (op.collective == Op::kLocal) {
      events.add_span(category(op), cause, op.rank, op.stream, op.start, op.end);
      continue;
    }
    const std::string collective = fmt::format(R"("collective":{})", op.collective);
    events.add_span("wait", "wait for " + cause, op.rank, op.stream, op.start, op.transfer_start, collective);
    events.add_span("exchange", cause, op.rank, op.stream, op.transfer_start, op.end, collective);
  }
  add_arrows(events, step, n_lanes);
  return fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"title":{}}},"traceEvents":[{})",
                     nlohmann::json(title).dump(), events.text()) +
         "\n]}\n";
}

}  // namespace packsim
