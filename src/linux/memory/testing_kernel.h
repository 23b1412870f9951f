// For tests: which kernel this is. What is tested must not say itself that it cannot work here.
#pragma once

#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

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

// Whether what was only read stands for one page of zeros, which is no part of RSS. Kernels of some virtual machines give a
// page of its own at once (pvm_no_zero_page).
inline bool kernel_has_page_of_zeros() {
  const auto resident = [] {
    std::ifstream in("/proc/self/statm");
    long size = 0, pages = 0;
    in >> size >> pages;
    return pages;
  };
  constexpr std::size_t kPages = 2000;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  const volatile char* const bytes = static_cast<const volatile char*>(memory);
  const long before = resident();
  for (std::size_t i = 0; i < kPages; ++i) (void)bytes[i * page];
  const bool is_one = resident() - before < static_cast<long>(kPages) / 2;
  ::munmap(memory, kPages * page);
  return is_one;
}

}  // namespace fathom::sources

#define FATHOM_NEEDS_PAGE_OF_ZEROS()                \
  if (!fathom::sources::kernel_has_page_of_zeros()) \
  GTEST_SKIP() << "this kernel has no page of zeros: what is read gets a page of its own"

#define FATHOM_NEEDS_PAGE_SCAN() \
  if (!fathom::sources::kernel_scans_pages()) GTEST_SKIP() << "PAGEMAP_SCAN came with Linux 6.7"
