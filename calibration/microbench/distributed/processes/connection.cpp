#include "calibration/microbench/distributed/processes/connection.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace packsim::microbench {
namespace {

// A frame is a host name, an NCCL id or a number: anything near this is not ours.
constexpr std::uint32_t kMostFrameBytes = 1U << 24;
constexpr std::size_t kHeaderBytes = 5;  // length, kind

std::string system_text(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// A host that loses power or its cable sends no end: these probes notice it after some 15 s.
void set_options(int descriptor) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

// How the other end went, for a person.
std::string end_text() {
  return errno == ECONNRESET || errno == EPIPE ? "ended" : std::strerror(errno);
}

bool wait_for(int descriptor, short events, Clock::time_point deadline) {
  while (true) {
    pollfd entry{descriptor, events, 0};
    const int ready = ::poll(&entry, 1, milliseconds_to(deadline));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int milliseconds_to(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3600 * 1000));
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

Socket listen_on(std::uint16_t port, bool only_this_host, std::string& why) {
  // One socket for IPv6 and IPv4; IPv4 alone where the system has no IPv6.
  for (const int family : {only_this_host ? AF_INET : AF_INET6, AF_INET}) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
      why = system_text("socket");
      continue;
    }
    const int yes = 1;
    const int no = 0;
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_storage storage{};
    socklen_t length = sizeof(sockaddr_in);
    if (family == AF_INET6) {
      ::setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
      auto& address = reinterpret_cast<sockaddr_in6&>(storage);
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(port);
      address.sin6_addr = in6addr_any;
      length = sizeof address;
    } else {
      auto& address = reinterpret_cast<sockaddr_in&>(storage);
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(only_this_host ? INADDR_LOOPBACK : INADDR_ANY);
    }
    if (::bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&storage), length) == 0 &&
        ::listen(socket.descriptor(), 1024) == 0)
      return socket;
    const bool in_use = errno == EADDRINUSE;
    why = system_text("listen");
    if (in_use) break;
  }
  return {};
}

std::uint16_t port_of(const Socket& listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(storage).sin_port);
}

Socket accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) set_options(socket.descriptor());
  return socket;
}

Socket connect_to(const std::string& host, std::uint16_t port, Clock::time_point deadline, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      error != 0) {
    why = "look up " + host + ": " + ::gai_strerror(error);
    return {};
  }
  Socket result;
  for (const addrinfo* address = found; address != nullptr && !result; address = address->ai_next) {
    Socket socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
      why = system_text("socket");
      continue;
    }
    int error = 0;
    if (::connect(socket.descriptor(), address->ai_addr, address->ai_addrlen) != 0) {
      error = errno;
      if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        socklen_t length = sizeof error;
        if (wait_for(socket.descriptor(), POLLOUT, deadline))
          ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
      }
    }
    if (error == 0) {
      result = std::move(socket);
    } else {
      why = std::string("connect: ") + std::strerror(error);
    }
  }
  ::freeaddrinfo(found);
  if (result) set_options(result.descriptor());
  return result;
}

bool Connection::send(const Frame& frame, Clock::time_point deadline, std::string& why) {
  std::string bytes(kHeaderBytes, '\0');
  const auto length = static_cast<std::uint32_t>(frame.payload.size());
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes[4] = frame.kind;
  bytes += frame.payload;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n =
        ::send(descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(descriptor(), POLLOUT, deadline)) {
        why = "takes no messages";
        return false;
      }
    } else if (errno != EINTR) {
      why = end_text();
      return false;
    }
  }
  return true;
}

bool Connection::receive(std::string& why) {
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t n = ::recv(descriptor(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n > 0) {
      inbox_.append(chunk.data(), static_cast<std::size_t>(n));
      std::uint32_t length = 0;
      if (inbox_.size() >= kHeaderBytes) std::memcpy(&length, inbox_.data(), sizeof length);
      if (length > kMostFrameBytes || inbox_.size() > 4 * std::size_t{kMostFrameBytes}) {
        why = "talks something else";
        return false;
      }
    } else if (n == 0) {
      why = "ended";
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    } else if (errno != EINTR) {
      why = end_text();
      return false;
    }
  }
}

std::optional<Frame> Connection::next() {
  std::uint32_t length = 0;
  if (inbox_.size() < kHeaderBytes) return std::nullopt;
  std::memcpy(&length, inbox_.data(), sizeof length);
  if (length > kMostFrameBytes || inbox_.size() < kHeaderBytes + length) return std::nullopt;
  Frame frame{inbox_[4], inbox_.substr(kHeaderBytes, length)};
  inbox_.erase(0, kHeaderBytes + length);
  return frame;
}

std::optional<Frame> Connection::wait(Clock::time_point deadline, std::string& why) {
  while (true) {
    if (std::optional<Frame> frame = next()) return frame;
    if (!wait_for(descriptor(), POLLIN, deadline)) {
      why = "no answer in time";
      return std::nullopt;
    }
    if (!receive(why)) return next();
  }
}

}  // namespace packsim::microbench
