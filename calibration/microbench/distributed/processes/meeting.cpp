#include "calibration/microbench/distributed/processes/meeting.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "files/write_file.hpp"

namespace packsim::microbench {
namespace {

// A stranger that connects and says nothing is dropped after this.
constexpr double kGreeting_s = 5;
// Strangers that are listened to at the same time: an open port must not use up the descriptors.
constexpr std::size_t kMostGuests = 256;
// Frames of the meeting. The first goes to process 0, the others come from it.
constexpr char kHello = 'h';
constexpr char kWelcome = 'w';
constexpr char kRefused = 'r';    // the run cannot work
constexpr char kElsewhere = 'e';  // another job's process 0
constexpr char kAllHere = 'a';

// The first bytes of every greeting; the byte order of the number must agree as well.
constexpr std::uint64_t kMagic = 0x7061636b73696d21;

struct Hello {
  std::uint64_t magic = kMagic;
  std::uint32_t version = 0;
  std::uint32_t n_ranks = 0;
  std::uint32_t rank = 0;
  std::uint32_t padding = 0;
  std::uint64_t job = 0;
};

std::uint64_t job_hash(const Launch& launch, const std::string& nonce) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : launch.launcher + "/" + launch.job + "/" + nonce)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::string greeting(const Launch& launch, const ChannelOptions& options, const std::string& nonce) {
  const Hello hello{.version = options.version,
                    .n_ranks = static_cast<std::uint32_t>(launch.n_ranks),
                    .rank = static_cast<std::uint32_t>(launch.rank),
                    .job = job_hash(launch, nonce)};
  std::string bytes(sizeof hello, '\0');
  std::memcpy(bytes.data(), &hello, sizeof hello);
  return bytes + host_name();
}

// Where process 0 listens, as the meeting file tells it.
struct MeetingPlace {
  std::string nonce;
  std::string host;
  std::uint16_t port = 0;
};

std::optional<MeetingPlace> read_meeting_file(const std::string& path) {
  std::ifstream file(path);
  std::string title;
  MeetingPlace place;
  if (std::getline(file, title) && title == "packsim_microbench meeting" &&
      file >> place.nonce >> place.host >> place.port)
    return place;
  return std::nullopt;
}

// Others never see half a file.
void write_meeting_file(const std::string& path, const MeetingPlace& place) {
  write_file(path,
             "packsim_microbench meeting\n" + place.nonce + ' ' + place.host + ' ' +
                 std::to_string(place.port) + '\n',
             MissingFolder::refuse);
}

class MeetingFile {
 public:
  MeetingFile() = default;
  explicit MeetingFile(std::string path) : path_(std::move(path)) {}
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;
  ~MeetingFile() {
    if (!path_.empty()) std::remove(path_.c_str());
  }

 private:
  std::string path_;
};

[[noreturn]] void no_meeting_place() {
  throw std::invalid_argument(
      "environment: expected where process 0 runs, from MASTER_ADDR, a Slurm node list, --first-host HOST or "
      "an output file in a shared folder, got none");
}

// The others of one host's run reach each other through the loopback device alone.
bool only_this_host(const Launch& launch) {
  return launch.first_host == "127.0.0.1" || launch.first_host == "localhost";
}

std::string ports_text(const Launch& launch) {
  std::string text;
  if (launch.ports.empty()) return "?";
  text = std::to_string(launch.ports.front());
  return launch.ports.size() == 1 ? text : text + "-" + std::to_string(launch.ports.back());
}

struct Guest {
  Connection connection;
  Clock::time_point leaves;
};

// Turns a greeting into a place at the table, or an answer that says why not.
class Host {
 public:
  Host(const Launch& launch, const ChannelOptions& options, const std::string& nonce)
      : launch_(launch), options_(options), job_(job_hash(launch, nonce)), members_(launch.n_ranks) {
    members_[0].host = host_name();
  }

  void greet(Connection connection, const Frame& frame) {
    Hello hello{.magic = 0};
    if (frame.kind != kHello || frame.payload.size() < sizeof hello) return;
    std::memcpy(&hello, frame.payload.data(), sizeof hello);
    if (hello.magic != kMagic) return;
    const auto refuse = [&](char kind, const std::string& reason) {
      std::string ignored;
      connection.send({kind, reason}, after(1), ignored);
    };
    if (hello.job != job_) return refuse(kElsewhere, "another job listens there");
    if (hello.version != options_.version) {
      return refuse(kRefused, "process 0 speaks version " + std::to_string(options_.version) +
                                  " of the control channel, this one version " +
                                  std::to_string(hello.version) + ": start the same program everywhere");
    }
    if (hello.n_ranks != static_cast<std::uint32_t>(launch_.n_ranks)) {
      return refuse(kRefused, "process 0 expects " + std::to_string(launch_.n_ranks) +
                                  " processes, this one " + std::to_string(hello.n_ranks));
    }
    if (hello.rank == 0 || hello.rank >= hello.n_ranks || members_[hello.rank].connection) {
      return refuse(kElsewhere, "process " + std::to_string(hello.rank) + " has come already");
    }
    std::string why;
    if (!connection.send({kWelcome, ""}, after(1), why)) return;
    members_[hello.rank] = {std::move(connection), frame.payload.substr(sizeof hello)};
  }

  // A member that ended while the others were on their way.
  void check_members() {
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      std::string why;
      if (members_[rank].connection && !members_[rank].connection.receive(why)) {
        const std::string text = "process " + std::to_string(rank) + " on " + members_[rank].host + " " +
                                 why + " before all had come";
        tell_all({kRefused, text});
        throw std::runtime_error(text);
      }
    }
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = 1; rank < launch_.n_ranks; ++rank) {
      if (!members_[static_cast<std::size_t>(rank)].connection) ranks.push_back(rank);
    }
    return ranks;
  }

  void tell_all(const Frame& frame) {
    for (Member& member : members_) {
      std::string why;
      if (member.connection) member.connection.send(frame, after(2), why);
    }
  }

  void fill_poll(std::vector<pollfd>& entries) const {
    for (const Member& member : members_) {
      if (member.connection) entries.push_back({member.connection.descriptor(), POLLIN, 0});
    }
  }

  std::vector<Member> take() { return std::move(members_); }

 private:
  const Launch& launch_;
  const ChannelOptions& options_;
  std::uint64_t job_;
  std::vector<Member> members_;
};

std::string missing_text(const std::vector<int>& missing) {
  std::string text;
  for (std::size_t i = 0; i < missing.size() && i < 8; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(missing[i]);
  return missing.size() > 8 ? text + " and " + std::to_string(missing.size() - 8) + " more" : text;
}

Socket listen_for(const Launch& launch, std::string& why) {
  if (launch.first_host.empty()) return listen_on(0, false, why);
  Socket listener;
  for (const std::uint16_t port : launch.ports) {
    listener = listen_on(port, only_this_host(launch), why);
    if (listener) break;
  }
  return listener;
}

std::vector<Member> run_meeting(const Socket& listener, const Launch& launch, const ChannelOptions& options,
                                const std::string& nonce) {
  Host host(launch, options, nonce);
  std::vector<Guest> guests;
  const Clock::time_point deadline = after(options.meeting_s);
  while (!host.missing().empty()) {
    if (Clock::now() >= deadline) {
      const std::vector<int> missing = host.missing();
      const std::string text = "expected " + std::to_string(launch.n_ranks) + " processes within " +
                               std::to_string(static_cast<int>(options.meeting_s)) + " s, got " +
                               std::to_string(static_cast<std::size_t>(launch.n_ranks) - missing.size()) +
                               "; missing: " + missing_text(missing);
      host.tell_all({kRefused, text});
      throw std::runtime_error(text);
    }
    std::vector<pollfd> entries = {{listener.descriptor(), POLLIN, 0}};
    for (const Guest& guest : guests) entries.push_back({guest.connection.descriptor(), POLLIN, 0});
    host.fill_poll(entries);
    ::poll(entries.data(), entries.size(), std::min(milliseconds_to(deadline), 200));
    host.check_members();
    while (guests.size() < kMostGuests) {
      Socket socket = accept_from(listener);
      if (!socket) break;
      guests.push_back({Connection(std::move(socket)), after(kGreeting_s)});
    }
    for (Guest& guest : guests) {
      std::string why;
      const bool alive = guest.connection.receive(why);
      if (const std::optional<Frame> frame = guest.connection.next()) {
        host.greet(std::move(guest.connection), *frame);
        guest.connection.close();
      } else if (!alive || Clock::now() >= guest.leaves) {
        guest.connection.close();
      }
    }
    std::erase_if(guests, [](const Guest& guest) { return !guest.connection; });
  }
  host.tell_all({kAllHere, ""});
  return host.take();
}

// One attempt at one door. Throws where the run cannot work at all.
std::optional<Connection> knock(const MeetingPlace& place, const Launch& launch,
                                const ChannelOptions& options, Clock::time_point deadline, std::string& why) {
  Connection connection(connect_to(place.host, place.port, std::min(after(3), deadline), why));
  if (!connection) return std::nullopt;
  if (!connection.send({kHello, greeting(launch, options, place.nonce)}, after(3), why)) return std::nullopt;
  std::optional<Frame> frame = connection.wait(std::min(after(3), deadline), why);
  if (frame && frame->kind == kWelcome) {
    // A little longer than process 0 waits, so that it is the one to say who is missing.
    frame = connection.wait(after(options.meeting_s + 2), why);
    if (frame && frame->kind == kAllHere) return connection;
    if (!frame) throw std::runtime_error("process 0 on " + place.host + ": " + why + " before all had come");
  }
  if (frame && frame->kind == kRefused) throw std::runtime_error(frame->payload);
  if (frame) why = frame->kind == kElsewhere ? frame->payload : "something else listens there";
  return std::nullopt;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::vector<Member> welcome_all(const Launch& launch, const ChannelOptions& options) {
  if (launch.first_host.empty() && options.meeting_file.empty()) no_meeting_place();
  std::string why;
  const Socket listener = listen_for(launch, why);
  if (!listener)
    throw std::runtime_error(host_name() + ": cannot listen on port " + ports_text(launch) + ": " + why);
  if (!launch.first_host.empty()) return run_meeting(listener, launch, options, "");
  std::ostringstream nonce;
  std::random_device random;
  nonce << std::hex << random() << random();
  write_meeting_file(options.meeting_file, {nonce.str(), host_name(), port_of(listener)});
  const MeetingFile removed_at_the_end(options.meeting_file);
  return run_meeting(listener, launch, options, nonce.str());
}

Connection join(const Launch& launch, const ChannelOptions& options) {
  if (launch.first_host.empty() && options.meeting_file.empty()) no_meeting_place();
  const Clock::time_point deadline = after(options.meeting_s);
  std::string why = "no meeting file " + options.meeting_file;
  while (Clock::now() < deadline) {
    std::vector<MeetingPlace> places;
    if (launch.first_host.empty()) {
      if (const std::optional<MeetingPlace> place = read_meeting_file(options.meeting_file))
        places.push_back(*place);
    }
    if (!launch.first_host.empty()) {
      for (const std::uint16_t port : launch.ports) places.push_back({"", launch.first_host, port});
    }
    for (const MeetingPlace& place : places) {
      if (std::optional<Connection> connection = knock(place, launch, options, deadline, why))
        return std::move(*connection);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const std::string where =
      launch.first_host.empty() ? options.meeting_file : launch.first_host + ":" + ports_text(launch);
  throw std::runtime_error("process " + std::to_string(launch.rank) + " on " + host_name() +
                           ": expected process 0 at " + where + " within " +
                           std::to_string(static_cast<int>(options.meeting_s)) + " s, got: " + why);
}

}  // namespace packsim::microbench
