#include "attach/allocators/find.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attach/allocators/families.h"
#include "attach/allocators/operators.h"
#include "attach/allocators/own_code.h"
#include "attach/allocators/runtime_arenas.h"
#include "attach/allocators/symbols.h"
#include "attach/allocators/versions.h"
#include "base/arch/branches.h"
#include "base/arch/facts.h"

namespace fathom::allocators {
namespace {

constexpr std::string_view kNames =
    "--symbols DIR with an unstripped twin of the file or its debug file names them";

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
    find_nameless();
    for (Unseen& arenas : runtime_arenas(file_)) found_.unseen.push_back(std::move(arenas));
    return std::move(found_);
  }

 private:
  // Adds the function of that name, if it exists and its address is not taken yet.
  void add(Allocator& allocator, const std::string& name, tracer_shape shape, bool local_too = true) {
    const NamedFunction* function = symbols_.find(name);
    if (function == nullptr || (function->local && !local_too) || claimed_.contains(function->address))
      return;
    if (function->indirect) {
      if (ends_blocks(shape))
        lost_ = fmt::format("{} is chosen at load time (IFUNC)", name);
      else
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
            fmt::format("{}: {} is not traced: it may throw, and it has no variant that does not",
                        file_.name(), function.name));
        return true;
      }
      function.partner = partner->address;
      return false;
    });
  }
  // Why not all functions that give, free or resize its blocks are known; empty: they are.
  std::string missing_of(const Allocator& allocator, std::span<const std::string_view> exports) const {
    if (symbols_.exported_only()) {
      const std::string prefix = allocator.kind == Kind::kJemalloc ? allocator.prefix : std::string();
      for (const std::string_view each : exports)
        if (symbols_.find(prefix + std::string(each)) == nullptr)
          return fmt::format("the file is stripped, so {}{} has no name here even if it exists", prefix,
                             each);
      // Other modules cannot call what a library does not export.
      if (allocator.kind == Kind::kOther && is_program())
        return "the file is stripped, so other functions that free its blocks have no names here";
    }
    const auto& functions = allocator.functions;
    if (std::none_of(functions.begin(), functions.end(), [](const Function& each) {
          return each.shape == TRACER_FREE || each.shape == TRACER_FREE_SIZED;
        }))
      return "no function that frees its blocks is known";
    return {};
  }
  void keep(Allocator allocator, std::span<const std::string_view> exports = {}) {
    leave_out_forwarding(file_, allocator.functions);
    find_wrappers(file_, allocator);
    std::string missing = std::exchange(lost_, {});
    if (allocator.functions.empty() && missing.empty()) return;
    if (missing.empty()) missing = missing_of(allocator, exports);
    if (!missing.empty()) {
      found_.unseen.push_back({allocator.kind, std::move(allocator.label), std::move(missing),
                               symbols_.exported_only() ? std::string(kNames) : std::string()});
      return;
    }
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
    // A linker leaves out what is not called: programs in Rust ask for an alignment each time.
    if ((symbols_.find("mi_malloc") == nullptr && symbols_.find("mi_malloc_aligned") == nullptr) ||
        symbols_.find("mi_free") == nullptr)
      return;
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
    keep(std::move(allocator), mimalloc_exports());
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
    keep(std::move(allocator), tcmalloc_exports());
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
      keep(std::move(allocator), jemalloc_exports());
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

  // A custom malloc under the common names: it counts only if other modules can bind to it, else the name is
  // a coincidence. The dynamic loader's serves itself only, and only until libc is loaded.
  void find_other() {
    const NamedFunction *allocate = symbols_.find("malloc"), *release = symbols_.find("free");
    if (allocate == nullptr || release == nullptr || allocate->local || release->local ||
        symbols_.has("_rtld_global") || claimed_.contains(allocate->address))
      return;
    Allocator allocator{Kind::kOther, fmt::format("malloc of {}", base_name()), {}, {}, {}};
    std::span<const std::string_view> exports;
    if (symbols_.exported_only() && holds_jemalloc_messages(file_)) {
      allocator.kind = Kind::kJemalloc;
      allocator.label = label("jemalloc", jemalloc_version(file_));
      exports = jemalloc_exports();
    } else if (symbols_.exported_only() && holds_mimalloc_messages(file_)) {
      allocator.kind = Kind::kMimalloc;
      allocator.label = "mimalloc";
      exports = mimalloc_exports();
    } else if (symbols_.exported_only() && is_program() && holds_tcmalloc_messages(file_)) {
      allocator.kind = Kind::kTcmalloc;
      allocator.label = label("tcmalloc", gperftools_version(file_));
      exports = tcmalloc_exports();
    }
    add_all(allocator, c_names(), false);
    add_operators(allocator);
    add_partners(allocator);
    keep(std::move(allocator), exports);
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
      found_.notes.push_back(fmt::format(
          "{} ends heaps with mi_heap_destroy: the blocks in them look live from then on, until their memory is handed out again",
          file_.name()));
  }

  // Known by its messages, or by what every program needs, and by no name.
  void find_nameless() {
    const auto is_known = [&](Kind kind) {
      const auto is_it = [&](const auto& each) { return each.kind == kind; };
      return std::ranges::any_of(found_.allocators, is_it) || std::ranges::any_of(found_.unseen, is_it);
    };
    const auto add_nameless = [&](Kind kind, std::string label, std::string why) {
      found_.unseen.push_back({kind, std::move(label), std::move(why), std::string(kNames)});
    };
    const std::string no_names = "its functions have no names here";
    if (!is_known(Kind::kJemalloc) && holds_jemalloc_messages(file_))
      add_nameless(Kind::kJemalloc, label("jemalloc", jemalloc_version(file_)), no_names);
    if (!is_known(Kind::kMimalloc) && holds_mimalloc_messages(file_))
      add_nameless(Kind::kMimalloc, "mimalloc", no_names);
    if (!is_known(Kind::kTcmalloc) && holds_tcmalloc_messages(file_))
      add_nameless(Kind::kTcmalloc, label("tcmalloc", gperftools_version(file_)), no_names);
    // A static program has a libc inside, and whatever its allocator is, it is in there too.
    const bool is_static = file_.interpreter().empty() && file_.needed().empty() && file_.entry().value != 0;
    if (found_.allocators.empty() && found_.unseen.empty() && is_static && !symbols_.any_function())
      add_nameless(Kind::kOther, fmt::format("the allocator of {}", base_name()),
                   "the program is static and stripped");
  }

  bool is_program() const { return file_.type() == ET_EXEC || !file_.interpreter().empty(); }
  std::string base_name() const {
    const std::string path = file_.name();
    return path.substr(path.rfind('/') + 1);
  }

  const elf::ElfFile& file_;
  Found found_;
  Symbols symbols_;
  std::set<ElfAddress> claimed_;
  std::string lost_;  // why a function of the allocator that is looked for cannot be traced and must be
};

}  // namespace

Found find(const elf::ElfFile& file, const elf::ElfFile* twin) {
  if (file.machine() != arch::kElfMachine) return {};
  return Finder(file, twin).run();
}

bool ends_blocks(tracer_shape shape) {
  switch (shape) {
    case TRACER_FREE:
    case TRACER_FREE_SIZED:
    case TRACER_REALLOC:
    case TRACER_REALLOC_IN:
    case TRACER_REALLOCARRAY:
    case TRACER_REALLOCARRAY_IN:
    case TRACER_XALLOCX:
      return true;
    default:
      return false;
  }
}

std::string text_of(const Unseen& unseen) {
  return fmt::format("{} is not traced: {}{}", unseen.label, unseen.why,
                     unseen.remedy.empty() ? std::string() : fmt::format(" ({})", unseen.remedy));
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
