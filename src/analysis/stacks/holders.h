// Who can end each wait, as far as the kernel and the C library keep it: the owner of a lock, the thread that is joined, the
// child that is waited for, the holder of a file lock. What they do not keep stays unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "analysis/stacks/describe.h"
#include "analysis/stacks/look.h"

namespace fathom::stacks {

// Questions about processes; tests replace them.
struct Numbers {
  // The number that we know a thread by which the process `pid` numbers `inner`; nullopt: there is no such thread.
  std::function<std::optional<std::int32_t>(std::int32_t pid, std::int32_t inner)> outer;
  // The process of a thread that is not in the look, and its name; nullopt: there is none.
  struct Stranger {
    std::int32_t pid = 0;
    std::string name;
  };
  std::function<std::optional<Stranger>(std::int32_t tid)> stranger;
  // The process that holds the file lock that this thread waits for, and whether a process has a single thread.
  std::function<std::optional<std::int32_t>(const ThreadLook& thread)> file_lock;
  std::function<bool(std::int32_t pid)> has_one_thread;
};

// Fills in the holder of every thread that waits. describe() comes before it.
void find_holders(const ProcessMemory& memory, const Numbers& numbers, Look& look);

}  // namespace fathom::stacks
