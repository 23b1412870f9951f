// For tests: the breakpoint registers that the kernel has, found without the code under test.
#pragma once

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/fd.h"

namespace fathom::inject::testing {

// -1: see errno.
inline Fd take_register(int thread, std::uint64_t address) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = address;
  attributes.bp_len = sizeof(long);
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return Fd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

// The number of free registers of a thread: takes them all, and frees them.
inline std::size_t free_registers(int thread, std::uint64_t address) {
  std::vector<Fd> taken;
  while (taken.size() < 8) {
    Fd one = take_register(thread, address + taken.size());
    if (!one) break;
    taken.push_back(std::move(one));
  }
  return taken.size();
}

}  // namespace fathom::inject::testing

#define FATHOM_NEEDS_BREAKPOINTS()                                                                \
  if (fathom::inject::testing::free_registers(0, reinterpret_cast<std::uint64_t>(&::getpid)) < 4) \
  GTEST_SKIP() << "needs perf events: no four breakpoints can be set here"
