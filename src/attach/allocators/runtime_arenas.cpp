#include "attach/allocators/runtime_arenas.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/parse.h"

namespace fathom::allocators {
namespace {

struct Runtime {
  std::string_view label;
  std::vector<std::string_view> defines;  // exported functions, all of them
  std::string_view section;               // or this one; empty: none shows it
  std::string_view why, remedy;
  std::vector<std::string> shown_by;
};

// Only runtimes whose own files were looked at, by what no other file has. Of those whose blocks no setting makes calls of
// malloc, the remedy names the runtime's own tool.
//
// Python: Objects/obmalloc.c; "PYTHONMALLOC" in its manual. Java: exported by libjvm.so of OpenJDK 17 and 25. V8: by node 18
// and 20. Go: the linker writes the section, and strip leaves it as it is part of the data (debug/buildinfo).
const std::vector<Runtime>& runtimes() {
  static const std::vector<Runtime> kRuntimes = {
      {"pymalloc",
       {"PyObject_Malloc", "PyMem_SetAllocator"},
       "",
       "Python hands out objects of up to 512 bytes from arenas that it maps by itself",
       "PYTHONMALLOC=malloc in the program's environment shows each of them",
       {"PYTHONMALLOC=malloc", "PYTHONMALLOC=malloc_debug"}},
      {"the Java heap",
       {"JNI_CreateJavaVM", "JVM_GC"},
       "",
       "Java objects lie in memory that the virtual machine maps by itself",
       "jcmd PID GC.class_histogram lists them",
       {}},
      {"V8's heap",
       {"_ZN2v87Isolate3NewERKNS0_12CreateParamsE", "_ZN2v87Isolate7DisposeEv"},
       "",
       "JavaScript objects lie in memory that V8 maps by itself",
       "node --heap-prof writes a profile of them",
       {}},
      {"Go's heap",
       {},
       ".go.buildinfo",
       "Go has an allocator of its own, which calls no malloc",
       "the program's own heap profile shows it: runtime/pprof, net/http/pprof",
       {}},
  };
  return kRuntimes;
}

bool defines(const elf::ElfFile& file, std::string_view name) {
  const auto symbols = file.symbols(elf::SymbolTable::kDynsym);
  return std::any_of(symbols.begin(), symbols.end(), [name](const elf::Symbol& each) {
    return each.section != SHN_UNDEF && each.name.substr(0, each.name.find('@')) == name;
  });
}

bool is_in(const elf::ElfFile& file, const Runtime& runtime) {
  if (!runtime.section.empty()) return file.section(runtime.section) != nullptr;
  return std::ranges::all_of(runtime.defines, [&](std::string_view name) { return defines(file, name); });
}

}  // namespace

std::vector<Unseen> runtime_arenas(const elf::ElfFile& file) {
  std::vector<Unseen> found;
  for (const Runtime& runtime : runtimes())
    if (is_in(file, runtime))
      found.push_back({Kind::kOther, std::string(runtime.label), std::string(runtime.why),
                       std::string(runtime.remedy), runtime.shown_by});
  return found;
}

bool python_ignores_environment(std::string_view command_line) {
  const auto next = [&] {
    const std::string_view argument = take_until(command_line, '\0');
    return argument;
  };
  next();  // its name
  while (!command_line.empty()) {
    const std::string_view argument = next();
    // What follows a script, a command or a module is the script's.
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") return false;
    if (argument[1] == '-') {
      if (argument == "--check-hash-based-pycs") next();
      continue;
    }
    for (std::size_t i = 1; i < argument.size(); ++i) {
      const char letter = argument[i];
      if (letter == 'E' || letter == 'I') return true;
      if (letter == 'c' || letter == 'm') return false;
      if (letter != 'W' && letter != 'X') continue;
      if (i + 1 == argument.size()) next();
      break;  // the rest is its value
    }
  }
  return false;
}

std::optional<std::string> said_to_be_off(const Unseen& unseen,
                                          const std::function<bool(const std::string&)>& has,
                                          std::string_view command_line) {
  const auto setting = std::ranges::find_if(unseen.shown_by, has);
  if (setting == unseen.shown_by.end() || python_ignores_environment(command_line)) return std::nullopt;
  return fmt::format("{} is switched off by {} in its environment", unseen.label, *setting);
}

}  // namespace fathom::allocators
