#pragma once

#include <string>

struct stat;

namespace packsim {

/// While one lives, the files that are read are remembered, and write_file() refuses to replace them. For
/// programs, which never mean to lose an input; a library's process may read a file and write it anew later.
class KeptInputs {
 public:
  KeptInputs();
  ~KeptInputs();
  KeptInputs(const KeptInputs&) = delete;
  KeptInputs& operator=(const KeptInputs&) = delete;
};

/// Remembers a file that is read, if inputs are kept.
void keep_input(const struct stat& status);
/// The same by its path. What cannot be found is left to who opens it.
void keep_input(const std::string& path);
/// Lets a command write a file that it changes in place.
void release_input(const std::string& path);
/// Whether it was read and is kept.
bool is_kept_input(const struct stat& status);
bool is_kept_input(const std::string& path);
/// What is wrong with an output that is one.
std::string input_mistake(const std::string& path);

}  // namespace packsim
