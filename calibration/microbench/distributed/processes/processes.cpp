#include "calibration/microbench/distributed/processes/processes.hpp"

#include <poll.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace packsim::microbench {
namespace {

constexpr char kData = 'd';
constexpr char kFailed = 'f';

// What an exchange is for. Ranks that are at different exchanges have a mistake in the code in common.
enum class Exchange : char { barrier = 'B', first = 'F', largest = 'L', gather = 'G' };

std::string bytes_of(double value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

double double_of(const std::string& bytes) {
  double value = 0;
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

void append_text(std::string& bytes, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
}

std::vector<std::string> texts_of(const std::string& bytes) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= bytes.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    at += sizeof length;
    texts.push_back(bytes.substr(at, length));
    at += length;
  }
  return texts;
}

std::string combine(Exchange exchange, const std::vector<std::string>& given) {
  std::string result;
  switch (exchange) {
    case Exchange::barrier:
      break;
    case Exchange::first:
      result = given.front();
      break;
    case Exchange::largest: {
      double largest = double_of(given.front());
      for (const std::string& bytes : given) {
        const double value = double_of(bytes);
        // A time that is not a number must not be lost among good ones.
        if (std::isnan(value) || value > largest) largest = value;
        if (std::isnan(largest)) break;
      }
      result = bytes_of(largest);
      break;
    }
    case Exchange::gather:
      for (const std::string& text : given) append_text(result, text);
      break;
  }
  return result;
}

// A star: everybody talks to process 0, which answers when all have spoken.
class TcpChannel : public ControlChannel {
 public:
  TcpChannel(const Launch& launch, const ChannelOptions& options)
      : rank_(launch.rank),
        n_ranks_(launch.n_ranks),
        // Process 0 sees who is late: it is to say so before the others lose their patience with it.
        answer_s_(launch.rank == 0 ? options.answer_s : 1.5 * options.answer_s) {
    if (rank_ == 0) {
      members_ = welcome_all(launch, options);
    } else {
      // To the others, process 0 is the only member.
      members_.resize(1);
      members_[0].connection = join(launch, options);
      members_[0].host = launch.first_host.empty() ? "the first host" : launch.first_host;
    }
    waiting_.resize(members_.size());
  }

  int rank() const override { return rank_; }
  int n_ranks() const override { return n_ranks_; }
  bool first_decides(bool mine) override { return exchange(Exchange::first, mine ? "1" : "0") == "1"; }
  double largest(double mine) override { return double_of(exchange(Exchange::largest, bytes_of(mine))); }
  void barrier() override { exchange(Exchange::barrier, ""); }

  std::vector<std::string> gather(std::string_view mine) override {
    return texts_of(exchange(Exchange::gather, std::string(mine)));
  }

  void check() override {
    throw_if_failed();
    for (std::size_t i = first(); i < members_.size(); ++i) take_in(i);
  }

  void give_up(std::string_view reason) noexcept override {
    if (!failure_.empty()) return;
    try {
      failure_ = name(static_cast<std::size_t>(rank_), host_name()) + ": " + std::string(reason);
      // Messages that nobody has read when a connection is closed would reset it, and the reason with it.
      for (std::size_t i = first(); i < members_.size(); ++i) {
        std::string ignored;
        if (members_[i].connection) members_[i].connection.receive(ignored);
      }
      tell_all(failure_);
    } catch (...) {
      // The others notice the end of the connection.
    }
  }

 private:
  std::size_t first() const { return rank_ == 0 ? 1 : 0; }

  static std::string name(std::size_t rank, const std::string& host) {
    return "process " + std::to_string(rank) + " on " + host;
  }

  void throw_if_failed() const {
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

  void tell_all(const std::string& failure) {
    for (std::size_t i = first(); i < members_.size(); ++i) {
      std::string ignored;
      if (members_[i].connection) members_[i].connection.send({kFailed, failure}, after(2), ignored);
    }
  }

  [[noreturn]] void fail(const std::string& failure) {
    failure_ = failure;
    if (rank_ == 0) tell_all(failure_);
    throw std::runtime_error(failure_);
  }

  [[noreturn]] void lose(std::size_t member, const std::string& why) {
    members_[member].connection.close();
    fail(name(member, members_[member].host) + " " + why);
  }

  // What a member has sent by now: at most one message of an exchange, or a failure.
  void take_in(std::size_t member) {
    std::string why;
    const bool alive = members_[member].connection.receive(why);
    while (std::optional<Frame> frame = members_[member].connection.next()) {
      if (frame->kind == kFailed) fail(frame->payload);
      if (frame->kind != kData || frame->payload.empty() || !waiting_[member].empty())
        lose(member, "talks something else");
      waiting_[member] = std::move(frame->payload);
    }
    // After the last exchange of a run process 0 may end with its answer still on the way.
    if (!alive && (rank_ == 0 || waiting_[member].empty())) lose(member, why);
  }

  void send_to(std::size_t member, const std::string& payload) {
    std::string why;
    if (members_[member].connection.send({kData, payload}, deadline_, why)) return;
    // It may have said why it went.
    take_in(member);
    lose(member, why);
  }

  std::string receive_from(std::size_t member, Exchange expected) {
    while (waiting_[member].empty()) {
      if (Clock::now() >= deadline_)
        lose(member, "gave no answer within " + std::to_string(static_cast<int>(answer_s_)) + " s");
      std::vector<pollfd> entries;
      for (std::size_t i = first(); i < members_.size(); ++i) {
        entries.push_back({members_[i].connection.descriptor(), POLLIN, 0});
      }
      ::poll(entries.data(), entries.size(), std::min(milliseconds_to(deadline_), 1000));
      for (std::size_t i = first(); i < members_.size(); ++i) take_in(i);
    }
    std::string payload = std::move(waiting_[member]);
    waiting_[member].clear();
    if (payload.front() != static_cast<char>(expected))
      lose(member,
           std::string("is at exchange ") + payload.front() + ", expected " + static_cast<char>(expected));
    return payload.substr(1);
  }

  std::string exchange(Exchange kind, const std::string& mine) {
    throw_if_failed();
    deadline_ = after(answer_s_);
    const std::string tag(1, static_cast<char>(kind));
    if (rank_ != 0) {
      send_to(0, tag + mine);
      return receive_from(0, kind);
    }
    std::vector<std::string> given = {mine};
    for (std::size_t i = 1; i < members_.size(); ++i) given.push_back(receive_from(i, kind));
    const std::string result = combine(kind, given);
    for (std::size_t i = 1; i < members_.size(); ++i) send_to(i, tag + result);
    return result;
  }

  int rank_;
  int n_ranks_;
  double answer_s_;
  std::vector<Member> members_;       // of process 0: all by rank; of the others: process 0
  std::vector<std::string> waiting_;  // by member: arrived, not yet used
  std::string failure_;
  Clock::time_point deadline_;
};

}  // namespace

std::unique_ptr<ControlChannel> make_coordination(const Launch& launch, const ChannelOptions& options) {
  if (launch.n_ranks <= 1) return std::make_unique<ControlChannel>();
  return std::make_unique<TcpChannel>(launch, options);
}

}  // namespace packsim::microbench
