#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "calibration/microbench/distributed/processes/connection.hpp"
#include "calibration/microbench/distributed/processes/processes.hpp"
#include "free_port.hpp"

using packsim::FileDescriptor;
using namespace packsim::microbench;
using Catch::Matchers::Contains;

namespace {

// Longer than anything takes on a busy machine; only what fails waits for so long.
constexpr double kPatience_s = 60;

Launch launch_of(int rank, int n_ranks, std::uint16_t port, const std::string& job = "7") {
  return {
      .launcher = "test", .rank = rank, .n_ranks = n_ranks, .job = job, .host = "127.0.0.1", .port = port};
}

/// A value, at first 0, that processes started from now on see each other change.
template <typename T>
class SeenByAll {
 public:
  SeenByAll()
      : value_(static_cast<std::atomic<T>*>(::mmap(nullptr, sizeof(std::atomic<T>), PROT_READ | PROT_WRITE,
                                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(value_ != MAP_FAILED);
  }
  ~SeenByAll() { ::munmap(value_, sizeof(std::atomic<T>)); }
  SeenByAll(const SeenByAll&) = delete;
  SeenByAll& operator=(const SeenByAll&) = delete;
  std::atomic<T>& operator*() const { return *value_; }

 private:
  std::atomic<T>* value_;
};

/// A process of its own for every rank. What a rank returns, or the error that it ends with; "killed" where
/// it did neither within two minutes.
class Ranks {
 public:
  template <typename Work>
  void start(int n_ranks, const Work& work) {
    for (int rank = 0; rank < n_ranks; ++rank) {
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::close(ends[0]);
        ::alarm(static_cast<unsigned>(2 * kPatience_s));
        std::string result;
        try {
          result = work(rank);
        } catch (const std::exception& error) {
          result = std::string("error: ") + error.what();
        }
        const ssize_t written = ::write(ends[1], result.data(), result.size());
        ::_exit(written < 0);
      }
      ::close(ends[1]);
      children_.push_back({child, ends[0]});
    }
  }

  std::vector<std::string> results() {
    std::vector<std::string> results;
    for (const auto& [child, end] : children_) {
      std::string text;
      char chunk[512];
      for (ssize_t n = 0; (n = ::read(end, chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<std::size_t>(n));
      ::close(end);
      int status = 0;
      ::waitpid(child, &status, 0);
      results.push_back(WIFSIGNALED(status) && text.empty() ? "killed" : text);
    }
    children_.clear();
    return results;
  }

 private:
  std::vector<std::pair<pid_t, int>> children_;
};

template <typename Work>
std::vector<std::string> run_ranks(int n_ranks, const Work& work) {
  Ranks ranks;
  ranks.start(n_ranks, work);
  return ranks.results();
}

// The same with a channel; a rank that throws tells the others as main does.
template <typename Work>
std::vector<std::string> run_connected(int n_ranks, const Work& work, ChannelOptions options = {}) {
  const std::uint16_t port = free_port();
  options.meeting_s = kPatience_s;
  return run_ranks(n_ranks, [&](int rank) {
    const auto channel = make_coordination(launch_of(rank, n_ranks, port), options);
    return work(*channel);
  });
}

}  // namespace

TEST_CASE("A run of one process needs nobody") {
  const auto channel = make_coordination(Launch{});
  CHECK(channel->n_ranks() == 1);
  CHECK(channel->largest(3) == 3);
  CHECK(channel->first_decides(true));
  CHECK(channel->gather("me") == std::vector<std::string>{"me"});
}

TEST_CASE("Processes agree: what the first says, the largest, what everybody gave") {
  const auto results = run_connected(5, [](ControlChannel& channel) {
    std::string text;
    text += channel.first_decides(channel.rank() != 0) ? 'y' : 'n';
    text += channel.first_decides(channel.rank() == 0) ? 'y' : 'n';
    text += " " + std::to_string(
                      static_cast<int>(channel.largest(channel.rank() * (channel.rank() == 3 ? -1 : 1))));
    text += " " + std::to_string(static_cast<int>(channel.largest(-5.0 - channel.rank())));
    text += std::isnan(channel.largest(channel.rank() == 1 ? std::nan("") : 1.0)) ? " nan" : " lost";
    text += std::isinf(channel.largest(channel.rank() == 2 ? std::numeric_limits<double>::infinity() : 1.0))
                ? " inf"
                : " lost";
    for (const std::string& given : channel.gather(std::string(channel.rank(), 'x') + '\0')) {
      text += " " + std::to_string(given.size());
    }
    return text;
  });
  for (const std::string& result : results) CHECK(result == "ny 4 -5 nan inf 1 2 3 4 5");
}

TEST_CASE("A thousand exchanges stay in step") {
  const auto results = run_connected(4, [](ControlChannel& channel) {
    for (int i = 0; i < 1000; ++i) {
      if (channel.largest(i + (channel.rank() == i % 4 ? 0.5 : 0)) != i + 0.5)
        return std::string("out of step");
      if (i % 7 == 0) channel.check();
    }
    return std::string("in step");
  });
  for (const std::string& result : results) CHECK(result == "in step");
}

TEST_CASE("Nobody leaves a barrier before the last has come") {
  const SeenByAll<int> has_come;
  const auto results = run_connected(3, [&](ControlChannel& channel) {
    channel.barrier();
    if (channel.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      *has_come = 1;
    }
    channel.barrier();
    return std::string(*has_come == 1 ? "waited" : "left");
  });
  for (const std::string& result : results) CHECK(result == "waited");
}

TEST_CASE("A process that dies is named on all others at once") {
  const int dead = GENERATE(0, 2);
  const auto start = Clock::now();
  const auto results = run_connected(4, [&](ControlChannel& channel) {
    channel.barrier();
    if (channel.rank() == dead) ::_exit(0);
    channel.barrier();
    return std::string("went on");
  });
  // Nothing but the death would end the wait for an answer before its half hour.
  CHECK(Clock::now() - start < std::chrono::seconds(60));
  for (int rank = 0; rank < 4; ++rank) {
    if (rank != dead)
      CHECK_THAT(results[static_cast<std::size_t>(rank)],
                 Contains("error: process " + std::to_string(dead) + " on ") && Contains("ended"));
  }
}

TEST_CASE("A loop that waits for a GPU hears of a death by check()") {
  const auto results = run_connected(3, [](ControlChannel& channel) {
    channel.barrier();
    if (channel.rank() == 1) ::_exit(0);
    while (true) {
      channel.check();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::string();
  });
  CHECK_THAT(results[0], Contains("process 1 on"));
  CHECK_THAT(results[2], Contains("process 1 on"));
}

TEST_CASE("The reason for which a process gives up reaches all, and stays") {
  const int failing = GENERATE(0, 1);
  const auto results = run_connected(3, [&](ControlChannel& channel) {
    channel.barrier();
    if (channel.rank() == failing) {
      channel.give_up("the GPU fell off the bus");
      return std::string("gave up");
    }
    for (int i = 0; i < 2; ++i) {
      try {
        channel.barrier();
      } catch (const std::runtime_error&) {
      }
    }
    channel.barrier();
    return std::string("went on");
  });
  for (int rank = 0; rank < 3; ++rank) {
    const std::string& result = results[static_cast<std::size_t>(rank)];
    if (rank == failing) {
      CHECK(result == "gave up");
    } else {
      CHECK_THAT(result, Contains("error: process " + std::to_string(failing) + " on ") &&
                             Contains("the GPU fell off the bus"));
    }
  }
}

TEST_CASE("A process that says nothing for too long ends the wait") {
  const SeenByAll<int> n_told;
  const auto say_nothing = [&](ControlChannel& channel) {
    channel.barrier();
    while (channel.rank() == 1 && *n_told < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      channel.barrier();
    } catch (const std::runtime_error&) {
      ++*n_told;
      throw;
    }
    return std::string("went on");
  };
  const auto results = run_connected(3, say_nothing, {.answer_s = 2});
  CHECK_THAT(results[0], Contains("process 1 on") && Contains("no answer within"));
  CHECK(results[2] == results[0]);
}

TEST_CASE("Processes at different exchanges are told apart") {
  const auto results = run_connected(2, [](ControlChannel& channel) {
    if (channel.rank() == 0) {
      channel.barrier();
    } else {
      channel.largest(1);
    }
    return std::string("went on");
  });
  CHECK_THAT(results[0], Contains("is at exchange L, expected B"));
  CHECK_THAT(results[1], Contains("error"));
}

TEST_CASE("A process that never comes is named") {
  const std::uint16_t port = free_port();
  const auto results = run_ranks(3, [&](int rank) {
    if (rank == 1) return std::string("elsewhere");
    make_coordination(launch_of(rank, 4, port), {.meeting_s = 2});
    return std::string("met");
  });
  CHECK_THAT(results[0], Contains("expected 4 processes") && Contains("got 2; missing: 1, 3"));
  CHECK_THAT(results[2], Contains("missing: 1, 3"));
}

TEST_CASE("Without process 0 the others say where they looked") {
  const std::uint16_t port = free_port();
  const auto results = run_ranks(2, [&](int rank) {
    if (rank == 0) return std::string("elsewhere");
    make_coordination(launch_of(rank, 2, port), {.meeting_s = 1});
    return std::string("met");
  });
  CHECK_THAT(results[1],
             Contains("expected process 0 at 127.0.0.1:" + std::to_string(port)) && Contains("refused"));
}

TEST_CASE("A stranger is turned away and the run goes on") {
  const std::uint16_t port = free_port();
  Ranks ranks;
  ranks.start(1, [&](int) {
    const auto channel = make_coordination(launch_of(0, 2, port), {.meeting_s = kPatience_s});
    channel->barrier();
    return std::string("met");
  });
  std::string why;
  const auto knock = [&] {
    FileDescriptor door(-1);
    for (const auto end = after(kPatience_s); !door.is_open() && Clock::now() < end;) {
      door = connect_to("127.0.0.1", port, end, why);
      if (!door.is_open()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return door;
  };
  const FileDescriptor silent = knock();
  REQUIRE(silent.is_open());
  const FileDescriptor loud = knock();
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  REQUIRE(::send(loud.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);
  Connection forger(knock());
  REQUIRE(forger.send({'h', std::string(40, '\1')}, after(1), why));
  CHECK_FALSE(forger.wait(after(kPatience_s), why));
  CHECK(why != "no answer in time");
  ranks.start(1, [&](int) {
    const auto channel = make_coordination(launch_of(1, 2, port), {.meeting_s = kPatience_s});
    channel->barrier();
    return std::string("met");
  });
  for (const std::string& result : ranks.results()) CHECK(result == "met");
}

TEST_CASE("Two versions, two sizes of the run and two jobs do not talk to each other, and say so") {
  const std::uint16_t port = free_port();
  const auto join = [&](const Launch& launch) {
    make_coordination(launch, {.meeting_s = kPatience_s})->barrier();
    return std::string("met");
  };
  Ranks run;
  run.start(1, [&](int) { return join(launch_of(0, 2, port, "7")); });
  Ranks others;
  others.start(1, [&](int) { return join(launch_of(1, 3, port, "7")); });
  others.start(1, [&](int) { return join(launch_of(1, 2, port, "8")); });
  others.start(1, [&](int) {
    // Another version's greeting begins as this one's does; a rank and a host follow.
    std::string why;
    const std::string text = "packsim_microbench channel 1";
    std::string hello = std::string(1, static_cast<char>(text.size())) + std::string(3, '\0') + text;
    for (int i = 0; i < 2; ++i)
      hello += std::string(
          "\1\0\0\0"
          "1",
          5);
    for (const auto end = after(kPatience_s); Clock::now() < end;) {
      Connection connection(connect_to("127.0.0.1", port, end, why));
      if (!connection.is_open() || !connection.send({'h', hello}, end, why)) continue;
      if (const auto answer = connection.wait(end, why)) return answer->payload;
    }
    return why;
  });
  const std::vector<std::string> refused = others.results();
  for (const std::string& text : refused)
    CHECK_THAT(text, Contains("start the same program everywhere, each job with its own MASTER_PORT"));
  CHECK_THAT(refused[0], Contains("2 processes of test job") && Contains("3 processes of test job"));
  CHECK_THAT(refused[1], Contains("job \"7\"") && Contains("job \"8\""));
  run.start(1, [&](int) { return join(launch_of(1, 2, port, "7")); });
  for (const std::string& text : run.results()) CHECK(text == "met");
}

TEST_CASE("A port that is taken is named, with what chooses another") {
  const std::uint16_t port = free_port();
  std::string why;
  const FileDescriptor taken = listen_on(port, true, why);
  REQUIRE(taken.is_open());
  CHECK_THROWS_WITH(make_coordination(launch_of(0, 2, port)),
                    Contains("cannot listen on port " + std::to_string(port)) &&
                        Contains("Address already in use") && Contains("MASTER_PORT"));
}
