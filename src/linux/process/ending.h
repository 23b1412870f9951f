// How a process ended that we cannot wait for. Sources: the kernel's include/uapi/linux/pidfd.h
// (PIDFD_GET_INFO, exit codes since Linux 6.15); before that only an unreaped process shows it, in
// /proc/PID/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace fathom::process {

// "exited with status 1", "killed by signal 9 (SIGKILL)"; "ended" of nullopt. `status`: as wait(2) has it.
std::string ending_in_words(std::optional<int> status);

// Field 52 of /proc/PID/stat. nullopt: it is not there, or the process still lives.
std::optional<int> parse_exit_code(std::string_view stat);

// For the ended process `pid` of this pidfd: the pidfd is readable. nullopt: unknown.
std::optional<int> wait_status(int pidfd, std::int32_t pid);

// Holds on to one process, so that a later one with its number is never taken for it.
class Ending {
 public:
  explicit Ending(std::int32_t pid);
  bool has_ended() const;
  // Once it has ended; "ended" where the kernel does not say how.
  std::string words() const;
  // Once it has ended, as of waitpid(); nullopt: the kernel does not say how.
  std::optional<int> status() const;

 private:
  std::int32_t pid_;
  Fd fd_;
};

}  // namespace fathom::process
