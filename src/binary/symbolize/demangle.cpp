#include "binary/symbolize/demangle.h"

// libiberty.h declares its own basename() unless it knows that there is one.
#define HAVE_DECL_BASENAME 1
#include <fmt/format.h>
#include <libiberty/demangle.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "binary/symbolize/haskell_name.h"

namespace fathom::symbolize {
namespace {

// No mangled name seen in anvil, reth, RocksDB or clang is longer than 5,000 characters.
constexpr std::size_t kLongestInput = 8192;
// Back references make a few hundred bytes expand without end; 64 KiB is beyond what anybody reads.
constexpr std::size_t kLongestOutput = 64 * 1024;
// With its recursion limit on, libiberty refuses every C++ name above 1024 characters
// (DEMANGLE_RECURSION_LIMIT counts two components for each). Longer ones are tried without: recursion is then
// bounded by the length, measured at under 2 MB of stack for 8192 characters, and printing has a limit of its
// own.
constexpr std::size_t kLongestWithLimit = 1024;

// A name that cannot be demangled is shown whole up to this, so that it can be looked up; a longer one by a hash of it.
constexpr std::size_t kLongestShownWhole = 120;

struct TooLong {};

// Called from C, but C that keeps nothing that would have to be released: leaving by an exception is safe
// there, and it is the only way to stop the expansion of back references.
void append(const char* text, std::size_t size, void* out) {
  auto& name = *static_cast<std::string*>(out);
  if (name.size() + size > kLongestOutput) throw TooLong{};
  name.append(text, size);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

std::string run(Demangler demangler, const std::string& mangled, int options) {
  std::string name;
  try {
    if (demangler(mangled.c_str(), options, &append, &name) == 0) name.clear();
  } catch (const TooLong&) {
    name.clear();
  }
  return name;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Splits ".word" or ".word.123" off the end; empty if there is none.
std::string_view last_suffix(std::string_view name) {
  auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  if (all_digits(name.substr(dot + 1))) {
    const auto word = name.rfind('.', dot - 1);
    if (word == std::string_view::npos || word == 0) return {};
    dot = word;
  }
  return name.substr(dot);
}

bool names_same_function(std::string_view suffix) {
  if (suffix == ".cold" || suffix == ".localalias") return true;
  constexpr std::array<std::string_view, 7> kNumbered = {
      ".llvm.", ".cold.", ".isra.", ".constprop.", ".lto_priv.", ".localalias.", ".__uniq."};
  return std::any_of(kNumbered.begin(), kNumbered.end(), [&](std::string_view word) {
    return suffix.starts_with(word) && all_digits(suffix.substr(word.size()));
  });
}

bool is_clone(std::string_view suffix) {
  if (suffix == ".resume" || suffix == ".destroy" || suffix == ".cleanup" || suffix == ".actor") return true;
  return suffix.starts_with(".part.") && all_digits(suffix.substr(6));
}

// "::h" and 16 digits, the end of each legacy name of Rust.
constexpr std::size_t kRustHash = 19;

bool has_hash_of_rust(std::string_view name) {
  if (name.size() <= kRustHash) return false;
  const std::string_view hash = name.substr(name.size() - kRustHash);
  return hash.starts_with("::h") && hash.find_first_not_of("0123456789abcdef", 3) == std::string_view::npos;
}

bool looks_mangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_GLOBAL_");
}

std::string demangle_whole(std::string_view mangled) {
  const std::string text(mangled);
  constexpr int kOptions = DMGL_PARAMS | DMGL_ANSI;
  if (auto rust = run(&rust_demangle_callback, text, kOptions); !rust.empty()) return rust;
  if (text.size() <= kLongestWithLimit) {
    if (auto cxx = run(&cplus_demangle_v3_callback, text, kOptions); !cxx.empty()) return cxx;
  } else if (auto cxx = run(&cplus_demangle_v3_callback, text, kOptions | DMGL_NO_RECURSE_LIMIT);
             !cxx.empty()) {
    return cxx;
  }
  return {};
}

// What distinguishes the name from all others, however much of it is cut off.
std::string identity_of(std::string_view name) {
  return fmt::format("{} characters, #{:016x}", name.size(), XXH3_64bits(name.data(), name.size()));
}

// "_ZN5boost6spirit..." -> "boost::spirit::.. [_Z, 9120 characters, #0123456789abcdef]". Empty if not even one name is
// readable.
std::string readable_beginning(std::string_view mangled) {
  auto rest = mangled.substr(2);
  if (rest.starts_with('N')) rest.remove_prefix(1);
  if (rest.starts_with('K')) rest.remove_prefix(1);
  if (rest.starts_with("St")) rest.remove_prefix(2);
  std::string name;
  while (name.size() < 200 && !rest.empty() && is_digit(rest[0])) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc{} || length == 0 || length > std::min<std::size_t>(rest.size(), 1000)) break;
    name.append(rest.substr(0, length)).append("::");
    rest.remove_prefix(length);
  }
  if (name.empty()) return {};
  if (mangled.size() <= kLongestShownWhole) return fmt::format("{}.. [{}]", name, mangled);
  return fmt::format("{}.. [{}, {}]", name, mangled.substr(0, 2), identity_of(mangled));
}

}  // namespace

UnitSuffix unit_suffix(std::string_view mangled) {
  constexpr std::array<std::string_view, 3> kOfUnits = {".llvm.", ".lto_priv.", ".__uniq."};
  for (auto suffix = last_suffix(mangled); !suffix.empty(); suffix = last_suffix(mangled)) {
    const std::string_view rest = mangled.substr(0, mangled.size() - suffix.size());
    if (std::any_of(kOfUnits.begin(), kOfUnits.end(), [&](std::string_view word) {
          return suffix.starts_with(word) && all_digits(suffix.substr(word.size()));
        }))
      return {rest, suffix};
    if (!names_same_function(suffix)) break;
    mangled = rest;
  }
  return {};
}

std::string demangle(std::string_view mangled) {
  std::string_view base = mangled;
  std::string clones;
  for (auto suffix = last_suffix(base); !suffix.empty(); suffix = last_suffix(base)) {
    if (is_clone(suffix)) {
      clones = std::string(suffix) + clones;
    } else if (!names_same_function(suffix)) {
      break;
    }
    base.remove_suffix(suffix.size());
  }
  if (looks_mangled(base)) {
    std::string name = base.size() <= kLongestInput ? demangle_whole(base) : std::string();
    if (name.empty()) name = readable_beginning(base);
    if (!name.empty()) return clones.empty() ? name : fmt::format("{} [clone {}]", name, clones);
  }
  if (clones.empty())
    if (std::string name = haskell_name(base); !name.empty()) return name;
  if (base.size() > kLongestOutput) return fmt::format("{}.. [{}]", base.substr(0, 200), identity_of(base));
  return std::string(base) + clones;
}

std::string source_name(std::string_view written) {
  if (looks_mangled(written)) return demangle(written);
  constexpr std::string_view kClone = " [clone ";
  for (std::size_t at = written.rfind(kClone); at != std::string_view::npos && written.ends_with(']');
       at = written.rfind(kClone)) {
    const std::string_view suffix = written.substr(at + kClone.size());
    if (!names_same_function(suffix.substr(0, suffix.size() - 1))) break;
    written = written.substr(0, at);
  }
  if (has_hash_of_rust(written)) written.remove_suffix(kRustHash);
  return std::string(written);
}

}  // namespace fathom::symbolize
