#include "attach/inject/stop/raised_priority.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/files.h"
#include "linux/process/threads.h"

namespace fathom::inject {
namespace {

constexpr int kMark = 13;                          // real-time priority of raised threads
constexpr int kAboveMark = 14;                     // the priority of this thread
constexpr const char* kOrdinarySlack = "50000\n";  // ns, Linux init/init_task.c

// Linux include/uapi/linux/sched/types.h, its first version; glibc has it since 2.41.
struct Attributes {
  std::uint32_t size = 48, policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};
static_assert(sizeof(Attributes) == 48);

bool read_attributes(int tid, Attributes& attributes) {
  return ::syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0) == 0;
}

}  // namespace

InFront::InFront() {
  const sched_param first{.sched_priority = kAboveMark};
  raised_ = ::sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

InFront::~InFront() {
  const sched_param ordinary{};
  if (raised_) ::sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

bool may_be_raised(int tid) {
  Attributes attributes;
  if (!read_attributes(tid, attributes) || attributes.policy != SCHED_OTHER || attributes.flags != 0 ||
      attributes.nice < 0)
    return false;
  // Real-time threads have no timer slack, and afterwards get the kernel's default.
  const auto slack = read_file(fmt::format("/proc/{}/timerslack_ns", tid));
  return !slack || *slack == kOrdinarySlack;
}

bool raise_priority(int tid) {
  const sched_param mark{.sched_priority = kMark};
  return ::sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &mark) == 0;
}

bool put_back_priority(int tid) {
  sched_param parameters{};
  if (::sched_getscheduler(tid) != (SCHED_FIFO | SCHED_RESET_ON_FORK) ||
      ::sched_getparam(tid, &parameters) != 0 || parameters.sched_priority != kMark)
    return false;
  const sched_param ordinary{};
  return ::sched_setscheduler(tid, SCHED_OTHER, &ordinary) == 0;  // its nice value was kept
}

void put_back_priorities(int pid) {
  const auto tids = process::read_thread_ids(pid);
  if (!tids) return;
  for (const int tid : *tids) put_back_priority(tid);
}

}  // namespace fathom::inject
