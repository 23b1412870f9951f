#include "present/sentences/activity_words.h"

#include <algorithm>
#include <array>
#include <vector>

#include "analysis/core/common_costs.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

bool one_of(std::string_view name, const auto& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Of a constructor or destructor: what it is of, with one part before it.
std::string path_of(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = parts.size() >= 3 ? parts.size() - 3 : 0; i + 1 < parts.size(); ++i)
    text += (text.empty() ? "" : "::") + parts[i];
  return text;
}

}  // namespace

std::string activity_of(std::string_view name) {
  constexpr std::array<std::string_view, 12> kAllocate = {
      "malloc",        "calloc",         "realloc",      "__libc_malloc", "__GI___libc_malloc",
      "operator new",  "operator new[]", "__rust_alloc", "__rdl_alloc",   "_int_malloc",
      "__libc_calloc", "__rust_realloc"};
  constexpr std::array<std::string_view, 8> kFree = {"free",
                                                     "__libc_free",
                                                     "__GI___libc_free",
                                                     "operator delete",
                                                     "operator delete[]",
                                                     "__rust_dealloc",
                                                     "_int_free",
                                                     "cfree"};
  constexpr std::array<std::string_view, 4> kGuards = {"lock_guard", "unique_lock", "scoped_lock",
                                                       "shared_lock"};
  if (const std::string work = spoken_kernel_work(name); work != printable(name)) return "in " + work;
  const std::vector<std::string> parts = name_parts(name);
  if (parts.empty() || name.starts_with('[')) return "in " + printable(name);
  const std::string& last = parts.back();
  if (one_of(last, kAllocate)) return "allocating memory";
  if (one_of(last, kFree)) return "freeing memory";
  if (parts.size() >= 2) {
    const std::string& type = parts[parts.size() - 2];
    if (one_of(type, kGuards) && last == type) return "taking a lock";
    if (one_of(type, kGuards) && last == "~" + type) return "releasing a lock";
    const std::string whole = path_of(parts);
    if (last == type) return "building " + whole;
    if (last == "~" + type) return "destroying " + whole;
  }
  return "in " + spoken_name(name);
}

}  // namespace fathom::present
