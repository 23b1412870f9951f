// For tests: which kernel this is. What is tested must not say itself that it cannot work here.
#pragma once

#include <sys/utsname.h>

#include <cstdio>

namespace fathom::sources {

inline bool kernel_is_at_least(int major, int minor) {
  utsname name{};
  int has_major = 0, has_minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &has_major, &has_minor) == 2 &&
         (has_major > major || (has_major == major && has_minor >= minor));
}

// PAGEMAP_SCAN.
inline bool kernel_scans_pages() {
  return kernel_is_at_least(6, 7);
}
// status adds its counters up; before, each may be off by a batch for each CPU.
inline bool kernel_tells_rss_exactly() {
  return kernel_is_at_least(6, 16);
}

}  // namespace fathom::sources

#define FATHOM_NEEDS_PAGE_SCAN() \
  if (!fathom::sources::kernel_scans_pages()) GTEST_SKIP() << "PAGEMAP_SCAN came with Linux 6.7"
