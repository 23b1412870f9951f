// The signal that ended a recorded process, and where the thread was that took it: a thread that faults or aborts takes its own signal,
// so its stack shows the reason. Facts `end_stack.PID` of docs/format.md. They hold names and not rows, as only few stacks are kept
// for one fact, and they stay right when recordings are cut or merged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fathom::model {

struct FatalSignal {
  struct Frame {
    std::string function = {};  // "libx.so+0x1f40" where it has no name
    std::string module = {};
    std::string file = {};   // empty if unknown
    std::uint32_t line = 0;  // 0 if unknown
    bool operator==(const Frame&) const = default;
  };
  int signal = 0;
  std::int32_t code = 0;      // si_code: above 0 the kernel raised it, else a process sent it
  std::uint64_t address = 0;  // si_addr of what the kernel raised
  std::uint64_t stack_pointer = 0;
  std::int32_t sender_pid = 0;  // 0: none
  std::int32_t tid = 0;
  std::string thread = {};         // its name
  std::vector<Frame> frames = {};  // leaf first, inlined calls too; empty: the stack is unknown
  bool operator==(const FatalSignal&) const = default;
};

using Facts = std::map<std::string, std::string>;
inline constexpr std::size_t kMostFatalFrames = 64;  // of a deeper stack the innermost
void put_fatal_signal(std::int32_t pid, const FatalSignal& signal, Facts& facts);
// Untrusted text: nullopt where it makes no sense. Frames that make none are left out.
std::optional<FatalSignal> fatal_signal_of(std::int32_t pid, const Facts& facts);

}  // namespace fathom::model
