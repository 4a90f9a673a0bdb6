// What stands on the disk where a system call of the writer fails or is the last one of the program.
#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/faults.hpp"

namespace {

namespace fs = std::filesystem;
using packsim_test::Fault;
using packsim_test::Files;
using packsim_test::files_in;
using packsim_test::ProgramRun;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

constexpr const char* kPack =
    "packsim pack ../lengths.csv --strategy bfd --capacity 64 --gpus 1 --plan a.plan --out packs --quiet";

struct Outcome {
  bool is_reached = false;  // the call was made
  ProgramRun run;
  Files files;
};

class Faults {
 public:
  Faults() {
    std::string lengths = "tokens\n";
    for (int i = 0; i < 400; ++i) lengths += std::to_string(1 + i * 37 % 64) + "\n";
    write_text(folder_ / "lengths.csv", lengths);
    const std::string longer = std::regex_replace(kPack, std::regex("--capacity 64"), "--capacity 128");
    REQUIRE(run_shell(folder_, "mkdir old && cd old && " + longer).exit_code == 0);
    old_ = files_in(folder_ / "old");
    renew();
    REQUIRE(run(kPack).exit_code == 0);
    new_ = files_in(work());
    REQUIRE(new_.size() == 3);
    for (const auto& [path, text] : old_) REQUIRE(new_.at(path) != text);
  }

  const Files& old_files() const { return old_; }  // as packsim wrote them
  const Files& new_files() const { return new_; }
  std::string work() const { return folder_ / "work"; }

  // The command, with one of its calls failing.
  Outcome with_fault(const Fault& fault) {
    renew();
    const std::string mark = folder_ / "hit";
    fs::remove(mark);
    Outcome outcome;
    outcome.run = run(packsim_test::with_fault(fault, mark) + kPack);
    outcome.is_reached = fs::exists(mark);
    outcome.files = files_in(work());
    return outcome;
  }

  ProgramRun run(const std::string& command) { return run_shell(folder_, "cd work && " + command); }

 private:
  void renew() {
    fs::remove_all(work());
    fs::copy(folder_ / "old", work(), fs::copy_options::recursive);
  }

  TemporaryFolder folder_;
  Files old_;
  Files new_;
};

// The file that a refused command names.
std::string named_file(const Files& files, const std::string& error) {
  for (const auto& [path, text] : files) {
    if (error.find(path + ": cannot write: ") != std::string::npos) return path;
  }
  return "none";
}

struct Failure {
  const char* call;
  const char* what;
  const char* text;
};

}  // namespace

TEST_CASE("whatever system call of the writer fails, the old file stands, the message names path and cause",
          "[plain]") {
  Faults faults;
  int n_reached = 0;
  int n_records = 0;
  for (const Failure& fault : std::vector<Failure>{{"open", "ENOSPC", "No space left on device"},
                                                   {"open", "EMFILE", "Too many open files"},
                                                   {"open", "EROFS", "Read-only file system"},
                                                   {"write", "ENOSPC", "No space left on device"},
                                                   {"write", "EIO", "Input/output error"},
                                                   {"fchmod", "EIO", "Input/output error"},
                                                   {"fsync", "EIO", "Input/output error"},
                                                   {"rename", "EIO", "Input/output error"},
                                                   {"rename", "EACCES", "Permission denied"}}) {
    for (int n = 1;; ++n) {
      const Outcome outcome = faults.with_fault({fault.call, n, fault.what});
      if (!outcome.is_reached) break;
      ++n_reached;
      CAPTURE(fault.call, n, fault.what, outcome.run.err);
      if (outcome.run.exit_code == 0) {  // it was a call for the record, without which the files are written
        ++n_records;
        CHECK(outcome.files == faults.new_files());
        continue;
      }
      CHECK(outcome.run.exit_code == 3);
      const std::string named = named_file(faults.old_files(), outcome.run.err);
      CHECK(outcome.run.err.ends_with(fault.text + std::string("\n")));
      REQUIRE(outcome.files.size() == faults.old_files().size());  // nothing is left over
      // Every second fsync is that of the folder, when the new file is in its place.
      const bool is_of_folder = fault.call == std::string("fsync") && n % 2 == 0;
      CHECK(outcome.files.at(named) == (is_of_folder ? faults.new_files() : faults.old_files()).at(named));
      for (const auto& [path, text] : outcome.files)
        CHECK((text == faults.old_files().at(path) || text == faults.new_files().at(path)));
    }
  }
  CHECK(n_reached - n_records >= 40);
  CHECK(n_records >= 9);
}

TEST_CASE("interrupted and short writes are taken up again", "[plain]") {
  Faults faults;
  for (const char* what : {"EINTR", "short"}) {
    for (int n = 1;; ++n) {
      const Outcome outcome = faults.with_fault({"write", n, what});
      if (!outcome.is_reached) break;
      CAPTURE(what, n, outcome.run.err);
      CHECK(outcome.run.exit_code == 0);
      CHECK(outcome.files == faults.new_files());
    }
  }
}

TEST_CASE("killed at any call, files are whole, and the next run leaves nothing over", "[plain]") {
  Faults faults;
  int n_reached = 0;
  for (const char* call : {"open", "write", "fchmod", "fsync", "rename"}) {
    for (int n = 1;; ++n) {
      const Outcome outcome = faults.with_fault({call, n, "kill"});
      if (!outcome.is_reached) break;
      ++n_reached;
      CAPTURE(call, n);
      CHECK(outcome.run.exit_code != 0);
      for (const auto& [path, text] : faults.old_files()) {
        const std::string& found = outcome.files.at(path);
        CHECK((found == text || found == faults.new_files().at(path)));
      }
      REQUIRE(faults.run(kPack).exit_code == 0);
      CHECK(files_in(faults.work()) == faults.new_files());
    }
  }
  CHECK(n_reached >= 20);
}

TEST_CASE("without memory, files are whole or absent, and the message says so", "[plain]") {
  Faults faults;
  int n_reached = 0;
  // The allocations are many: their distance grows, by a tenth.
  for (int n = 1;; n += 1 + n / 10) {
    const Outcome outcome = faults.with_fault({"malloc", n, "ENOMEM"});
    if (!outcome.is_reached) break;
    ++n_reached;
    CAPTURE(n, outcome.run.exit_code, outcome.run.err);
    REQUIRE(outcome.files.size() == faults.old_files().size());  // nothing is left over
    for (const auto& [path, text] : outcome.files)
      CHECK((text == faults.old_files().at(path) || text == faults.new_files().at(path)));
    if (outcome.run.exit_code == 0) {
      CHECK(outcome.files == faults.new_files());
    } else {
      CHECK(outcome.run.exit_code == 3);
      CHECK(outcome.run.err.find("out of memory\n") != std::string::npos);
    }
  }
  CHECK(n_reached >= 40);
}
