// The process that reads the target's files for names, seen from the recorder: fathom itself, executed once
// more without rights and with a limit of memory and time. It is started when the first file is to be read,
// and again when it has ended.
//
// A file that the target can write may be made to crash or to take over its reader. Here, that costs the
// names of that file: the process has nothing that the target does not have. One thread at a time, but for
// interrupt() and the figures.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/fd.h"
#include "binary/symbolize/name_channel.h"
#include "binary/symbolize/name_messages.h"
#include "binary/symbolize/options.h"

namespace fathom::symbolize {

class NameProcess {
 public:
  explicit NameProcess(ReaderProcess options);
  ~NameProcess();  // ends it
  NameProcess(const NameProcess&) = delete;
  NameProcess& operator=(const NameProcess&) = delete;

  // The number of the process that runs now: another one has to be sent its files again. 0: none can be
  // started.
  std::uint32_t number();
  bool runs(std::uint32_t number) const { return channel_ && number == number_; }

  enum class Outcome : std::uint8_t { kAnswered, kDied, kTooMuch };
  struct Reply {
    Outcome outcome = Outcome::kAnswered;
    NameAnswer answer;
    std::string why;  // unless answered: "ended by signal 11", "took more than 20 s"
  };
  // The file that a path in debug information leads to, opened with no more rights than the module's owner
  // has.
  using OpenFile = std::function<Fd(const std::string& path)>;
  // Waits for the answer. After anything but an answer the process is ended.
  Reply ask(const NameRequest& request, std::span<const int> files, const OpenFile& open_file);

  // Ends it, now and permanently: callers waiting for an answer continue.
  void interrupt();
  // The same from this time on, or as soon as `hurry` returns true, also in the middle of an answer.
  void end_by(std::chrono::steady_clock::time_point time, std::function<bool()> hurry);
  // As the kernel's calls of the same names; also of a process that is just being started, or will be.
  void set_priority(int policy, int nice);

  std::uint64_t cpu_ns() const;  // of all that have run
  pid_t pid() const;             // -1: none runs

 private:
  bool start();
  std::string stop();  // and says how it ended
  std::optional<std::uint64_t> running_cpu_ns() const;
  bool is_stuck();

  ReaderProcess options_;
  std::optional<NameChannel> channel_;
  std::uint32_t number_ = 0, started_ = 0;
  std::atomic<bool> interrupted_ = false;
  std::optional<std::chrono::steady_clock::time_point> end_;
  std::function<bool()> hurry_;
  struct Priority {
    int policy, nice;
  };
  void apply_priority() const;  // under mutex_
  // What one answer may take: after each process that took too much half of what it was, down to an eighth. So files that
  // are made to hold us up, or a machine that freezes every reader, do so for half a minute in all.
  std::uint64_t limit(std::uint64_t ns) const { return ns >> std::min(too_much_, 3u); }

  unsigned too_much_ = 0;
  mutable std::mutex mutex_;  // of the next three: the process is reaped under it
  pid_t pid_ = -1;
  std::optional<Priority> priority_;
  std::uint64_t ended_cpu_ns_ = 0;
  // While an answer is waited for:
  std::uint64_t cpu_at_start_ns_ = 0, cpu_seen_ns_ = 0;
  std::chrono::steady_clock::time_point alive_at_;
  std::string why_;
};

// What the executed process is: the function of a program's main() for arguments that start with this one.
inline constexpr const char* kNameProcessArgument = "--read-names";
int run_name_process(int argc, char** argv);

}  // namespace fathom::symbolize
