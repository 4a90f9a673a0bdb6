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
#include <memory>
#include <utility>

namespace packsim::microbench {
namespace {

// A frame is a host name, an NCCL id or a number: anything near this is not ours.
constexpr std::uint32_t kMostFrameBytes = 1U << 24;
constexpr std::size_t kHeaderBytes = 5;  // length, kind

// A host that loses power or its cable sends no end: these probes notice it after some 15 s.
FileDescriptor with_options(FileDescriptor socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket.get(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
  return socket;
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

// A socket for the first address of a host with which `use` succeeds; it says so by true, else by errno.
template <typename Use>
FileDescriptor open_socket(const std::string& host, std::uint16_t port, std::string& why, const Use& use) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    why = "look up " + host + ": " + ::gai_strerror(error);
    return FileDescriptor(-1);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    FileDescriptor socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.is_open() && use(socket.get(), *address)) return socket;
    why = std::strerror(errno);
  }
  return FileDescriptor(-1);
}

}  // namespace

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int milliseconds_to(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3600 * 1000));
}

FileDescriptor listen_on(std::uint16_t port, bool only_this_host, std::string& why) {
  const auto listen = [](int socket, const addrinfo& address) {
    const int yes = 1;
    const int no = 0;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address.ai_family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    return ::bind(socket, address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket, 1024) == 0;
  };
  if (only_this_host) return open_socket("127.0.0.1", port, why, listen);
  // One socket for IPv6 and IPv4; IPv4 alone where the system has no IPv6.
  FileDescriptor both = open_socket("::", port, why, listen);
  return both.is_open() ? std::move(both) : open_socket("0.0.0.0", port, why, listen);
}

FileDescriptor accept_from(const FileDescriptor& listener) {
  return with_options(
      FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
}

FileDescriptor connect_to(const std::string& host, std::uint16_t port, Clock::time_point deadline,
                          std::string& why) {
  return with_options(open_socket(host, port, why, [&](int socket, const addrinfo& address) {
    if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (wait_for(socket, POLLOUT, deadline)) ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    return error == 0;
  }));
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
