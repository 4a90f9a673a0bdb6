#include "calibration/microbench/distributed/processes/processes.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "calibration/microbench/distributed/processes/connection.hpp"

namespace packsim::microbench {
namespace {

// Frames. A hello goes to process 0, which answers when all are here.
constexpr char kHello = 'h';
constexpr char kAllHere = 'a';
constexpr char kData = 'd';
constexpr char kFailedKind = 'f';

// A stranger that connects and says nothing is dropped after this.
constexpr double kGreeting_s = 2;

// A process of the run, as process 0 sees it.
struct Member {
  Connection connection;
  std::string host;
};

// What all processes of a run say alike. A change of the frames is another number here.
std::string greeting(const Launch& launch) {
  return "packsim_microbench channel 2, " + std::to_string(launch.n_ranks) + " processes of " +
         launch.launcher + " job \"" + launch.job + "\"";
}

std::string with_length(const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
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

std::string process_name(std::size_t rank, const std::string& host) {
  return "process " + std::to_string(rank) + " on " + host;
}

std::string seconds_text(double seconds) {
  return std::to_string(static_cast<int>(seconds)) + " s";
}

// A star: everybody talks to process 0, which answers when all have spoken.
class TcpChannel : public ControlChannel {
 public:
  TcpChannel(const Launch& launch, const ChannelOptions& options)
      : launch_(launch),
        // Process 0 sees who is late: it is to say so before the others lose their patience with it.
        answer_s_(launch.rank == 0 ? options.answer_s : 1.5 * options.answer_s),
        // Process 0 is the only member for the others.
        members_(launch.rank == 0 ? launch.n_ranks : 1),
        waiting_(members_.size()) {
    if (launch.rank == 0) {
      welcome_all(options);
    } else {
      members_[0] = {join(options), launch.host};
    }
  }

  int rank() const override { return launch_.rank; }
  int n_ranks() const override { return launch_.n_ranks; }

  void check() override {
    throw_if_failed();
    for (std::size_t i = first(); i < members_.size(); ++i) take_in(i);
  }

  void give_up(std::string_view reason) noexcept override {
    if (!failure_.empty()) return;
    try {
      failure_ = process_name(static_cast<std::size_t>(rank()), host_name()) + ": " + std::string(reason);
      // Messages that nobody has read when a connection is closed would reset it, and the reason with it.
      for (std::size_t i = first(); i < members_.size(); ++i) {
        std::string ignored;
        if (members_[i].connection.is_open()) members_[i].connection.receive(ignored);
      }
      tell_all({kFailedKind, failure_});
    } catch (...) {
      // The others notice the end of the connection.
    }
  }

 private:
  std::size_t first() const { return rank() == 0 ? 1 : 0; }

  void throw_if_failed() const {
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

  void tell_all(const Frame& frame) {
    for (std::size_t i = first(); i < members_.size(); ++i) {
      std::string ignored;
      if (members_[i].connection.is_open()) members_[i].connection.send(frame, after(2), ignored);
    }
  }

  [[noreturn]] void fail(const std::string& failure) {
    failure_ = failure;
    if (rank() == 0) tell_all({kFailedKind, failure_});
    throw std::runtime_error(failure_);
  }

  [[noreturn]] void lose(std::size_t member, const std::string& why) {
    members_[member].connection.close();
    fail(process_name(member, members_[member].host) + " " + why);
  }

  // Process 0: waits for all others.
  void welcome_all(const ChannelOptions& options) {
    const bool only_this_host = launch_.host == "127.0.0.1" || launch_.host == "localhost";
    std::string why;
    const FileDescriptor listener = listen_on(launch_.port, only_this_host, why);
    if (!listener.is_open())
      throw std::runtime_error(host_name() + ": cannot listen on port " + std::to_string(launch_.port) +
                               ": " + why + " (MASTER_PORT chooses another)");
    const Clock::time_point deadline = after(options.meeting_s);
    while (const int n_missing = static_cast<int>(missing().size())) {
      if (Clock::now() >= deadline)
        fail("expected " + std::to_string(n_ranks()) + " processes within " +
             seconds_text(options.meeting_s) + ", got " + std::to_string(n_ranks() - n_missing) +
             "; missing: " + missing_text());
      pollfd entry{listener.get(), POLLIN, 0};
      ::poll(&entry, 1, std::min(milliseconds_to(deadline), 200));
      if (Connection guest(accept_from(listener)); guest.is_open()) greet(std::move(guest));
    }
    tell_all({kAllHere, ""});
  }

  // Turns a greeting into a place at the table, or an answer that says why not.
  void greet(Connection guest) {
    std::string why;
    const std::optional<Frame> hello = guest.wait(after(kGreeting_s), why);
    if (!hello || hello->kind != kHello) return;
    const std::vector<std::string> said = texts_of(hello->payload);  // greeting, rank, host
    if (said.size() != 3 || !said[0].starts_with("packsim_microbench ")) return;
    const auto refuse = [&](const std::string& reason) { guest.send({kFailedKind, reason}, after(1), why); };
    if (said[0] != greeting(launch_))
      return refuse("process 0 is of " + greeting(launch_) + "; this one of " + said[0] +
                    ": start the same program everywhere, each job with its own MASTER_PORT");
    const auto rank = static_cast<std::size_t>(std::atoi(said[1].c_str()));
    if (rank == 0 || rank >= members_.size() || members_[rank].connection.is_open())
      return refuse("process " + said[1] + " has come already");
    members_[rank] = {std::move(guest), said[2]};
  }

  std::vector<std::size_t> missing() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      if (!members_[rank].connection.is_open()) ranks.push_back(rank);
    }
    return ranks;
  }

  std::string missing_text() const {
    const std::vector<std::size_t> ranks = missing();
    std::string text;
    for (std::size_t i = 0; i < ranks.size() && i < 8; ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    return ranks.size() > 8 ? text + " and " + std::to_string(ranks.size() - 8) + " more" : text;
  }

  // Any other process: connects to process 0 and returns when all have come.
  Connection join(const ChannelOptions& options) const {
    const Clock::time_point deadline = after(options.meeting_s);
    const std::string hello =
        with_length(greeting(launch_)) + with_length(std::to_string(rank())) + with_length(host_name());
    std::string why;
    while (Clock::now() < deadline) {
      Connection connection(connect_to(launch_.host, launch_.port, std::min(after(3), deadline), why));
      if (connection.is_open() && connection.send({kHello, hello}, after(3), why)) {
        // A little longer than process 0 waits, so that it is the one to say who is missing.
        const std::optional<Frame> answer = connection.wait(after(options.meeting_s + 2), why);
        if (answer && answer->kind == kAllHere) return connection;
        if (answer && answer->kind == kFailedKind) throw std::runtime_error(answer->payload);
        if (answer) why = "something else listens there";
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    throw std::runtime_error(process_name(static_cast<std::size_t>(rank()), host_name()) +
                             ": expected process 0 at " + launch_.host + ":" + std::to_string(launch_.port) +
                             " within " + seconds_text(options.meeting_s) + ", got: " + why);
  }

  // What a member has sent by now: at most one message of an exchange, or a failure.
  void take_in(std::size_t member) {
    std::string why;
    const bool alive = members_[member].connection.receive(why);
    while (std::optional<Frame> frame = members_[member].connection.next()) {
      if (frame->kind == kFailedKind) fail(frame->payload);
      if (frame->kind != kData || frame->payload.empty() || !waiting_[member].empty())
        lose(member, "talks something else");
      waiting_[member] = std::move(frame->payload);
    }
    // Process 0 may end after the last exchange of a run, with its answer still on the way.
    if (!alive && (rank() == 0 || waiting_[member].empty())) lose(member, why);
  }

  void send_to(std::size_t member, const std::string& payload) {
    std::string why;
    if (members_[member].connection.send({kData, payload}, deadline_, why)) return;
    // It may have said why it went.
    take_in(member);
    lose(member, why);
  }

  std::string receive_from(std::size_t member, char expected) {
    while (waiting_[member].empty()) {
      if (Clock::now() >= deadline_) lose(member, "gave no answer within " + seconds_text(answer_s_));
      std::vector<pollfd> entries;
      for (std::size_t i = first(); i < members_.size(); ++i) {
        entries.push_back({members_[i].connection.descriptor(), POLLIN, 0});
      }
      ::poll(entries.data(), entries.size(), std::min(milliseconds_to(deadline_), 1000));
      for (std::size_t i = first(); i < members_.size(); ++i) take_in(i);
    }
    const std::string payload = std::exchange(waiting_[member], "");
    if (payload.front() != expected)
      lose(member, std::string("is at exchange ") + payload.front() + ", expected " + expected);
    return payload.substr(1);
  }

  std::vector<std::string> exchange(char kind, std::string_view mine) override {
    throw_if_failed();
    deadline_ = after(answer_s_);
    const std::string tag(1, kind);
    if (rank() != 0) {
      send_to(0, tag + std::string(mine));
      return texts_of(receive_from(0, kind));
    }
    std::string all = with_length(std::string(mine));
    for (std::size_t i = 1; i < members_.size(); ++i) all += with_length(receive_from(i, kind));
    for (std::size_t i = 1; i < members_.size(); ++i) send_to(i, tag + all);
    return texts_of(all);
  }

  Launch launch_;
  double answer_s_;
  std::vector<Member> members_;       // of process 0: all by rank; of the others: process 0
  std::vector<std::string> waiting_;  // by member: arrived, not yet used
  std::string failure_;
  Clock::time_point deadline_;
};

}  // namespace

double ControlChannel::largest(double mine) {
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  double largest = mine;
  for (const std::string& given : exchange('L', bytes)) {
    double value = 0;
    std::memcpy(&value, given.data(), std::min(sizeof value, given.size()));
    // A time that is not a number must not be lost among good ones.
    if (std::isnan(value) || value > largest) largest = value;
    if (std::isnan(largest)) break;
  }
  return largest;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::unique_ptr<ControlChannel> make_coordination(const Launch& launch, const ChannelOptions& options) {
  if (launch.n_ranks <= 1) return std::make_unique<ControlChannel>();
  return std::make_unique<TcpChannel>(launch, options);
}

}  // namespace packsim::microbench
