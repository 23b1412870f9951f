// For tests: what this user may record, according to the kernel and not to the code under test. Otherwise a
// test of broken code would be skipped instead of failing.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "base/fd.h"

namespace fathom::sources::testing {

// Why this user may not open an event of `pid` (-1: of all processes) on `cpu` (-1: on any), or nothing.
inline std::optional<std::string> why_no_event(pid_t pid, int cpu, bool with_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = 1'000'000;
  attributes.disabled = 1;
  attributes.exclude_kernel = with_kernel ? 0 : 1;
  const Fd event(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (event) return std::nullopt;
  return std::string(std::strerror(errno));
}

}  // namespace fathom::sources::testing

#define FATHOM_NEEDS_EVENT(pid, cpu, with_kernel)                                       \
  if (const auto why = ::fathom::sources::testing::why_no_event(pid, cpu, with_kernel)) \
  GTEST_SKIP() << "needs perf events: " << *why
