#include "record/session/tracking/process_looks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "linux/process/threads.h"

namespace fathom::session {
namespace {

// The program that a process runs, kHiddenProgram if this user may not know; "" if it is gone. A program with rights of its
// own (set-uid, capabilities) becomes hidden when it is executed.
constexpr std::string_view kHiddenProgram = "(hidden)";
std::string program_of(std::int32_t pid) {
  std::string path(4096, '\0');
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path.data(), path.size());
  if (size < 0 && (errno == EACCES || errno == EPERM)) return std::string(kHiddenProgram);
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path;
}

std::set<process::MapEntry> mapped_code_of(std::int32_t pid) {
  std::set<process::MapEntry> code;
  auto maps = process::read_maps(pid);
  if (!maps) return code;
  for (process::MapEntry& entry : *maps)
    if (entry.executable) code.insert(std::move(entry));
  return code;
}

// Of one thread: /proc/PID/task/TID/children. Empty if the kernel does not report it.
std::vector<std::int32_t> children_of(std::int32_t pid, std::int32_t tid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/children");
  std::vector<std::int32_t> children;
  if (!text) return children;
  std::istringstream words(*text);
  for (std::int32_t child = 0; words >> child;) children.push_back(child);
  return children;
}

}  // namespace

bool ProcessLooks::due(std::uint64_t now_ns) {
  if (now_ns < next_ns_) return false;
  next_ns_ = now_ns + kEveryNs;
  ++looks_;
  return true;
}

void ProcessLooks::know(std::int32_t pid) {
  known_[pid] = {program_of(pid), mapped_code_of(pid)};
  for (const std::int32_t tid : processes_.threads(pid))
    for (const std::int32_t child : children_of(pid, tid)) told_.insert(child);
}

void ProcessLooks::look(std::int32_t pid, std::uint64_t now_ns, Batch& batch) {
  if (!known_.contains(pid)) know(pid);
  Known& known = known_[pid];
  const std::string program = program_of(pid);
  if (!program.empty() && program != known.program) {
    known.program = program;
    known.code.clear();
    const sources::ProcessExeced event{now_ns, pid, pid, process::read_thread_name(pid, pid).value_or("")};
    batch.side_band.emplace_back(event);
    if (waits_ != nullptr) waits_->on(event);
    if (pid == expected_) expected_ = 0;
  }
  if (pid == expected_) return;  // a child of ours that is not the target yet
  look_at_code(pid, now_ns, known, batch);
  look_at_threads(pid, now_ns, batch);
  look_at_children(pid, now_ns, batch);
}

// Those of its first thread at each look, of the others at each tenth: programs with many threads seldom fork from all.
void ProcessLooks::look_at_children(std::int32_t pid, std::uint64_t now_ns, Batch& batch) {
  constexpr std::uint64_t kLooksPerRound = 10;
  for (const std::int32_t tid : processes_.threads(pid)) {
    if (tid != pid && looks_ % kLooksPerRound != 0) continue;
    for (const std::int32_t child : children_of(pid, tid))
      if (!processes_.is_recorded(child) && told_.insert(child).second) tell_child(child, pid, now_ns, batch);
  }
}

void ProcessLooks::tell_child(std::int32_t pid, std::int32_t parent, std::uint64_t now_ns, Batch& batch) {
  const sources::ProcessForked forked{now_ns, pid, parent};
  batch.side_band.emplace_back(forked);
  if (waits_ != nullptr) waits_->on(forked);
  // It runs the program of its parent, whose code it has, or another one since.
  Known known{program_of(pid), mapped_code_of(pid)};
  if (known.program != known_[parent].program) {
    const sources::ProcessExeced execed{now_ns, pid, pid, process::read_thread_name(pid, pid).value_or("")};
    batch.side_band.emplace_back(execed);
    if (waits_ != nullptr) waits_->on(execed);
    for (const process::MapEntry& mapping : known.code)
      batch.side_band.emplace_back(sources::MemoryMapped{now_ns, pid, pid, mapping});
  }
  known_[pid] = std::move(known);
}

void ProcessLooks::look_at_code(std::int32_t pid, std::uint64_t now_ns, Known& known, Batch& batch) {
  auto code = mapped_code_of(pid);
  if (code.empty()) return;  // it is gone, about to be, or not ours to look at
  for (const process::MapEntry& mapping : code)
    if (!known.code.contains(mapping))
      batch.side_band.emplace_back(sources::MemoryMapped{now_ns, pid, pid, mapping});
  known.code = std::move(code);
}

void ProcessLooks::look_at_threads(std::int32_t pid, std::uint64_t now_ns, Batch& batch) {
  const auto there = process::read_thread_ids(pid);
  const std::vector<std::int32_t> known = processes_.threads(pid);
  const std::vector<int> none;
  const std::vector<int>& tids = there ? *there : none;
  for (const int tid : tids) {
    if (std::ranges::find(known, tid) != known.end()) continue;
    batch.side_band.emplace_back(sources::ThreadStarted{now_ns, pid, tid});
    if (auto name = process::read_thread_name(pid, tid))
      batch.side_band.emplace_back(sources::ThreadNamed{now_ns, pid, tid, std::move(*name)});
  }
  for (const std::int32_t tid : known) {
    if (std::ranges::find(tids, tid) != tids.end()) continue;
    const sources::ThreadEnded event{now_ns, pid, tid};
    if (waits_ != nullptr) waits_->on(event, batch.samples);
    batch.side_band.emplace_back(event);
  }
}

}  // namespace fathom::session
