// The stack of a currently blocked thread, walked in user space from a copy: for waits that began before the
// kernel's walker could see them, and for users who may not use that walker. The thread is not stopped.
//
// /proc does not report the frame pointer. Most code does not need it; if it does and no inner frame has
// saved it, the walk searches for it: a place on the stack that holds a frame as its function would have made
// it, with the return address of a call to that function, and from which the walk reaches the root.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/address.h"
#include "binary/unwind/address_space.h"
#include "binary/unwind/unwinder.h"
#include "linux/events.h"
#include "linux/process/blocked_thread.h"
#include "record/proc/kernel_stack.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

struct BlockedWait {
  sources::StackSeen stack;
  // Blocked since `out_ns` and still blocked: began_before is set, waited_ns is 0. Has the file behind a
  // descriptor, but not its peer.
  sources::Waited wait;
};

class BlockedWalker {
 public:
  // `processes` outlives the walker. Its modules must have kept their tables (ModuleCatalog: keep_tables).
  explicit BlockedWalker(const ProcessTable& processes) : processes_(processes) {}

  // nullopt: the thread is not blocked, moved on meanwhile, is gone, or is not ours to look at.
  std::optional<BlockedWait> walk(std::int32_t pid, std::int32_t tid, std::uint64_t out_ns);
  // The same with the file open already. An error: of reading it.
  Result<std::optional<BlockedWait>> walk(const sources::BlockedThreadFile& file, std::int32_t pid,
                                          std::int32_t tid, std::uint64_t out_ns);

  // The mappings of the process are others now, or it is gone. Otherwise they are taken from the table once.
  void forget(std::int32_t pid) { processes_seen_.erase(pid); }

 private:
  struct Seen {
    unwind::AddressSpace space;
    std::uint64_t salt = 0;
  };
  using Bounds = std::vector<std::pair<ElfAddress, std::uint64_t>>;  // function starts and sizes
  enum class Caller : std::uint8_t { kNone, kPossible, kCertain };

  Seen& seen(std::int32_t pid);
  walk_end walk_stack(std::int32_t pid, const unwind::AddressSpace& space,
                      const sources::BlockedThread& thread);
  // Does the call before `return_address` enter the function that `inside` belongs to?
  Caller calls(std::int32_t pid, std::uint64_t return_address, std::uint64_t inside);
  std::optional<std::uint64_t> function_start(std::int32_t pid, std::uint64_t address);

  const ProcessTable& processes_;
  sources::KernelStacks kernel_;
  std::map<std::int32_t, Seen> processes_seen_;
  std::map<const CodeModule*, Bounds> bounds_;
  std::vector<FrameAddress> frames_, attempt_;
  std::uint64_t salt_ = 0;
};

}  // namespace fathom::session
