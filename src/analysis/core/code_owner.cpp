#include "analysis/core/code_owner.h"

#include <algorithm>
#include <array>

namespace fathom::analysis {
namespace {

template <std::size_t N>
bool any_of(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

template <std::size_t N>
bool any_prefix(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

constexpr std::array<std::string_view, 12> kRuntimeNamespaces = {
    "std",        "core",      "alloc",      "compiler_builtins", "hashbrown",  "panic_unwind",
    "std_detect", "__gnu_cxx", "__cxxabiv1", "__gnu_internal",    "proc_macro", "backtrace_rs"};
constexpr std::array<std::string_view, 17> kRuntimeFiles = {
    "libc.so", "libc-", "libm.so", "libm-",     "libmvec", "libpthread", "libdl",      "librt", "ld-linux",
    "ld-musl", "ld-2.", "ld.so",   "libstdc++", "libc++",  "libgcc_s",   "linux-vdso", "[vdso]"};
// What a lock of the C++ library is inlined as: it has no namespace, and stands in the program's own file.
constexpr std::string_view kThreadsOfCxx = "__gthread_";
constexpr std::array<std::string_view, 4> kStart = {"_start", "__libc_start_main", "__libc_start_call_main",
                                                    "start_thread"};
constexpr std::array<std::string_view, 5> kAllocatorFiles = {"libjemalloc", "libtcmalloc", "libmimalloc",
                                                             "libsnmalloc", "libhoard"};
constexpr std::array<std::string_view, 5> kAllocatorNamespaces = {"tikv_jemallocator", "tikv_jemalloc_sys",
                                                                  "mimalloc", "tcmalloc", "snmalloc"};
constexpr std::array<std::string_view, 24> kAllocatorNames = {"malloc",          "free",
                                                              "calloc",          "realloc",
                                                              "cfree",           "memalign",
                                                              "posix_memalign",  "valloc",
                                                              "aligned_alloc",   "pvalloc",
                                                              "sysmalloc",       "unlink_chunk",
                                                              "_int_malloc",     "_int_free",
                                                              "_int_realloc",    "_int_memalign",
                                                              "malloc_printerr", "systrim",
                                                              "sdallocx",        "mallocx",
                                                              "rallocx",         "malloc_usable_size",
                                                              "nallocx",         "xallocx"};
constexpr std::array<std::string_view, 26> kAllocatorPrefixes = {
    "operator new",     "operator delete",    "__rust_alloc",  "__rust_dealloc", "__rust_realloc",
    "__rdl_alloc",      "__rdl_dealloc",      "__rdl_realloc", "__rg_",          "alloc::alloc::",
    "__libc_malloc",    "__libc_free",        "__libc_calloc", "__libc_realloc", "__GI___libc_malloc",
    "__GI___libc_free", "malloc_consolidate", "tcache_",       "_int_free_",     "je_",
    "_rjem_",           "mi_malloc",          "mi_free",       "_mi_",           "tc_malloc",
    "tc_free"};
// How V8, the Java perf agents and CPython name what they generate in a perf map.
constexpr std::array<std::string_view, 13> kGeneratedPrefixes = {
    "LazyCompile:",        "JS:",      "Function:", "Script:", "Eval:",   "RegExp:",
    "BytecodeHandler:",    "Builtin:", "py::",      "Stub:",   "LoadIC:", "CallIC:",
    "InterpretedFunction:"};

bool is_owner_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// The first segment of a path, if more than one stands there and it looks like a crate or namespace. Classes
// begin with a capital and are no owners: that would be a colour per class.
std::string_view first_segment(std::string_view path) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (path.starts_with(kAnonymous)) return "";
  std::size_t end = 0;
  while (end < path.size() && is_owner_character(path[end])) ++end;
  if (end == 0 || path.substr(end, 2) != "::" || (path[0] >= 'A' && path[0] <= 'Z')) return "";
  return path.substr(0, end);
}

// The end of the balanced run that starts with the '<' at 0, and the " as " inside of it at depth 1.
struct Qualified {
  std::size_t end = std::string_view::npos;
  std::size_t as = std::string_view::npos;
};
Qualified qualified(std::string_view name) {
  Qualified found;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(' || name[i] == '[') ++depth;
    if ((name[i] == '>' && name[i - 1] != '-') || name[i] == ')' || name[i] == ']') --depth;
    if (depth == 1 && found.as == std::string_view::npos && name.substr(i, 4) == " as ") found.as = i;
    if (depth == 0) {
      found.end = i;
      break;
    }
  }
  return found;
}

// A Rust type without what stands before its path: references, pointers, `dyn`, and the brackets of slices
// and tuples.
std::string_view without_sigils(std::string_view type) {
  constexpr std::array<std::string_view, 9> kSigils = {"&",     "(",       "[",    "mut ", "const ",
                                                       "*mut ", "*const ", "dyn ", "impl "};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view sigil : kSigils) {
      if (!type.starts_with(sigil)) continue;
      type.remove_prefix(sigil.size());
      again = true;
    }
  }
  return type;
}

std::string_view after_last_slash(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string_view namespace_of(std::string_view name) {
  if (name.starts_with('<')) {
    const Qualified parts = qualified(name);
    if (parts.end == std::string_view::npos) return "";
    const std::string_view inner = name.substr(1, parts.end - 1);
    if (parts.as == std::string_view::npos) {
      return inner.starts_with('<') ? namespace_of(inner) : first_segment(without_sigils(inner));
    }
    const std::string_view type = without_sigils(inner.substr(0, parts.as - 1));
    const std::string_view of_type = type.starts_with('<') ? namespace_of(type) : first_segment(type);
    const std::string_view of_trait = first_segment(inner.substr(parts.as + 3));
    if (of_type.empty() || (any_of(kRuntimeNamespaces, of_type) && !of_trait.empty())) return of_trait;
    return of_type;
  }
  // C++: the token before the arguments, behind the return type.
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (name.substr(i).starts_with("(anonymous namespace)")) {
      i += 20;
    } else if (depth == 0 && name.substr(i).starts_with("operator") &&
               (i == 0 || !is_owner_character(name[i - 1]))) {
      break;
    } else if (depth == 0 && c == '(' && i > start) {
      break;
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == '>' && i > 0 && name[i - 1] != '-') || c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && c == ' ') {
      start = i + 1;
    }
  }
  std::string_view token = name.substr(start);
  while (token.starts_with('*') || token.starts_with('&')) token.remove_prefix(1);
  return first_segment(token);
}

Owner owner_of(const TreeNode& node, std::string_view name, const TreeModule& module) {
  switch (node.kind) {
    case NodeKind::kRoot:
    case NodeKind::kThread:
      return Owner::kThread;
    case NodeKind::kKernel:
      return Owner::kKernel;
    case NodeKind::kCause:
      return Owner::kCause;
    case NodeKind::kOther:
      return Owner::kUnknown;
    case NodeKind::kUser:
    case NodeKind::kInlined:
      break;
  }
  if (name == "[unknown]") return Owner::kUnknown;
  const std::string_view file = after_last_slash(module.name);
  const std::string_view owner = namespace_of(name);
  const std::string_view bare = name.substr(0, name.find('@'));  // "malloc@plt" is the call's way to malloc
  if (any_prefix(kAllocatorFiles, file) || any_of(kAllocatorNamespaces, owner) ||
      any_of(kAllocatorNames, bare) || any_prefix(kAllocatorPrefixes, name)) {
    return Owner::kAllocator;
  }
  if (module.kind == model::ModuleKind::kAnonymous || any_prefix(kGeneratedPrefixes, name) ||
      (file.starts_with("perf-") && file.ends_with(".map")) ||
      (name.starts_with('L') && name.find('/') != std::string_view::npos &&
       name.find(';') != std::string_view::npos)) {
    return Owner::kGenerated;
  }
  if (module.kind == model::ModuleKind::kVdso || any_prefix(kRuntimeFiles, file) ||
      any_of(kRuntimeNamespaces, owner) || any_of(kStart, bare) || bare.starts_with(kThreadsOfCxx)) {
    return Owner::kRuntime;
  }
  return Owner::kCode;
}

}  // namespace fathom::analysis
