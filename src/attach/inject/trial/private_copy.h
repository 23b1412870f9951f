// A private process that runs a given file, stopped before the program's first own instruction, in which
// fathom calls functions one after the other. It is isolated: its own namespaces, a seccomp filter, no
// environment, /dev/null for input and output, the rights of the original process, at most 8 s of CPU time
// and 4 GiB of addresses. It is killed with the object, and by the kernel if fathom dies.
//
// Dynamic programs are stopped when the loader hands over: the constructors of their libraries have run, but
// nothing of the program itself. In a static program nothing is set up at that point; it is stopped when it
// reaches its allocator or `main`, whichever is first, and its own constructors may have run by then.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attach/inject/stop/remote_memory.h"
#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// Whether the file may be started like this: no set-uid, no set-gid, no capabilities of its own.
Result<> check_private_copy(int file);

class PrivateCopy {
 public:
  // `fd` is open for reading, `file` is its content. `stops`: where a static program may be stopped, ELF
  // addresses. `like`: a process whose files it must see, for libraries; 0: ours. Use it only within
  // in_tracing_thread().
  static Result<PrivateCopy> start(int fd, const elf::ElfFile& file, std::span<const ElfAddress> stops,
                                   int like);
  PrivateCopy(PrivateCopy&& other) noexcept;
  PrivateCopy& operator=(PrivateCopy&&) = delete;
  ~PrivateCopy();

  // An identical copy of the current state: changes to it do not affect this one. Much cheaper than starting
  // one.
  Result<PrivateCopy> fork();

  // The function's return value; nullopt: it did not return within 1 s of CPU time, or returned to another
  // place, or waited for another process, which does not exist. The copy is unusable then.
  std::optional<std::uint64_t> call(ElfAddress function, const std::array<std::uint64_t, 4>& arguments);
  // 256 bytes in it that calls do not touch.
  ProcessAddress scratch() const { return scratch_; }
  const RemoteMemory& memory() const { return *memory_; }
  ProcessAddress at(ElfAddress address) const { return {address.value + bias_}; }
  int pid() const { return pid_; }
  // For this one and all its forks: one was killed because the machine gave no answer for 10 s. All answers
  // since are invalid.
  bool was_late() const;

 private:
  class Family;
  PrivateCopy(int pid, std::shared_ptr<Family> family);  // null: it is the first of its family
  Result<> hold(const elf::ElfFile& file, std::span<const ElfAddress> stops);
  Result<int> wait();

  int pid_ = -1;  // -1: it has ended
  Fd pid_fd_;
  bool is_first_ = false;
  std::uint64_t bias_ = 0;
  ProcessAddress return_to_, system_call_, scratch_, stack_;
  std::optional<RemoteMemory> memory_;
  std::shared_ptr<Family> family_;
};

}  // namespace fathom::inject
