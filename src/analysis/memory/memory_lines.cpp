#include "analysis/memory/memory_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using model::MemoryKind;
using model::MemoryRange;

constexpr std::string_view kCode = " (code)", kZeroed = " (.bss)";

std::string without(std::string_view name, std::string_view ending) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return std::string(name);
}

class LineMaker {
 public:
  LineMaker(const model::Profile& names, std::uint64_t rss_bytes) : names_(names) {
    made_.rss_bytes = rss_bytes;
  }

  void add(const MemoryRange& row) {
    const std::string name(names_.strings[row.name]);
    switch (row.kind) {
      case MemoryKind::kAllocator:
        return add_allocator(row, name);
      case MemoryKind::kBreak:
        return put("heap", "heap of brk", row, row.rss_bytes);
      case MemoryKind::kMapped:
        return put("mapped", name.empty() ? "mapped by the program itself" : "mapped by the program: " + name,
                   row, row.rss_bytes);
      case MemoryKind::kThreadStack:
        return put("thread-stacks", "thread stacks", row, row.rss_bytes);
      case MemoryKind::kMainStack:
        return put("main-stack", "main stack", row, row.rss_bytes);
      case MemoryKind::kFile:
        return add_file(row, name);
      case MemoryKind::kFileData:
        return put("copied-pages", "copied private pages: " + without(name, kZeroed), row, row.rss_bytes);
      case MemoryKind::kShared:
        return add_shared(row, name);
      case MemoryKind::kTracer:
        return put("tracer", "fathom's tracer", row, row.rss_bytes);
      case MemoryKind::kKernel:
        return put("kernel", "kernel (vdso)", row, row.rss_bytes);
      case MemoryKind::kHugeFile:
        made_.huge_file_bytes += row.huge_bytes;
        return put("huge-file", "explicit huge pages", row, row.rss_bytes);
      case MemoryKind::kNotSplit:
        return put("not-split", "anonymous, not split", row, row.rss_bytes);
      case MemoryKind::kUnknown:
        break;
    }
    put("anonymous", name.empty() ? "anonymous memory, owner unknown" : "anonymous: " + name, row,
        row.rss_bytes);
  }

  MemoryLines take() {
    std::uint64_t sum = 0;
    for (auto& [key, line] : lines_) {
      sum += line.bytes;
      if (line.bytes != 0 || line.swap_bytes != 0) made_.lines.push_back(std::move(line));
    }
    stable_sort_rows(made_.lines.begin(), made_.lines.end(),
                     [](const MemoryLine& a, const MemoryLine& b) { return a.bytes > b.bytes; });
    made_.unexplained_bytes = static_cast<std::int64_t>(made_.rss_bytes - sum);
    return std::move(made_);
  }

 private:
  // Live blocks were counted in it: what of it they take, and what the allocator holds beyond them.
  void add_allocator(const MemoryRange& row, const std::string& name) {
    std::string who = "heap";
    if (row.allocator.value != 0)
      who += ", " + std::string(names_.strings[names_.heap.allocators[row.allocator.value].label]);
    else if (!name.empty())
      who += ", " + name;
    if (row.live_blocks <= 0) {
      if (row.allocator.value != 0 && !name.empty() && name != "[heap]") who += ": " + name;
      return put("heap", who, row, row.rss_bytes);
    }
    const auto live = static_cast<std::uint64_t>(
        std::clamp(row.live_resident_bytes, 0.0, static_cast<double>(row.rss_bytes)));
    put("heap-live", who + ": live blocks", row, live);
    MemoryRange rest;
    put("heap-free", who + ": beyond live blocks", rest, row.rss_bytes - live);
  }

  void add_file(const MemoryRange& row, const std::string& name) {
    if (name.ends_with(kCode))
      return put("code", "code of " + without(name, kCode), row, row.rss_bytes, true);
    put("file", name.empty() ? "files" : name, row, row.rss_bytes, true);
  }

  void add_shared(const MemoryRange& row, const std::string& name) {
    if (name.starts_with("/memfd:")) return put("memfd", "memfd " + name.substr(7), row, row.rss_bytes);
    if (name.starts_with("/SYSV")) return put("system-v", "System V shared memory", row, row.rss_bytes);
    if (name.starts_with("/dev/shm/")) return put("shm", name, row, row.rss_bytes);
    put("shared-anonymous", "shared, without a file", row, row.rss_bytes);
  }

  void put(std::string_view kind, std::string name, const MemoryRange& row, std::uint64_t bytes,
           bool reclaimable = false) {
    MemoryLine& line = lines_[{kind, name}];
    line.kind = kind;
    line.name = std::move(name);
    line.bytes += bytes;
    line.virtual_bytes += row.virtual_bytes;
    line.swap_bytes += row.swap_bytes;
    line.huge_bytes += std::min(row.huge_bytes, bytes);
    line.ranges += row.ranges;
    line.reclaimable = reclaimable;
  }

  const model::Profile& names_;
  MemoryLines made_;
  std::map<std::pair<std::string_view, std::string>, MemoryLine> lines_;
};

}  // namespace

MemoryLines make_memory_lines(std::span<const MemoryRange> rows, const model::Profile& names,
                              std::uint64_t rss_bytes) {
  LineMaker maker(names, rss_bytes);
  for (const MemoryRange& row : rows) maker.add(row);
  return maker.take();
}

}  // namespace fathom::analysis
