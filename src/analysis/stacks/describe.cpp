#include "analysis/stacks/describe.h"

#include <algorithm>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "analysis/core/idle.h"
#include "analysis/core/shown_calls.h"
#include "analysis/stacks/parked_locks.h"

namespace fathom::stacks {
namespace {

using analysis::Cause;
using analysis::FutexKind;

// visit(name, frame, line) of user frames, leaf first, until it returns false.
template <class Visit>
void for_each_call(const model::Profile& profile, model::StackId stack, Visit visit) {
  const analysis::ShownCalls all(profile, nullptr);
  all.visit(stack, 0, [&](model::FrameId id, std::uint32_t line) {
    const model::Frame& frame = profile.frames[id.value];
    if (profile.modules[frame.module.value].kind == model::ModuleKind::kKernel) return true;
    return visit(analysis::frame_name(profile, id, line), frame, line);
  });
}

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// By the innermost function that is part of a lock. How a lock waits is a few calls deep; farther out a name says something else.
LockFamily family_of(const model::Profile& profile, model::StackId stack) {
  constexpr std::size_t kMostCalls = 8;
  LockFamily family = LockFamily::kUnknown;
  std::size_t seen = 0;
  for_each_call(profile, stack, [&](std::string_view name, const model::Frame&, std::uint32_t) {
    if (has(name, "parking_lot"))
      family = LockFamily::kParkingLot;
    else if (has(name, "std::sys::") || has(name, "std::sync::poison::"))
      family = LockFamily::kRust;
    else if (has(name, "pthread_rwlock_"))
      family = LockFamily::kPthreadRwlock;
    else if (has(name, "pthread_mutex_"))
      family = LockFamily::kPthreadMutex;
    return family == LockFamily::kUnknown && ++seen < kMostCalls;
  });
  return family;
}

void describe_futex(const model::Profile& profile, const MemoryReader& read, const analysis::WaitSites& sites,
                    ThreadLook& thread) {
  Awaited& awaited = thread.awaited;
  const auto call = futex_call(thread.arguments);
  if (!call) return;
  awaited.address = call->address;
  awaited.process_private = call->is_private;
  awaited.has_timeout = call->has_timeout;
  awaited.family = family_of(profile, thread.stack);
  awaited.futex = sites.futex_kind(thread.stack);
  // The innermost function decides: a caller may be named "join", and a thread that was notified waits for the mutex inside of
  // pthread_cond_wait. Without names the word of the mutex shows it.
  const bool no_names = awaited.family == LockFamily::kUnknown;
  if (awaited.family == LockFamily::kPthreadMutex ||
      (awaited.futex == FutexKind::kCondition && no_names && mutex_owner(*call, read)))
    awaited.futex = FutexKind::kLock;
  if (awaited.family == LockFamily::kPthreadRwlock) {
    awaited.futex = FutexKind::kReaderWriter;
    awaited.address = rwlock_start(*call);  // its waiters sleep at two words
  }
  // glibc's own join; a thread is often joined by a function with another name.
  if (awaited.futex != FutexKind::kJoin && awaited_thread(*call, read) && awaited.futex == FutexKind::kLock &&
      awaited.family == LockFamily::kUnknown)
    awaited.futex = FutexKind::kJoin;
}

}  // namespace

Place place_of(const model::Profile& profile, analysis::WaitSites& sites, model::StackId stack) {
  Place place;
  if (stack.value == 0) return place;
  place.function = sites.of(stack);
  for_each_call(profile, stack, [&](std::string_view name, const model::Frame& frame, std::uint32_t line) {
    if (name != place.function) return true;
    if (line < frame.line_count) {
      const model::Line& row = profile.lines[frame.first_line + line];
      place.file = profile.strings[row.file];
      place.line = row.line;
    }
    return false;
  });
  return place;
}

void describe(const model::Profile& profile, const ProcessMemory& memory, Look& look) {
  const analysis::WaitCauses causes(profile);
  const analysis::RuledWaits rules(profile, analysis::built_in_idle_rules());
  analysis::WaitSites sites(profile);
  for (ThreadLook& thread : look.threads) {
    thread.place = place_of(profile, sites, thread.stack);
    if (!thread.wait) continue;
    const model::Wait& wait = profile.waits[*thread.wait];
    thread.awaited.cause = causes.of(wait);
    thread.awaited.object = causes.label(wait);
    // What it waited for when it was stopped.
    if (thread.state == State::kStopped) thread.awaited.cause = analysis::cause_of_call(wait.system_call);
    if (thread.awaited.cause == Cause::kFutex) {
      const std::int32_t pid = thread.pid;
      const MemoryReader read = [&memory, pid](std::uint64_t address, std::span<std::byte> bytes) {
        return memory(pid, address, bytes);
      };
      describe_futex(profile, read, sites, thread);
    }
    // A crowd at one condition variable looks idle in a recording, where it is seen that nothing wakes it for long. One look
    // proves no such thing.
    const auto rule = rules.rule_of(wait, thread.awaited.cause);
    if (rule && rules.crowd(*rule) == 0) thread.idle = rules.name(*rule);
  }
  find_parked_locks(memory, look);
}

}  // namespace fathom::stacks
