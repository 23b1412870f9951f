// Runs other programs, with a limit on everything that could hang a test. Their output is kept in memory
// files, so a program that writes a lot never waits for its reader.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace fathom::support {

struct CommandOptions {
  std::string input = {};                     // what the program reads from its standard input
  std::string folder = {};                    // working folder; empty: the same as ours
  std::vector<std::string> environment = {};  // "NAME=VALUE", added to ours
  std::chrono::milliseconds limit{60'000};
  std::optional<uid_t> user = {};  // runs as this user and group, without privileges
};

struct Outcome {
  int exit_status = -1;  // -1 if a signal ended it
  int signal = 0;        // the signal that ended it
  bool timed_out = false;
  double seconds = 0;
  double cpu_seconds = 0;            // of the program and of its children that it waited for
  std::uint64_t peak_rss_bytes = 0;  // likewise, the largest of them
  std::string output;
  std::string errors;

  bool ok() const { return exit_status == 0 && !timed_out; }
  std::string describe() const;  // for the message of a failed expectation
};

// A program that runs along with the test. Killed and reaped when the object goes away. Not for several
// threads at once.
class Running {
 public:
  // Throws std::runtime_error when the program cannot be started.
  explicit Running(const std::vector<std::string>& arguments, const CommandOptions& options = {});
  Running(Running&& other) noexcept;
  Running& operator=(Running&&) = delete;
  ~Running();

  pid_t pid() const { return pid_; }
  bool finished() const;
  void send(int signal_number) const;
  // Waits for the end, or kills the program when `limit` is over.
  Outcome wait(std::chrono::milliseconds limit);
  Outcome kill_and_wait();
  std::string output_so_far() const;
  std::string errors_so_far() const;

 private:
  pid_t pid_ = -1;
  Fd output_, errors_;
  std::chrono::steady_clock::time_point start_;
};

// Starts it and waits for its end.
Outcome run(const std::vector<std::string>& arguments, const CommandOptions& options = {});

// Asks `condition` every few milliseconds. False when the limit was over first.
template <class Condition>
bool wait_until(Condition condition, std::chrono::milliseconds limit);

void pause_ms(int ms);

// CPU time that a running process has used; 0 if it is gone.
double cpu_seconds_of(pid_t pid);

// ---
template <class Condition>
bool wait_until(Condition condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause_ms(10);
  }
  return true;
}

}  // namespace fathom::support
