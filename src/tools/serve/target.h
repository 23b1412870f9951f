// One target, recorded as long as it is there and again when it comes back: a session after the other in a thread of its own. What
// is recorded goes through a keeper (keeper.h) and no file.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "record/session/record_options.h"
#include "tools/serve/keeper.h"
#include "tools/serve/pulls.h"

namespace fathom::serve {

struct TargetPlan {
  std::string name;  // a folder_name(): of its folder, in addresses and metrics
  // The processes that belong to it now, ascending. Empty: it does not run. Called from the target's thread, about once a second.
  std::function<std::vector<std::int32_t>()> members;
  bool is_group = false;  // its processes come and go
};

struct TargetState {
  bool recording = false;
  std::uint64_t recordings = 0;         // that have begun: one per start of the target, as a rule
  std::uint64_t samples = 0, lost = 0;  // of the recording that runs
  std::uint64_t kernel_ns = 0;  // of the recording that runs, inside of fathom's programs in the kernel
  std::string problem;          // why the last one could not begin, or ended; empty: nothing is wrong
  std::vector<std::int32_t> pids;
};

// What went wrong and what to try next, in one line.
std::string sentence_of(const Error& error);

class Target {
 public:
  // `options`: of each recording; pids, target, output and companions are set here. So is `keeper`, except its pulls.
  Target(TargetPlan plan, session::RecordOptions options, KeeperOptions keeper);
  ~Target();  // ends the recording; its last window has been handed on
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const std::string& name() const { return plan_.name; }
  TargetState state() const;
  // A stretch that begins now, or since the start. What cannot be answered is refused.
  void ask(Pull pull);
  // Takes effect within a step; the window that runs ends with it.
  void set_frequency(std::uint32_t frequency_hz) { wanted_hz_ = frequency_hz; }
  std::uint32_t frequency() const { return wanted_hz_; }

 private:
  void run();
  Result<> record(std::vector<std::int32_t> pids);
  bool pause(std::uint64_t ns);  // false: it is to end
  std::vector<std::int32_t> members_seldom();

  TargetPlan plan_;
  session::RecordOptions options_;
  KeeperOptions keeper_;
  Pulls pulls_;
  std::atomic<bool> ends_{false};
  std::atomic<std::uint32_t> wanted_hz_;
  Fd wake_;
  mutable std::mutex mutex_;
  TargetState state_;
  std::uint64_t looked_ns_ = 0;
  std::vector<std::int32_t> members_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace fathom::serve
