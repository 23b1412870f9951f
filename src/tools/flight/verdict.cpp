#include "tools/flight/verdict.h"

#include <csignal>

namespace fathom::flight {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGroupLimit:
      return "group-limit";
    case Verdict::kMachine:
      return "machine";
    case Verdict::kWantOfMemory:
      return "want-of-memory";
    case Verdict::kAskedFor:
      return "asked-for";
    case Verdict::kSomebodysKill:
      return "somebodys-kill";
    case Verdict::kKill:
      return "kill";
    case Verdict::kCrash:
      return "crash";
    case Verdict::kSignal:
      break;
  }
  return "signal";
}

std::optional<Verdict> judge(const EndFacts& facts) {
  // The kernel kills by SIGKILL alone. If the signal is unknown, its record is enough.
  const bool may_be_kernel = facts.signal == SIGKILL || facts.signal == 0;
  if (facts.record != nullptr && may_be_kernel && !facts.record_is_of_another) {
    if (facts.record->asked_for) return Verdict::kAskedFor;
    switch (facts.record->scope) {
      case oom::Scope::kGroup:
        return Verdict::kGroupLimit;
      case oom::Scope::kMachine:
      case oom::Scope::kCpuset:
      case oom::Scope::kMemoryPolicy:
        return Verdict::kMachine;
      case oom::Scope::kPressure:  // a service's reason, and no kernel's record
      case oom::Scope::kUnknown:
        break;
    }
    return Verdict::kWantOfMemory;
  }
  if (facts.signal == 0) return std::nullopt;
  if (facts.signal == SIGKILL) {
    // The counter also moves when the machine as a whole was full, so by itself it does not say whose limit it was. If
    // the record names another victim it was that one which was counted.
    if (facts.group_counted && facts.record == nullptr) switch (facts.cause) {
        case CountedCause::kLimit:
          return Verdict::kGroupLimit;
        case CountedCause::kMachine:
          return Verdict::kMachine;
        case CountedCause::kNotKnown:
          return Verdict::kWantOfMemory;
      }
    return facts.log_read || (facts.group_watched && !facts.group_counted) ? Verdict::kSomebodysKill
                                                                           : Verdict::kKill;
  }
  switch (facts.signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGSYS:
    case SIGTRAP:
      return Verdict::kCrash;
    default:
      return Verdict::kSignal;
  }
}

}  // namespace fathom::flight
