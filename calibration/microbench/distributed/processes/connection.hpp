#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace packsim::microbench {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds);
/// Time left for poll(2), 0 when it is over.
int milliseconds_to(Clock::time_point deadline);

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Listens on a TCP port, 0: any free one. Empty, with the system's words in `why`, where that fails.
Socket listen_on(std::uint16_t port, bool only_this_host, std::string& why);
std::uint16_t port_of(const Socket& listener);
/// The next that knocks, empty where nobody does. Does not wait.
Socket accept_from(const Socket& listener);
/// Tries every address of the host. Empty, with the system's words in `why`, where none answers in time.
Socket connect_to(const std::string& host, std::uint16_t port, Clock::time_point deadline, std::string& why);

/// A message on the control channel.
struct Frame {
  char kind = 0;
  std::string payload;
};

/// One end of a TCP connection that speaks frames. Nothing blocks longer than its deadline.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Socket socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.descriptor(); }
  explicit operator bool() const { return static_cast<bool>(socket_); }
  void close() { socket_ = Socket(); }

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
  Socket socket_;
  std::string inbox_;
};

}  // namespace packsim::microbench
