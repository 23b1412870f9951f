#include "analysis/waits/wait_site.h"

#include <algorithm>

#include "analysis/core/call_tree.h"
#include "analysis/core/functions.h"
#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

// visit(name, frame, number of its line) from the leaf on, user frames only, until it gives false.
template <class Visit>
void for_each_user_line(const model::Profile& profile, const ShownCalls& shown, model::StackId stack,
                        Visit visit) {
  shown.visit(stack, 0, [&](model::FrameId id, std::uint32_t line) {
    const model::Frame& frame = profile.frames[id.value];
    const bool of_kernel = profile.modules[frame.module.value].kind == model::ModuleKind::kKernel;
    return of_kernel || visit(frame_name(profile, id, line), frame, line);
  });
}

// "lock_contended", "RawMutex::lock_slow", "acquire": but not "mine_block", "blocking" and "clock".
bool speaks_of_a_lock(std::string_view name) {
  for (const std::string_view word : {"mutex", "Mutex", "Lock", "acquire", "Acquire"})
    if (name.find(word) != name.npos) return true;
  for (std::size_t at = name.find("lock"); at != name.npos; at = name.find("lock", at + 1))
    if (at == 0 || std::string_view("bcBC").find(name[at - 1]) == std::string_view::npos) return true;
  return false;
}

// Where Python, Ruby and OCaml wait for the one lock that lets a thread run the language's code, and Java and Ruby for a lock of the
// program. They wait at a condition variable, but what they wait for has a holder.
bool is_lock_of_a_runtime(std::string_view name) {
  for (const std::string_view of :
       {"ObjectMonitor::enter", "ObjectMonitor::EnterI", "ObjectMonitor::ReenterI",
        "ObjectSynchronizer::enter", "rb_mutex_lock", "rb_mutex_synchronize", "do_mutex_lock", "take_gil",
        "drop_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "gvl_acquire", "rb_gvl_acquire",
        "thread_sched_to_running", "st_masterlock_acquire", "caml_leave_blocking_section"})
    if (name.starts_with(of)) return true;
  return false;
}

// Of a stripped interpreter: only its own lock makes it wait at a condition variable.
bool is_nameless_part_of_python(std::string_view name, std::string_view module) {
  return (module.starts_with("python3") || module.starts_with("libpython3")) && is_unnamed(name);
}

// "join_lines" is a function of the program, and its wait another one.
bool is_join(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return name == "join" || (has("pthread_") && has("join")) || has("thrd_join") || has("::join") ||
         has("JoinHandle") || has("JoinInner");
}

}  // namespace

std::string_view to_string(FutexKind kind) {
  switch (kind) {
    case FutexKind::kReaderWriter:
      return "rwlock";
    case FutexKind::kCondition:
      return "condition";
    case FutexKind::kSemaphore:
      return "semaphore";
    case FutexKind::kBarrier:
      return "barrier";
    case FutexKind::kPark:
      return "park";
    case FutexKind::kJoin:
      return "join";
    case FutexKind::kChannel:
      return "channel";
    case FutexKind::kLock:
      break;
  }
  return "lock";
}

WaitSites::Whose WaitSites::whose(std::string_view name, const model::Frame& frame, std::uint32_t line) {
  const auto ask = [&](std::string_view file) {
    return own_code_.is_own(name, frame.module, file) ? Whose::kOwn
           : own_code_.is_runtime(name, frame.module) ? Whose::kRuntime
                                                      : Whose::kPackage;
  };
  if (line >= frame.line_count) return ask("");
  Whose& known = of_line_[frame.first_line + line];
  if (known == Whose::kNotAsked) known = ask(profile_.strings[profile_.lines[frame.first_line + line].file]);
  return known;
}

const WaitSites::Site& WaitSites::find(model::StackId stack) {
  std::optional<Site>& known = known_[stack.value];
  if (known) return *known;
  known.emplace();
  std::string innermost, of_package, of_program;
  std::string between;           // an unnamed function that a runtime's function called
  std::string called;            // the last function, if it has a name and is not of the own code
  model::ModuleId runtime = {};  // whose function was the last one
  for_each_user_line(
      profile_, shown_, stack, [&](std::string name, const model::Frame& frame, std::uint32_t line) {
        const Whose owner = whose(name, frame, line);
        const bool in_runtime = owner == Whose::kRuntime && frame.module == runtime;
        if (!between.empty() && !in_runtime) {
          known->own = true;
          known->name = std::move(between);
          return false;
        }
        between.clear();
        // A function that lost its name and lies between two of a runtime in one file is the runtime's, too: of a stripped
        // PostgreSQL the one between LockAcquireExtended and ProcSleep.
        if (owner == Whose::kOwn && frame.module == runtime && model::nameless_function(name)) {
          between = std::move(name);
          return true;
        }
        runtime = owner == Whose::kRuntime ? frame.module : model::ModuleId{};
        known->own = owner == Whose::kOwn;
        // Code that was generated at run time has an address at best, and a new one for each version.
        if (known->own && name.starts_with("[jit+") && !called.empty()) {
          known->own = false;
          known->name = called;
          return false;
        }
        if (known->own) known->name = name;
        called = known->own || is_unnamed(name) ? std::string() : name;
        if (owner == Whose::kPackage && of_package.empty()) of_package = name;
        if (of_program.empty() && !own_code_.is_library(frame.module)) of_program = name;
        if (innermost.empty()) innermost = std::move(name);
        return !known->own;
      });
  if (!between.empty()) {
    known->own = true;
    known->name = std::move(between);
  }
  if (known->own || !known->name.empty()) return *known;
  // A runtime's function inside of the program says more than the C library's way into the kernel.
  known->name = !of_package.empty()   ? std::move(of_package)
                : !of_program.empty() ? std::move(of_program)
                                      : std::move(innermost);
  if (known->name.empty()) {  // a kernel thread, or nothing at all
    known->name = "[no stack]";
    shown_.visit(stack, 0, [&](model::FrameId frame, std::uint32_t) {
      known->name = frame_name(profile_, frame);
      return true;
    });
  }
  return *known;
}

const std::string& WaitSites::of(model::StackId stack) {
  return find(stack).name;
}

WaitSites::Place WaitSites::of_wait(const model::Wait& wait) {
  const Site& site = find(wait.stack);
  if (site.own || wait.waker_stack.value == 0) return {site.name, false};
  const Site& ended = find(wait.waker_stack);
  return ended.own ? Place{ended.name, true} : Place{site.name, false};
}

FutexKind WaitSites::futex_kind(model::StackId stack) const {
  const ShownCalls all(profile_, nullptr);
  FutexKind kind = FutexKind::kLock;
  std::size_t seen = 0, most = 6;  // farther out it is about something else
  bool is_bare = false;            // the call is made without the C library's locks
  bool may_lock = false;           // a function near it has a lock in its name, or no name
  bool called_condition = false;   // the last function waits at a condition variable
  for_each_user_line(
      profile_, all, stack, [&](const std::string& name, const model::Frame& frame, std::uint32_t) {
        const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
        const bool is_lock_without_name =
            called_condition &&
            is_nameless_part_of_python(name, profile_.strings[profile_.modules[frame.module.value].name]);
        called_condition = has("pthread_cond_") && has("wait");
        if (is_lock_of_a_runtime(name) || is_lock_without_name) {
          kind = FutexKind::kLock;
          may_lock = true;
          return false;
        }
        if (kind == FutexKind::kCondition) return ++seen < most;
        if (has("cond_wait") || has("cond_timedwait") || has("cond_clockwait") || has("ondvar") ||
            has("CondVar") || has("condition_variable")) {
          kind = FutexKind::kCondition;
          // Calls: "pthread_cond_timedwait < PyCOND_TIMEDWAIT < take_gil"; and Ruby's, none of which has a name but the last. A block
          // that rb_mutex_synchronize runs, and that waits itself, is farther from it.
          constexpr std::size_t kToRuntime = 6;
          most = seen + kToRuntime;
          return true;
        } else if (has("rwlock") || has("RwLock") || has("shared_mutex") || has("SharedMutex")) {
          kind = FutexKind::kReaderWriter;
        } else if (has("sem_wait") || has("sem_timedwait") || has("sem_clockwait") || has("Semaphore::") ||
                   has("counting_semaphore")) {
          kind = FutexKind::kSemaphore;
        } else if (has("barrier_wait") || has("Barrier::wait") || has("arrive_and_wait") ||
                   has("latch::wait")) {
          kind = FutexKind::kBarrier;
        } else if (is_join(name)) {
          kind = FutexKind::kJoin;
        } else if (has("::mpmc::") || has("::mpsc::")) {
          kind = FutexKind::kChannel;
        } else if ((has("park") && !has("parking_lot")) || has("runtime.notesleep") ||
                   has("runtime.notetsleep")) {  // Go's threads sleep at a note until another one wakes them
          kind = FutexKind::kPark;
        }
        // How a lock waits is many calls deep where lines are known, and says nothing about which lock it is.
        const bool inside = has("parking_lot_core::") || has("core::ops::") || has("core::option::");
        if (seen == 0) is_bare = name == "syscall";
        may_lock |= speaks_of_a_lock(name) || is_unnamed(name);
        seen += inside ? 0 : 1;
        return kind == FutexKind::kLock && seen < most;
      });
  // Rust's library is inlined down to the system call, and what it locks with is not.
  return kind == FutexKind::kLock && is_bare && !may_lock ? FutexKind::kPark : kind;
}

bool WaitSites::is_parker(model::StackId stack) const {
  const ShownCalls all(profile_, nullptr);
  bool found = false;
  for_each_user_line(profile_, all, stack, [&](const std::string& name, const model::Frame&, std::uint32_t) {
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    found = has("parking_lot::") || has("parking_lot_core::") || has("thread_parking") ||
            has("std::thread::park") || has("std::thread::Thread::park") || has("::parker::") ||
            has("Parker::park") || has("::park::") || name == "PGSemaphoreLock";  // of the process
    return !found;
  });
  return found;
}

std::string WaitSites::path(model::StackId stack, std::size_t most) const {
  std::string text;
  std::size_t shown = 0;
  for_each_user_line(profile_, shown_, stack,
                     [&](const std::string& name, const model::Frame&, std::uint32_t) {
                       if (shown == most) {
                         text += " < ...";
                         return false;
                       }
                       text += (shown++ == 0 ? "" : " < ") + name;
                       return true;
                     });
  return text.empty() ? "[no user stack]" : text;
}

}  // namespace fathom::analysis
