#include "base/spawn.h"

#include <unistd.h>

#include "base/files.h"

namespace fathom {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Spawn::Spawn() {
  ::posix_spawn_file_actions_init(&files_);
  ::posix_spawnattr_init(&attributes_);
}

Spawn::~Spawn() {
  ::posix_spawn_file_actions_destroy(&files_);
  ::posix_spawnattr_destroy(&attributes_);
}

void Spawn::signal_mask(const sigset_t& mask) {
  ::posix_spawnattr_setsigmask(&attributes_, &mask);
  flags_ |= POSIX_SPAWN_SETSIGMASK;
}

void Spawn::ordinary_signals() {
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  signal_mask(none);
  ::posix_spawnattr_setsigdefault(&attributes_, &all);
  flags_ |= POSIX_SPAWN_SETSIGDEF;
}

Result<pid_t> Spawn::start(const std::string& program, std::vector<std::string> words) {
  ::posix_spawnattr_setflags(&attributes_, flags_);
  const std::vector<char*> arguments = pointers_to(words);
  std::vector<char*> variables;
  if (environment_) variables = pointers_to(*environment_);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program.c_str(), &files_, &attributes_, arguments.data(),
                                   environment_ ? variables.data() : ::environ);
  if (error != 0) return system_error("cannot run " + program, error);
  return pid;
}

}  // namespace fathom
