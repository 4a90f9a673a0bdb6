#include "calibration/microbench/core/measurement_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "calibration/microbench/core/command_line.hpp"
#include "calibration/microbench/core/json_line.hpp"

namespace packsim::microbench {
namespace {

constexpr std::string_view kHead = "{\"packsim_measurements\"";
constexpr std::string_view kBegan = "{\"began\"";

std::string json_object(const Details& details) {
  std::string text = "{";
  for (std::size_t i = 0; i < details.size(); ++i)
    text += (i == 0 ? "" : ", ") + json_text(details[i].first) + ": " + details[i].second;
  return text + "}";
}

std::string text_field(const Json& object, const std::string& name) {
  const Json* field = object.field(name);
  if (field == nullptr || field->type != Json::Type::text)
    throw std::invalid_argument("expected a text \"" + name + "\", got none");
  return field->text;
}

bool has_flag(const Json& line, std::string_view name) {
  const Json* flags = line.field("flags");
  return flags != nullptr &&
         std::ranges::any_of(flags->items, [&](const Json& flag) { return flag.text == name; });
}

// A file that is empty or holds no more than the start of a first line may be one that was killed early.
bool may_be_ours(std::string_view torn) {
  const std::size_t n = std::min(torn.size(), kHead.size());
  return torn.substr(0, n) == kHead.substr(0, n);
}

}  // namespace

std::string format_line(const SourceLine& line) {
  Details details;
  for (const auto& [name, value] : line.details) details.emplace_back(name, json_text(value));
  const Details source = {{"id", "\"\""},
                          {"gpu", json_text(line.gpu)},
                          {"provenance", json_text(line.provenance)},
                          {"details", json_object(details)}};
  return json_object({{"packsim_measurements", "1"}, {"source", json_object(source)}});
}

std::string format_line(const MeasuredLine& line) {
  Details fields = {{"case", json_text(line.kernel)},
                    {"library", json_text(line.library)},
                    {"source", "\"\""},
                    {"samples_s", json_array(line.samples_s)}};
  if (!line.flags.empty()) {
    std::string flags;
    for (const std::string& flag : line.flags) flags += (flags.empty() ? "" : ", ") + json_text(flag);
    fields.emplace_back("flags", "[" + flags + "]");
  }
  if (!line.details.empty()) fields.emplace_back("details", json_object(line.details));
  return json_object(fields);
}

std::string format_began(const std::string& kernel) {
  return json_object({{"began", json_text(kernel)}});
}

std::string format_skipped(const std::string& kernel, const std::string& reason) {
  return json_object({{"skipped", json_text(kernel)}, {"reason", json_text(reason)}});
}

std::string format_end(bool complete) {
  return json_object({{"end", complete ? "\"complete\"" : "\"interrupted\""}});
}

MeasurementFile::MeasurementFile(std::string path, const std::string& gpu) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail("cannot be opened", errno);
  try {
    struct stat status {};
    if (::fstat(file_, &status) != 0) fail("cannot be read", errno);
    // A device or a pipe has nothing to read back, and anyone may write to it.
    if (S_ISREG(status.st_mode)) {
      if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw UserError(path_ + ": expected a file of this run alone, got one that another run is writing");
      scan(gpu);
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

MeasurementFile::~MeasurementFile() {
  ::close(file_);
}

std::string MeasurementFile::skip_reason(const std::string& kernel) const {
  const auto at = skipped_.find(kernel);
  return at == skipped_.end() ? "" : at->second;
}

void MeasurementFile::scan(const std::string& gpu) {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t n = ::read(file_, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot be read", errno);
    if (n == 0) break;
    text.append(block.data(), static_cast<std::size_t>(n));
  }
  const std::size_t last = text.rfind('\n');
  const std::size_t whole = last == std::string::npos ? 0 : last + 1;
  if (whole == 0 && !may_be_ours(text))
    throw UserError(path_ + ":1: expected a measurement file (\"packsim_measurements\"), got another file");
  std::string mistakes;
  std::size_t number = 0;
  for (std::size_t start = 0; start < whole;) {
    const std::size_t end = text.find('\n', start);
    try {
      scan_line(text.substr(start, end - start), ++number, gpu);
    } catch (const UserError&) {
      throw;
    } catch (const std::invalid_argument& mistake) {
      mistakes +=
          (mistakes.empty() ? "" : "\n") + path_ + ":" + std::to_string(number) + ": " + mistake.what();
    }
    start = end + 1;
  }
  if (!mistakes.empty()) throw UserError(mistakes);
  cut_bytes_ = text.size() - whole;
  if (cut_bytes_ > 0 && ::ftruncate(file_, static_cast<off_t>(whole)) != 0) fail("cannot be written", errno);
}

void MeasurementFile::scan_line(const std::string& line, std::size_t number, const std::string& gpu) {
  const auto refuse_foreign = [&] {
    throw UserError(path_ +
                    ":1: expected a measurement file (\"packsim_measurements\": 1), got another file");
  };
  Json json;
  try {
    json = parse_json(line);
  } catch (const std::invalid_argument&) {
    if (number == 1) refuse_foreign();
    throw;
  }
  const Json* head = json.field("packsim_measurements");
  if (number == 1 && (head == nullptr || head->number != 1)) refuse_foreign();
  const Json* source = json.field("source");
  if (source != nullptr && source->type == Json::Type::object) {
    if (text_field(*source, "id").empty() && text_field(*source, "gpu") != gpu)
      throw UserError(path_ + ":" + std::to_string(number) + ": expected measurements of this GPU (" + gpu +
                      "), got those of " + text_field(*source, "gpu") + ": give another file to --out");
  } else if (json.field("case") != nullptr) {
    const Json* samples = json.field("samples_s");
    if (samples == nullptr || samples->type != Json::Type::array || samples->items.empty())
      throw std::invalid_argument("expected \"samples_s\", got none");
    const std::string kernel = KernelCase::parse(text_field(json, "case")).text();
    if (!has_flag(json, kCutFlag)) measured_.insert(kernel);
    broken_off_.clear();
  } else if (json.field("began") != nullptr) {
    broken_off_ = text_field(json, "began");
  } else if (json.field("skipped") != nullptr) {
    skipped_[text_field(json, "skipped")] = text_field(json, "reason");
    broken_off_.clear();
  } else if (json.field("end") != nullptr) {
    broken_off_.clear();
  } else {
    throw std::invalid_argument(
        "expected a line with \"source\", \"case\", \"began\", \"skipped\" or \"end\", got another");
  }
}

void MeasurementFile::append(const std::string& line) {
  const std::string text = line + "\n";
  const off_t start = ::lseek(file_, 0, SEEK_END);
  std::size_t written = 0;
  int error = 0;
  while (written < text.size() && error == 0) {
    const ssize_t n = ::write(file_, text.data() + written, text.size() - written);
    if (n >= 0) written += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) error = errno;
  }
  // A pipe or a device has nothing to sync.
  if (error == 0 && ::fsync(file_) != 0 && errno != EINVAL && errno != EROFS && errno != EINTR) error = errno;
  const off_t began_at = std::exchange(began_at_, -1);
  if (error == 0) {
    if (line.starts_with(kBegan)) began_at_ = start;
    return;
  }
  // Half a line would do no harm, as the next run cuts it off; a reader of the file is spared a warning.
  const bool taken_back = start >= 0 && ::ftruncate(file_, began_at >= 0 ? began_at : start) == 0;
  fail(taken_back ? "cannot be written" : "cannot be written (its last line may be torn)", error);
}

void MeasurementFile::fail(const std::string& what, int error) const {
  throw std::runtime_error(path_ + ": " + what + ": " + std::strerror(error));
}

}  // namespace packsim::microbench
