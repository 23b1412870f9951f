// A process of our own of a given file, held before its first own instruction, in which functions are called one after the
// other. Nobody else sees it: namespaces of its own, a seccomp filter, no environment, /dev/null for input and output, the
// rights of the process that it is like, 8 s of processor time and 4 GiB of addresses at most. It is killed with the object,
// and by the kernel if we die.
//
// Dynamic programs are held where the loader hands over, so that of their libraries the constructors have run, and of
// themselves nothing. In a static program nothing is set up there; it is held when it comes to its allocator, or to
// `main`, whichever is first, and its own constructors may have run till then.
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

// Whether the file may be started so at all: no set-uid, no set-gid, no capabilities of its own.
Result<> check_private_copy(int file);

class PrivateCopy {
 public:
  // `fd` is open for reading, `file` its contents. `stops`: where a static program may be held, ELF addresses. `like`: a
  // process whose files it shall see, for libraries; 0: ours. Only to be used within in_tracing_thread(), all of it.
  static Result<PrivateCopy> start(int fd, const elf::ElfFile& file, std::span<const ElfAddress> stops,
                                   int like);
  PrivateCopy(PrivateCopy&& other) noexcept;
  PrivateCopy& operator=(PrivateCopy&&) = delete;
  ~PrivateCopy();

  // Another one just like it is now: what is done to that does not reach this one. Much cheaper than to start one.
  Result<PrivateCopy> fork();

  // What the function returned; nullopt: it did not within 1 s of processor time, or not to there, or it waited for somebody
  // else, whom there is none of. The copy is of no use then.
  std::optional<std::uint64_t> call(ElfAddress function, const std::array<std::uint64_t, 4>& arguments);
  // Some room in it that calls do not touch: 256 bytes.
  ProcessAddress scratch() const { return scratch_; }
  const RemoteMemory& memory() const { return *memory_; }
  ProcessAddress at(ElfAddress address) const { return {address.value + bias_}; }
  int pid() const { return pid_; }
  // Of this one and of all that were forked from it: one was killed as the machine gave no answer for 10 s. What was
  // learnt since is worth nothing.
  bool was_late() const;

 private:
  class Family;
  PrivateCopy(int pid, std::shared_ptr<Family> family);  // null: it is the first of one
  Result<> hold(const elf::ElfFile& file, std::span<const ElfAddress> stops);
  Result<int> wait();

  int pid_ = -1;  // -1: it is gone
  Fd pid_fd_;
  bool is_first_ = false;
  std::uint64_t bias_ = 0;
  ProcessAddress return_to_, system_call_, scratch_, stack_;
  std::optional<RemoteMemory> memory_;
  std::shared_ptr<Family> family_;
};

}  // namespace fathom::inject
