// An allocator's inner functions have names of their own (`_rjem_je_arena_...`), but its static functions
// have arbitrary names (`do_rallocx`). Those count as its own if they are between two of its functions with
// no foreign one in between, are local, and are not mangled: a linker keeps the functions of one object file
// together.
#include "attach/allocators/own_code.h"

#include <elf.h>

#include <algorithm>

namespace fathom::allocators {
namespace {

// What no program calls by itself. Only names that are surely inner ones: a public function that is not
// traced but calls a traced one (mi_reallocarr) is a caller like any other.
bool is_inner_name(const Allocator& allocator, std::string_view name) {
  switch (allocator.kind) {
    case Kind::kJemalloc:
      // With a prefix, all of jemalloc's names have it, and its other public functions (mallctl) allocate for
      // jemalloc itself.
      return name.starts_with(allocator.prefix.empty() ? std::string_view("je_") : allocator.prefix);
    case Kind::kMimalloc:
      return name.starts_with("_mi_");
    case Kind::kTcmalloc:
      return name.starts_with("_ZN8tcmalloc");
    case Kind::kLibc:
      return name == "malloc_trim";  // gives the allocator's pages back, and calls nothing that is traced
    default:
      return false;
  }
}

void merge(std::vector<CodeRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.start < b.start; });
  std::vector<CodeRange> merged;
  for (const CodeRange& each : ranges) {
    if (each.end <= each.start) continue;
    if (!merged.empty() && each.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, each.end);
    else
      merged.push_back(each);
  }
  ranges = std::move(merged);
}

}  // namespace

std::vector<CodeRange> own_code(const Allocator& allocator, const Symbols& symbols) {
  std::vector<CodeRange> ranges;
  ElfAddress start{~std::uint64_t{0}}, end{0};
  const auto add = [&](ElfAddress address, std::uint64_t size) {
    if (size > ~std::uint64_t{0} - address.value) return;
    ranges.push_back({address, {address.value + size}});
    start = std::min(start, address);
    end = std::max(end, ElfAddress{address.value + size});
  };
  for (const Function& function : allocator.functions) add(function.address, function.size);
  symbols.for_each_function([&](const elf::Symbol& symbol) {
    if (symbol.type == STT_FUNC && is_inner_name(allocator, symbol.name)) add(symbol.address, symbol.size);
  });

  if (allocator.kind == Kind::kJemalloc || allocator.kind == Kind::kMimalloc) {
    const auto is_listed = [&](ElfAddress address) {
      const auto at = std::lower_bound(
          allocator.functions.begin(), allocator.functions.end(), address,
          [](const Function& function, ElfAddress wanted) { return function.address < wanted; });
      return at != allocator.functions.end() && at->address == address;
    };
    bool after_own = false;            // no foreign function since the last own one
    std::vector<CodeRange> undecided;  // static functions since then
    for (const elf::Symbol& symbol : symbols.functions_between(start, end)) {
      if (is_inner_name(allocator, symbol.name) || is_listed(symbol.address)) {
        if (after_own) ranges.insert(ranges.end(), undecided.begin(), undecided.end());
        undecided.clear();
        after_own = true;
      } else if (symbol.binding == STB_LOCAL && !symbol.name.starts_with("_Z") &&
                 !symbol.name.starts_with("_R")) {
        if (symbol.size <= ~std::uint64_t{0} - symbol.address.value)
          undecided.push_back({symbol.address, {symbol.address.value + symbol.size}});
      } else {
        after_own = false;
        undecided.clear();
      }
    }
  }
  merge(ranges);
  return ranges;
}

}  // namespace fathom::allocators
