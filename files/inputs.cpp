#include "files/inputs.hpp"

#include <sys/stat.h>

#include <mutex>
#include <set>
#include <utility>

namespace packsim {
namespace {

// Files by their device and number: a path may have many names.
struct Inputs {
  std::mutex mutex;
  int n_keepers = 0;
  std::set<std::pair<dev_t, ino_t>> files;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

KeptInputs::KeptInputs() {
  const std::lock_guard lock(inputs().mutex);
  ++inputs().n_keepers;
}

KeptInputs::~KeptInputs() {
  const std::lock_guard lock(inputs().mutex);
  if (--inputs().n_keepers == 0) inputs().files.clear();
}

void keep_input(const struct stat& status) {
  const std::lock_guard lock(inputs().mutex);
  if (inputs().n_keepers > 0) inputs().files.emplace(status.st_dev, status.st_ino);
}

void keep_input(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) keep_input(status);
}

void release_input(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return;
  const std::lock_guard lock(inputs().mutex);
  inputs().files.erase({status.st_dev, status.st_ino});
}

bool is_kept_input(const struct stat& status) {
  const std::lock_guard lock(inputs().mutex);
  return inputs().files.contains({status.st_dev, status.st_ino});
}

bool is_kept_input(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && is_kept_input(status);
}

std::string input_mistake(const std::string& path) {
  return path + ": expected a file that is no input, got one that the command reads";
}

}  // namespace packsim
