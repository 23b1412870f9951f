// A child process and what it begins with: its files, its folder, its signals, its environment. By posix_spawn, which is safe in a
// program with threads and fast in a large one.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

class Spawn {
 public:
  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  // In the child, in the order of the calls. `ours` is not `child`, as it would keep O_CLOEXEC then.
  void descriptor(int child, int ours) { ::posix_spawn_file_actions_adddup2(&files_, ours, child); }
  void file(int child, const char* path, int flags) {
    ::posix_spawn_file_actions_addopen(&files_, child, path, flags, 0);
  }
  void close_from(int first) { ::posix_spawn_file_actions_addclosefrom_np(&files_, first); }
  void folder(const std::string& path) { ::posix_spawn_file_actions_addchdir_np(&files_, path.c_str()); }
  void signal_mask(const sigset_t& mask);
  // No signal is blocked or ignored, whatever fathom does with its own.
  void ordinary_signals();
  // A session without a terminal, or a process group, so that Ctrl-C is not for the child.
  void own_session() { flags_ |= POSIX_SPAWN_SETSID; }
  void own_group() { flags_ |= POSIX_SPAWN_SETPGROUP; }
  // NAME=VALUE each; without this call the child has our environment.
  void environment(std::vector<std::string> variables) { environment_ = std::move(variables); }

  // Its process id; the caller waits for it. A program without a slash is searched in PATH. `words`: the first is its name. Fails
  // with the reason why the program does not start: kNotFound if it is not there.
  Result<pid_t> start(const std::string& program, std::vector<std::string> words);

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
  short flags_ = 0;
  std::optional<std::vector<std::string>> environment_;
};

}  // namespace fathom
