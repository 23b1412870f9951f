#include "tools/stacks/live/live_threads.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "analysis/stacks/describe.h"
#include "analysis/stacks/take_names.h"
#include "analysis/stacks/verdict.h"
#include "base/abi/walk.h"
#include "base/clock.h"
#include "linux/process/directory.h"
#include "linux/process/find.h"
#include "linux/process/standstill.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"
#include "record/session/tracking/copied_walk.h"
#include "tools/stacks/live/running_stacks.h"

namespace fathom::stacks {
namespace {

constexpr std::size_t kMaxStacks = 1'000'000;
// A thread that runs has a sample after a millisecond; one that waits for a CPU after its turn.
constexpr std::uint64_t kSampleNs = 60'000'000;
constexpr int kSampleTries = 30;
// Holders in other processes, and the holders that these wait for.
constexpr int kMostSteps = 4;

bool read_memory(std::int32_t pid, std::uint64_t address, std::span<std::byte> bytes) {
  iovec local{bytes.data(), bytes.size()};
  iovec remote{reinterpret_cast<void*>(address), bytes.size()};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
}

State state_of(char state) {
  switch (state) {
    case 'R':
      return State::kRuns;
    case 'T':
    case 't':
      return State::kStopped;
    case 'Z':
    case 'X':
      return State::kExiting;
    default:
      return State::kWaits;
  }
}

bool has_one_thread(std::int32_t pid) {
  const auto status = process::read_status(pid);
  return status && status->threads == 1;
}

// What was read of its wait is of no one moment.
void as_running(ThreadLook& thread) {
  ThreadLook running;
  running.pid = thread.pid;
  running.tid = thread.tid;
  running.name = std::move(thread.name);
  running.state = State::kRuns;
  thread = std::move(running);
}

}  // namespace

LiveThreads::LiveThreads(symbolize::Options symbols, std::chrono::seconds names)
    : symbols_(std::move(symbols)),
      modules_(builder_, symbols_, {}, true),
      processes_(profile_, modules_, no_walker_, false),
      stacks_(profile_, builder_, processes_, modules_, symbols_, kMaxStacks),
      walker_(processes_),
      names_(names) {}

bool LiveThreads::refresh(std::int32_t pid) {
  walker_.forget(pid);
  if (!processes_.read_from_proc(pid)) return false;
  numbers_.try_emplace(pid, pid).first->second.refresh();
  return true;
}

Result<> LiveThreads::add(std::int32_t pid) {
  if (!process::read_process(pid)) return tl::unexpected<Error>(process::unreadable_process(pid));
  if (const auto readable = sources::BlockedThreadFile::open(pid, pid); !readable)
    return tl::unexpected<Error>(process::unreadable_process(pid));
  if (const auto maps = process::read_maps(pid); !maps)
    return tl::unexpected<Error>(process::unreadable_process(pid));
  targets_.push_back(pid);
  return {};
}

void LiveThreads::add_wait(ThreadLook& thread, session::BlockedWait& blocked, char state) {
  sources::Waited& waited = blocked.wait;
  waited.state = state == 'D' ? 2 : state == 'T' ? 4 : state == 't' ? 8 : 1;
  if (waited.file_mode != 0) descriptors_->add_peer(waited);
  const session::ResolvedStack resolved = stacks_.resolve(blocked.stack);
  model::Wait wait;
  wait.start_ns = waited.out_ns;
  wait.thread = processes_.thread_row(thread.pid, thread.tid);
  wait.stack = resolved.stack;
  wait.end = resolved.end;
  wait.system_call = waited.system_call;
  wait.state = state == 'D'   ? model::WaitState::kUninterruptible
               : state == 'T' ? model::WaitState::kStopped
               : state == 't' ? model::WaitState::kTraced
                              : model::WaitState::kInterruptible;
  wait.began_before = wait.unfinished = true;
  const auto found = objects_.find(waited);
  wait.object = found.object;
  wait.argument = found.argument;
  thread.wait = static_cast<std::uint32_t>(profile_.waits.size());
  profile_.waits.push_back(wait);
  thread.stack = resolved.stack;
  thread.end = resolved.end;
  std::copy_n(std::begin(waited.arguments), thread.arguments.size(), thread.arguments.begin());
  inodes_[{thread.pid, thread.tid}] = waited.inode;
}

// False: it runs, or has moved on meanwhile.
bool LiveThreads::read_blocked(ThreadLook& thread, char state) {
  const auto file = sources::BlockedThreadFile::open(thread.pid, thread.tid);
  if (!file) {
    thread.state = State::kUnknown;
    ++unreadable_;
    return true;
  }
  auto blocked = walker_.walk(*file, thread.pid, thread.tid, monotonic_ns());
  if (!blocked) {
    thread.state = blocked.error().kind == ErrorKind::kNotFound ? State::kExiting : State::kUnknown;
    unreadable_ += thread.state == State::kUnknown ? 1 : 0;
    return true;
  }
  if (!*blocked) return false;
  add_wait(thread, **blocked, state);
  thread.state = state_of(state);
  thread.waited_ns = clocks_.since_it_ran(thread.pid, thread.tid);
  // It ran between two readings: what was read is of its next wait, or of none.
  const auto after = process::read_schedstat(thread.pid, thread.tid);
  if (after && thread.slices != 0 && after->slices != thread.slices) return false;
  return true;
}

void LiveThreads::read_thread(std::int32_t pid, std::int32_t tid, Look& look) {
  ThreadLook thread;
  thread.pid = pid;
  thread.tid = tid;
  const auto stat = process::read_thread_stat(pid, tid);
  if (!stat || stat->kernel_thread) return;  // it has ended
  thread.name = stat->name;
  thread.state = state_of(stat->state);
  if (thread.state != State::kRuns && thread.state != State::kExiting) {
    if (const auto times = process::read_schedstat(pid, tid)) thread.slices = times->slices;
    if (!read_blocked(thread, stat->state)) as_running(thread);
  }
  look.threads.push_back(std::move(thread));
}

void LiveThreads::sample_running(Look& look) {
  std::map<std::int32_t, ThreadLook*> running;
  std::vector<std::int32_t> tids;
  for (ThreadLook& thread : look.threads) {
    if (thread.state != State::kRuns) continue;
    running[thread.tid] = &thread;
    tids.push_back(thread.tid);
  }
  if (tids.empty()) return;
  auto sampled = RunningStacks::open(tids);
  if (!sampled && sampled.error().kind != ErrorKind::kNotFound)
    look.notes.push_back(fmt::format("fathom cannot sample threads that run: {}", sampled.error().message));
  std::map<std::int32_t, unwind::AddressSpace> spaces;
  const std::uint64_t deadline = monotonic_ns() + kSampleNs;
  for (int tries = 0; !running.empty() && tries < kSampleTries && monotonic_ns() < deadline; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (sampled) {
      for (const sources::CopiedStackSample& sample : sampled->take()) {
        const auto of = running.find(sample.tid);
        if (of == running.end()) continue;
        ThreadLook& thread = *of->second;
        const auto [space, is_new] = spaces.try_emplace(thread.pid);
        if (is_new) space->second = session::address_space_of(processes_.mappings(thread.pid));
        sources::StackSeen seen;
        seen.pid = thread.pid;
        seen.kernel = sample.kernel;
        seen.end = WALK_EXITING;
        if (sample.has_user) session::walk_copied(space->second, sample, seen);
        const session::ResolvedStack resolved = stacks_.resolve(seen);
        thread.stack = resolved.stack;
        thread.end = resolved.end;
        running.erase(of);
      }
    }
    // One that was about to wait does so by now.
    for (auto each = running.begin(); each != running.end();) {
      ThreadLook& thread = *each->second;
      const auto stat = process::read_thread_stat(thread.pid, thread.tid);
      const auto times = process::read_schedstat(thread.pid, thread.tid);
      bool done = !stat;
      if (!stat) thread.state = State::kExiting;
      if (stat && state_of(stat->state) == State::kWaits) {
        thread.slices = times ? times->slices : 0;
        done = read_blocked(thread, stat->state);
        if (!done) as_running(thread);
      }
      if (done && sampled) sampled->forget(thread.tid);
      each = done ? running.erase(each) : std::next(each);
    }
  }
}

void LiveThreads::take_names(Look& look) {
  if (!symbols_.drain(names_) && !std::exchange(look.lacks_names, true))
    look.notes.emplace_back("some names are missing: reading them took too long; a second run has them");
  auto found = symbols_.poll();
  for (const auto& frame : found.frames) name_frame(builder_, frame.frame, frame.names);
  for (const auto& health : found.modules) {
    profile_.modules[health.module.value].symbols = health.symbols;
    if (!health.problem.empty()) look.notes.push_back(health.problem);
    if (!health.lost.empty()) look.notes.push_back(health.lost);
  }
}

std::optional<std::int32_t> LiveThreads::outer_number(std::int32_t pid, std::int32_t inner) {
  const auto tid = known_number(pid, inner);
  if (!tid) return std::nullopt;
  // A zombie keeps its number until its parent takes notice, and releases nothing.
  const auto status = process::read_status(*tid);
  return status && state_of(status->state) == State::kExiting ? std::nullopt : tid;
}

std::optional<std::int32_t> LiveThreads::known_number(std::int32_t pid, std::int32_t inner) {
  if (const auto own = numbers_.find(pid); own != numbers_.end())
    if (const auto tid = own->second.outer(inner)) return tid;
  const std::uint64_t space = process::read_namespaces(pid).pid;
  if (space == process::read_namespaces(::getpid()).pid)
    return process::read_status(inner) ? std::optional(inner) : std::nullopt;
  // A process of the same container.
  const auto pids = process::numbers_in("/proc");
  if (!pids || space == 0) return std::nullopt;
  for (const std::int32_t other : *pids) {
    if (process::read_namespaces(other).pid != space) continue;
    process::InnerThreads threads(other);
    threads.refresh();
    if (const auto tid = threads.outer(inner)) return tid;
  }
  return std::nullopt;
}

Numbers LiveThreads::numbers() {
  Numbers numbers;
  numbers.outer = [this](std::int32_t pid, std::int32_t inner) { return outer_number(pid, inner); };
  numbers.stranger = [](std::int32_t tid) -> std::optional<Numbers::Stranger> {
    const auto status = process::read_status(tid);
    if (!status) return std::nullopt;
    const auto process = process::read_process(status->pid);
    return Numbers::Stranger{status->pid, process ? process->name : status->name};
  };
  numbers.file_lock = [this](const ThreadLook& thread) {
    return descriptors_->file_lock_holder(thread.pid, inodes_[{thread.pid, thread.tid}]);
  };
  numbers.has_one_thread = has_one_thread;
  return numbers;
}

std::set<std::int32_t> LiveThreads::holders_elsewhere(const Look& look) const {
  std::set<std::int32_t> tids;
  for (const ThreadLook& thread : look.threads)
    if (thread.holder.kind == Holder::Kind::kProcess &&
        ((thread.holder.evidence != Evidence::kFileLocks && thread.holder.evidence != Evidence::kChild) ||
         has_one_thread(thread.holder.pid)))
      tids.insert(thread.holder.tid);
  return tids;
}

void LiveThreads::confirm(Look& look) {
  for (ThreadLook& thread : look.threads) {
    if (thread.holder.kind == Holder::Kind::kUnknown) continue;
    const auto times = process::read_schedstat(thread.pid, thread.tid);
    const auto stat = process::read_thread_stat(thread.pid, thread.tid);
    const bool same =
        times && stat && times->slices == thread.slices && state_of(stat->state) != State::kRuns;
    if (!same) thread.holder = {};
  }
}

Result<Look> LiveThreads::look() {
  Look look;
  look.time_ns = monotonic_ns();
  profile_.waits.clear();
  inodes_.clear();
  descriptors_.emplace();
  unreadable_ = 0;
  for (const std::int32_t pid : targets_) {
    if (!refresh(pid)) continue;
    Target target;
    target.pid = pid;
    if (const auto info = process::read_process(pid)) target.name = info->name;
    if (const auto status = process::read_status(pid)) target.tracer_pid = status->tracer_pid;
    target.stopped = process::standstill(pid) != process::Standstill::kNone;
    look.targets.push_back(std::move(target));
    for (const std::int32_t tid : processes_.threads(pid)) read_thread(pid, tid, look);
  }
  if (look.targets.empty()) return fail(ErrorKind::kNotFound, "the process has ended");
  sample_running(look);
  const ProcessMemory memory = read_memory;
  for (int step = 0; step < kMostSteps; ++step) {
    take_names(look);
    describe(profile_, memory, look);
    find_holders(memory, numbers(), look);
    const std::set<std::int32_t> elsewhere = holders_elsewhere(look);
    if (elsewhere.empty()) break;
    const std::size_t known = look.threads.size();
    for (const std::int32_t tid : elsewhere) {
      const auto status = process::read_status(tid);
      if (status && refresh(status->pid)) read_thread(status->pid, tid, look);
    }
    if (look.threads.size() == known) break;
  }
  confirm(look);
  look.verdicts = find_verdicts(profile_, look);
  for (std::string& note : modules_.take_notes()) look.notes.push_back(std::move(note));
  if (unreadable_ != 0)
    look.notes.push_back(fmt::format("{} threads cannot be read (ptrace access denied)", unreadable_));
  look.took_ns = monotonic_ns() - look.time_ns;
  return look;
}

}  // namespace fathom::stacks
