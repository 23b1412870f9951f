#include "allocators/find.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "allocators/families.h"
#include "allocators/operators.h"
#include "allocators/own_code.h"
#include "allocators/symbols.h"
#include "allocators/versions.h"
#include "arch/branches.h"
#include "arch/facts.h"

namespace fathom::allocators {
namespace {

class Finder {
 public:
  Finder(const elf::ElfFile& file, const elf::ElfFile* twin)
      : file_(file), symbols_(file, twin, found_.notes) {}

  Found run() {
    // Who knows himself by names of his own comes first, as he may define the common ones too.
    find_mimalloc();
    find_tcmalloc();
    find_jemalloc();
    find_libc();
    find_other();
    find_sized_deletes();
    note_ends_of_heaps();
    note_nameless();
    return std::move(found_);
  }

 private:
  // Adds the function of that name, if there is one and its address is nobody's yet.
  void add(Allocator& allocator, const std::string& name, tracer_shape shape, bool local_too = true) {
    const NamedFunction* function = symbols_.find(name);
    if (function == nullptr || (function->local && !local_too) || claimed_.contains(function->address))
      return;
    if (function->indirect) {
      found_.notes.push_back(
          fmt::format("{}: {} is chosen at load time (IFUNC) and is not traced", file_.name(), name));
      return;
    }
    Function added{name, shape, function->address, function->size, std::nullopt};
    if (added.size == 0) added.size = symbols_.distance_to_next(added.address);
    claimed_.insert(added.address);
    allocator.functions.push_back(std::move(added));
  }
  void add_all(Allocator& allocator, std::span<const FunctionName> names, bool local_too = true) {
    for (const FunctionName& each : names)
      add(allocator, allocator.prefix + std::string(each.name), each.shape, local_too);
  }
  void add_operators(Allocator& allocator) {
    for (const OperatorName& each : operator_names()) {
      const NamedFunction* function = symbols_.find(each.name);
      if (function != nullptr && !function->indirect && !ends_in(file_, *function, allocator.functions))
        add(allocator, std::string(each.name), each.shape);
    }
  }
  // An exception must not pass through the tracer, so each function that throws needs one that does not.
  void add_partners(Allocator& allocator) {
    const auto partner_of = [&](const Function& function) -> const NamedFunction* {
      for (const OperatorName& each : operator_names())
        if (each.name == function.name)
          if (const NamedFunction* nothrow = symbols_.find(each.nothrow)) return nothrow;
      if (const NamedFunction* nothrow = symbols_.find(function.name + "_nothrow")) return nothrow;
      if (function.shape == TRACER_NEW_ARRAY) return symbols_.find("mi_mallocn");
      if (function.shape == TRACER_NEW_IN) return symbols_.find("mi_heap_malloc");
      if (function.shape == TRACER_NEW_ARRAY_IN) return symbols_.find("mi_heap_mallocn");
      const bool aligned = function.name.find("align") != std::string::npos;
      return symbols_.find(!aligned ? (symbols_.has("mi_malloc") ? "mi_malloc" : "malloc")
                                    : "mi_malloc_aligned");
    };
    std::erase_if(allocator.functions, [&](Function& function) {
      if (!tracer_throws(function.shape)) return false;
      const NamedFunction* partner = partner_of(function);
      if (partner == nullptr) {
        found_.notes.push_back(
            fmt::format("{}: {} is not traced: it may throw, and there is no variant of it that does not",
                        file_.name(), function.name));
        return true;
      }
      function.partner = partner->address;
      return false;
    });
  }
  void keep(Allocator allocator) {
    leave_out_forwarding(file_, allocator.functions);
    find_wrappers(file_, allocator);
    if (allocator.functions.empty()) return;
    std::sort(allocator.functions.begin(), allocator.functions.end(),
              [](const Function& a, const Function& b) { return a.address < b.address; });
    allocator.own_code = own_code(allocator, symbols_);
    found_.allocators.push_back(std::move(allocator));
  }
  static std::string label(std::string_view name, const std::string& version) {
    return version.empty() ? std::string(name) : fmt::format("{} {}", name, version);
  }
  bool same_address(std::string_view a, std::string_view b) const {
    const NamedFunction *first = symbols_.find(a), *second = symbols_.find(b);
    return first != nullptr && second != nullptr && first->address == second->address;
  }

  void find_mimalloc() {
    if (symbols_.find("mi_malloc") == nullptr || symbols_.find("mi_free") == nullptr) return;
    Allocator allocator{Kind::kMimalloc, label("mimalloc", mimalloc_version(file_, symbols_)), {}, {}, {}};
    const bool overrides = same_address("malloc", "mi_malloc");
    if (overrides) {
      add_all(allocator, c_names());
      add_operators(allocator);
    }
    add_all(allocator, mimalloc_names());
    if (overrides)
      add_all(allocator, libc_aliases());
    else
      allocator.prefix = "mi_";
    add_partners(allocator);
    keep(std::move(allocator));
  }

  void find_tcmalloc() {
    const bool inner = symbols_.has("TCMallocInternalMalloc");
    if (!inner && symbols_.find("tc_malloc") == nullptr && !symbols_.has("TCMalloc_SystemTaken")) return;
    Allocator allocator{Kind::kTcmalloc, label("tcmalloc", gperftools_version(file_)), {}, {}, {}};
    const bool overrides = same_address("malloc", inner ? "TCMallocInternalMalloc" : "tc_malloc");
    if (overrides) {
      add_all(allocator, c_names());
      add_operators(allocator);
    }
    add_all(allocator, tcmalloc_names());
    if (overrides)
      add_all(allocator, libc_aliases());
    else
      allocator.prefix = "tc_";
    add_partners(allocator);
    keep(std::move(allocator));
  }

  // No other allocator has sized or flagged frees under jemalloc's names together with mallocx or mallctl.
  void find_jemalloc() {
    std::set<std::string> prefixes;
    for (const auto& [name, function] : symbols_.interesting())
      for (const std::string_view end : {"sdallocx", "dallocx", "mallocx", "rallocx", "mallctl"})
        if (name.ends_with(end)) {
          prefixes.emplace(name.substr(0, name.size() - end.size()));
          break;
        }
    for (const std::string& prefix : prefixes) {
      const auto has = [&](std::string_view name) {
        return symbols_.find(prefix + std::string(name)) != nullptr;
      };
      const int signs = has("sdallocx") + has("dallocx") + has("mallocx") + has("rallocx") + has("mallctl");
      if (!has("malloc") || signs < 2 || !(has("sdallocx") || has("dallocx") || has("mallctl"))) continue;
      if (claimed_.contains(symbols_.find(prefix + "malloc")->address)) continue;
      Allocator allocator{Kind::kJemalloc, label("jemalloc", jemalloc_version(file_)), prefix, {}, {}};
      if (!prefix.empty()) allocator.label += fmt::format(" ({})", prefix);
      add_all(allocator, c_names());
      if (prefix.empty()) add_operators(allocator);
      add_all(allocator, jemalloc_names());
      if (prefix.empty()) add_all(allocator, libc_aliases());
      add_partners(allocator);
      keep(std::move(allocator));
    }
  }

  void find_libc() {
    if (!symbols_.has("__libc_start_main")) return;
    const bool glibc = symbols_.has("gnu_get_libc_version") || symbols_.has("_int_malloc") ||
                       symbols_.has("__libc_mallopt") || symbols_.has("__libc_pvalloc");
    const bool musl =
        symbols_.has("__libc_malloc_impl") || symbols_.has("__simple_malloc") || symbols_.has("_dlstart");
    Allocator allocator{Kind::kLibc,
                        glibc  ? label("glibc", glibc_version(file_))
                        : musl ? "musl"
                               : "libc",
                        {},
                        {},
                        {}};
    // In a static executable they may be local: the linker makes them so.
    add_all(allocator, c_names());
    add_all(allocator, libc_aliases());
    keep(std::move(allocator));
  }

  // Somebody's own malloc, under the common names: only if others can bind to it, else it is a function that
  // happens to be called so. The dynamic loader's is for itself, and only until libc is there.
  void find_other() {
    const NamedFunction *allocate = symbols_.find("malloc"), *release = symbols_.find("free");
    if (allocate == nullptr || release == nullptr || allocate->local || release->local ||
        symbols_.has("_rtld_global") || claimed_.contains(allocate->address))
      return;
    const std::string path = file_.name();
    Allocator allocator{
        Kind::kOther, fmt::format("malloc of {}", path.substr(path.rfind('/') + 1)), {}, {}, {}};
    add_all(allocator, c_names(), false);
    add_operators(allocator);
    add_partners(allocator);
    keep(std::move(allocator));
  }

  void find_sized_deletes() {
    for (const OperatorName& each : operator_names()) {
      if (each.shape != TRACER_FREE_SIZED) continue;
      const NamedFunction* function = symbols_.find(each.name);
      if (function == nullptr || function->indirect || claimed_.contains(function->address)) continue;
      Function added{std::string(each.name), each.shape, function->address, function->size, std::nullopt};
      if (!hands_on(file_, added)) continue;
      claimed_.insert(added.address);
      found_.sized_deletes.push_back(std::move(added));
    }
  }

  void note_ends_of_heaps() {
    const auto imports = [&](elf::SymbolTable table) {
      const auto symbols = file_.symbols(table);
      return std::any_of(symbols.begin(), symbols.end(), [](const elf::Symbol& each) {
        return each.section == SHN_UNDEF && each.name.substr(0, each.name.find('@')) == "mi_heap_destroy";
      });
    };
    if (imports(elf::SymbolTable::kDynsym) || imports(elf::SymbolTable::kSymtab))
      found_.notes.push_back(
          fmt::format("{} ends heaps with mi_heap_destroy: the blocks in them look live from then on, until "
                      "their memory is handed out again",
                      file_.name()));
  }

  void note_nameless() {
    const auto has = [&](Kind kind) {
      return std::any_of(found_.allocators.begin(), found_.allocators.end(),
                         [&](const Allocator& each) { return each.kind == kind; });
    };
    const auto note = [&](std::string_view what) {
      found_.notes.push_back(
          fmt::format("{} holds {} whose functions have no names here (--symbols DIR with an unstripped "
                      "twin of the file or its debug file would name them)",
                      file_.name(), what));
    };
    if (!has(Kind::kJemalloc) && holds_jemalloc_messages(file_)) note("a jemalloc");
    if (!has(Kind::kMimalloc) && holds_mimalloc_messages(file_)) note("a mimalloc");
    // A static program has a libc inside, and whatever its allocator is, it is in there too.
    const bool is_static = file_.interpreter().empty() && file_.needed().empty() && file_.entry().value != 0;
    if (found_.allocators.empty() && is_static && !symbols_.any_function()) note("an allocator of its own");
  }

  const elf::ElfFile& file_;
  Found found_;
  Symbols symbols_;
  std::set<ElfAddress> claimed_;
};

}  // namespace

Found find(const elf::ElfFile& file, const elf::ElfFile* twin) {
  if (file.machine() != arch::kElfMachine) return {};
  return Finder(file, twin).run();
}

std::span<const std::byte> code_of(const elf::ElfFile& file, const Function& function) {
  std::uint64_t size = function.size;
  if (size < arch::kPatchRoom && function.address.value % arch::kFunctionAlignment == 0)
    size = arch::kFunctionAlignment;
  const auto bytes = file.bytes_from(function.address);
  if (bytes.size() < function.size) return {};
  return bytes.first(std::min<std::uint64_t>(bytes.size(), size));
}

}  // namespace fathom::allocators
