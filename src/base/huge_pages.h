// Large blocks of the heap in large pages: who reads a large recording looks up millions of rows in no order, and without them
// half of that time goes to finding pages (src/base/WHY.md). For commands that read and end; a recorder stays small.
#pragma once

namespace fathom {

// From now on, for blocks of at least 4 MiB from operator new. If the kernel has no large pages to give
// (transparent_hugepage: never), and under sanitizers, which have their own operator new, nothing changes.
void use_huge_pages() noexcept;

}  // namespace fathom
