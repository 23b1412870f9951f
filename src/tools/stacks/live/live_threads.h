// Looks at all threads of living processes. Blocked threads are read from /proc without being stopped (record/proc/blocked_thread.h),
// running ones are sampled (running_stacks.h); nothing in the process changes, and a debugger may be attached to it.
//
// A thread's wait and the words of its lock are read at different moments. So a holder is kept only if the thread has not run
// from the first reading to a last one after all of them: what was read in between belongs to one moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/stacks/holders.h"
#include "analysis/stacks/look.h"
#include "base/result.h"
#include "binary/symbolize/worker.h"
#include "linux/process/inner_threads.h"
#include "model/profile.h"
#include "record/session/tracking/module_catalog.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/stack_resolver.h"
#include "record/session/waits/blocked_walk.h"
#include "record/session/waits/wait_objects.h"
#include "tools/stacks/live/blocked_since.h"
#include "tools/stacks/live/descriptors.h"

namespace fathom::stacks {

class LiveThreads {
 public:
  // `names`: how long a look waits for names; those that take longer are missing from it. A file with much debug
  // information is read once, and its names are kept on disk.
  explicit LiveThreads(symbolize::Options symbols, std::chrono::seconds names = std::chrono::seconds(10));
  LiveThreads(const LiveThreads&) = delete;
  LiveThreads& operator=(const LiveThreads&) = delete;

  // kNotFound: there is no such process. kPermission: it may not be looked at.
  Result<> add(std::int32_t pid);

  // kNotFound: all processes have ended. Stacks and names of all looks are in profile(), waits those of the last one.
  Result<Look> look();
  const model::Profile& profile() const { return profile_; }

 private:
  struct NoWalker final : session::WalkerControl {
    void set_mappings(std::int32_t, std::span<const unwind_mapping>, std::uint32_t) override {}
    void forget(std::int32_t) override {}
    std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }
  };
  bool refresh(std::int32_t pid);
  void read_thread(std::int32_t pid, std::int32_t tid, Look& look);
  bool read_blocked(ThreadLook& thread, char state);
  void sample_running(Look& look);
  void add_wait(ThreadLook& thread, session::BlockedWait& blocked, char state);
  void take_names(Look& look);
  std::set<std::int32_t> holders_elsewhere(const Look& look) const;
  Numbers numbers();
  std::optional<std::int32_t> known_number(std::int32_t pid, std::int32_t inner);
  std::optional<std::int32_t> outer_number(std::int32_t pid, std::int32_t inner);
  void confirm(Look& look);

  model::Profile profile_;
  model::Builder builder_{profile_};
  symbolize::Worker symbols_;
  NoWalker no_walker_;
  session::ModuleCatalog modules_;
  session::ProcessTable processes_;
  session::StackResolver stacks_;
  session::WaitObjects objects_{profile_};
  session::BlockedWalker walker_;
  SchedulerClocks clocks_;
  std::optional<Descriptors> descriptors_;                                 // of this look
  std::map<std::int32_t, process::InnerThreads> numbers_;                  // by process
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> inodes_;  // of file locks, by thread
  std::vector<std::int32_t> targets_;
  std::size_t unreadable_ = 0;
  std::chrono::seconds names_;
};

}  // namespace fathom::stacks
