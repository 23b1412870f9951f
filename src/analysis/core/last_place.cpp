#include "analysis/core/last_place.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/core/own_code.h"

namespace fathom::analysis {
namespace {

using Frame = model::FatalSignal::Frame;

constexpr std::uint64_t kFirstPage = 4096;
// How far from the stack pointer a push, a call or a local array faults at the end of the stack. A larger array is not recognized.
constexpr std::uint64_t kStackReach = 64 << 10;

struct NamedReason {
  std::string_view start;  // of a function's name
  EndReason reason;
};
// The first that fits, from the leaf on: what stands nearer to the end is the more exact reason.
constexpr std::array kReasons{
    NamedReason{"malloc_printerr", EndReason::kHeapDamaged},
    NamedReason{"__assert_fail", EndReason::kAssertion},
    NamedReason{"__assert_perror_fail", EndReason::kAssertion},
    NamedReason{"__GI___assert_fail", EndReason::kAssertion},
    NamedReason{"__stack_chk_fail", EndReason::kStackSmashed},
    NamedReason{"__chk_fail", EndReason::kBufferOverflow},
    NamedReason{"__GI___chk_fail", EndReason::kBufferOverflow},
    NamedReason{"__cxa_pure_virtual", EndReason::kPureVirtual},
    NamedReason{"__cxa_throw", EndReason::kException},
    NamedReason{"__cxa_rethrow", EndReason::kException},
    NamedReason{"rust_panic", EndReason::kRustPanic},
    NamedReason{"rust_begin_unwind", EndReason::kRustPanic},
    NamedReason{"std::panicking::", EndReason::kRustPanic},
    NamedReason{"core::panicking::", EndReason::kRustPanic},
    NamedReason{"runtime.dieFromSignal", EndReason::kGoPanic},
    NamedReason{"runtime.fatalpanic", EndReason::kGoPanic},
    NamedReason{"runtime.throw", EndReason::kGoPanic},
};
// Weaker: more is known if one of the others stands above it.
constexpr std::array<std::string_view, 4> kTerminates{"std::terminate", "__cxxabiv1::__terminate",
                                                      "__gnu_cxx::__verbose_terminate_handler",
                                                      "std::__terminate"};
// The way from the wish to end to the signal.
constexpr std::array<std::string_view, 12> kWayToAbort{"abort",
                                                       "raise",
                                                       "gsignal",
                                                       "__GI_abort",
                                                       "__GI_raise",
                                                       "__pthread_kill",
                                                       "pthread_kill",
                                                       "__libc_message",
                                                       "__fortify_fail",
                                                       "__GI___fortify_fail",
                                                       "__GI___pthread_kill",
                                                       "___pthread_kill"};
constexpr std::array<std::string_view, 9> kAllocatorCalls{
    "free",          "cfree",          "malloc", "realloc", "calloc", "__libc_free", "__GI___libc_free",
    "__libc_malloc", "operator delete"};

bool starts_any(const auto& starts, std::string_view text) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

class Reading {
 public:
  explicit Reading(const model::Profile& profile) : profile_(profile), own_code_(profile) {}
  bool is_own(const Frame& frame) const {
    const auto module = module_of(frame);
    return module && own_code_.is_own(frame.function, *module, frame.file);
  }
  bool is_library(const Frame& frame) const {
    const auto module = module_of(frame);
    return module && own_code_.is_library(*module);
  }

 private:
  std::optional<model::ModuleId> module_of(const Frame& frame) const {
    for (std::uint32_t i = 1; i < profile_.modules.size(); ++i)
      if (profile_.strings[profile_.modules[i].name] == frame.module) return model::ModuleId{i};
    return std::nullopt;
  }
  const model::Profile& profile_;
  OwnCode own_code_;
};

EndReason reason_of_abort(const std::vector<Frame>& frames, const Reading& reading) {
  bool terminates = false, aborts = false;
  for (const Frame& frame : frames) {
    for (const NamedReason& named : kReasons)
      if (frame.function.starts_with(named.start)) return named.reason;
    if (reading.is_own(frame)) break;
    terminates = terminates || starts_any(kTerminates, frame.function);
    aborts = aborts || frame.function == "abort" || frame.function == "__GI_abort";
    // A C library without names of its own shows what it exports only.
    if (aborts && reading.is_library(frame) &&
        std::ranges::find(kAllocatorCalls, frame.function) != kAllocatorCalls.end())
      return EndReason::kHeapDamaged;
  }
  return terminates ? EndReason::kTerminate : aborts ? EndReason::kAbort : EndReason::kNone;
}

EndReason reason_of_fault(const model::FatalSignal& signal) {
  constexpr int kIntegerDivision = 1, kBehindTheFile = 2;  // FPE_INTDIV, BUS_ADRERR
  constexpr int kByTheKernel = 0x80;                       // SI_KERNEL: without an address
  if (signal.code <= 0) return EndReason::kNone;
  if (signal.signal == SIGFPE)
    return signal.code == kIntegerDivision ? EndReason::kDivision : EndReason::kNone;
  if (signal.signal == SIGBUS) return signal.code == kBehindTheFile ? EndReason::kFileCut : EndReason::kNone;
  if (signal.signal != SIGSEGV || signal.code == kByTheKernel) return EndReason::kNone;
  if (signal.address < kFirstPage) return EndReason::kNullPointer;
  const bool is_at_the_stack = signal.address + kStackReach >= signal.stack_pointer &&
                               signal.address < signal.stack_pointer + kFirstPage;
  return is_at_the_stack ? EndReason::kStackOverflow : EndReason::kNone;
}

}  // namespace

LastPlace last_place_of(const model::Profile& profile, const model::FatalSignal& signal) {
  LastPlace place;
  const Reading reading(profile);
  const auto own =
      std::ranges::find_if(signal.frames, [&](const Frame& frame) { return reading.is_own(frame); });
  if (own != signal.frames.end()) place.own = *own;
  const auto where = std::ranges::find_if(signal.frames, [](const Frame& frame) {
    return frame.function != "(heap tracer)" && !starts_any(kWayToAbort, frame.function);
  });
  if (where != signal.frames.end()) place.where = *where;
  place.reason = reason_of_fault(signal);
  if (place.reason == EndReason::kNone && signal.sender_pid != 0) {
    const bool by_itself = std::ranges::any_of(profile.threads, [&](const model::Thread& thread) {
      return thread.tid == signal.tid && profile.processes[thread.process.value].pid == signal.sender_pid;
    });
    if (!by_itself && signal.sender_pid != signal.tid) place.reason = EndReason::kSent;
  }
  if (place.reason == EndReason::kNone) place.reason = reason_of_abort(signal.frames, reading);
  return place;
}

}  // namespace fathom::analysis
