#include "allocators/runtime_arenas.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace fathom::allocators {
namespace {

struct Runtime {
  std::string_view label;
  std::array<std::string_view, 2> defines;  // all of them
  std::string_view why, remedy;
  std::array<std::string_view, 2> shown_by;
};

// Python: Objects/obmalloc.c; "PYTHONMALLOC" in its manual.
constexpr Runtime kRuntimes[] = {
    {"pymalloc",
     {"PyObject_Malloc", "PyMem_SetAllocator"},
     "Python hands out objects of up to 512 bytes from arenas that it maps by itself",
     "PYTHONMALLOC=malloc in the program's environment shows each of them",
     {"PYTHONMALLOC=malloc", "PYTHONMALLOC=malloc_debug"}},
};

bool defines(const elf::ElfFile& file, std::string_view name) {
  const auto symbols = file.symbols(elf::SymbolTable::kDynsym);
  return std::any_of(symbols.begin(), symbols.end(), [name](const elf::Symbol& each) {
    return each.section != SHN_UNDEF && each.name.substr(0, each.name.find('@')) == name;
  });
}

}  // namespace

std::vector<Unseen> runtime_arenas(const elf::ElfFile& file) {
  std::vector<Unseen> found;
  for (const Runtime& runtime : kRuntimes)
    if (std::ranges::all_of(runtime.defines, [&](std::string_view name) { return defines(file, name); }))
      found.push_back({Kind::kOther,
                       std::string(runtime.label),
                       std::string(runtime.why),
                       std::string(runtime.remedy),
                       {runtime.shown_by.begin(), runtime.shown_by.end()}});
  return found;
}

}  // namespace fathom::allocators
