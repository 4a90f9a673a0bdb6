#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "files/file_descriptor.hpp"

namespace packsim::microbench {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds);
/// Time left for poll(2), 0 when it is over.
int milliseconds_to(Clock::time_point deadline);

/// Listens on a TCP port, 0: any free one. Not open, with the system's words in `why`, where that fails.
FileDescriptor listen_on(std::uint16_t port, bool only_this_host, std::string& why);
/// The next that knocks, not open where nobody does. Does not wait.
FileDescriptor accept_from(const FileDescriptor& listener);
/// Tries every address of the host. Not open, with the system's words in `why`, where none answers in time.
FileDescriptor connect_to(const std::string& host, std::uint16_t port, Clock::time_point deadline,
                          std::string& why);

/// A message on the control channel.
struct Frame {
  char kind = 0;
  std::string payload;
};

/// One end of a TCP connection that speaks frames. Nothing blocks longer than its deadline.
class Connection {
 public:
  explicit Connection(FileDescriptor socket = FileDescriptor(-1)) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  bool is_open() const { return socket_.is_open(); }
  void close() { socket_ = FileDescriptor(-1); }

  /// False, with the reason in `why`, when the other end is gone or does not read.
  bool send(const Frame& frame, Clock::time_point deadline, std::string& why);
  /// Takes in what has arrived, without waiting. False, with the reason in `why`, when the other end is gone
  /// or talks something else; frames that came before can still be read.
  bool receive(std::string& why);
  /// The next whole frame that was taken in.
  std::optional<Frame> next();
  /// Waits for the next frame.
  std::optional<Frame> wait(Clock::time_point deadline, std::string& why);

 private:
  FileDescriptor socket_;
  std::string inbox_;
};

}  // namespace packsim::microbench
