// The stack of a stopped thread, from its stack pointer to its end: it may contain addresses of code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attach/inject/stop/remote_memory.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// Upper limit: of a deeper stack, only the innermost frames are read.
inline constexpr std::uint64_t kStackLimit = std::uint64_t{1} << 20;

// Up to the end of its mapping; `maps` may be slightly older than the thread.
inline std::vector<std::byte> read_stack(const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                                         std::uint64_t stack_pointer) {
  std::uint64_t end = stack_pointer + 64 * 1024;
  for (const auto& entry : maps)
    if (stack_pointer >= entry.start.value && stack_pointer < entry.end.value) end = entry.end.value;
  std::vector<std::byte> stack(std::min(end - stack_pointer, kStackLimit));
  stack.resize(memory.read_some({stack_pointer}, stack));
  return stack;
}

// Eight bytes each, aligned like the stack pointer.
inline std::span<const std::uint64_t> words_of(std::span<const std::byte> stack) {
  return {reinterpret_cast<const std::uint64_t*>(stack.data()), stack.size() / sizeof(std::uint64_t)};
}

}  // namespace fathom::inject
