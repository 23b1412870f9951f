#include "record/session/heap/program_loading.h"

#include <algorithm>
#include <initializer_list>

namespace fathom::session {

std::uint64_t loading_limit_ns(std::span<const std::string_view> file_names) {
  constexpr std::uint64_t kOfALinker = 2'000'000'000, kOfTheKernel = 100'000'000;
  const auto any = [&](std::initializer_list<std::string_view> beginnings) {
    return std::ranges::any_of(file_names, [&](std::string_view name) {
      return std::ranges::any_of(beginnings, [&](std::string_view text) { return name.starts_with(text); });
    });
  };
  if (any({"ld-linux", "ld-2."}) && !any({"libc.so", "libc-2."})) return kOfALinker;
  if (file_names.empty()) return kOfALinker;
  return file_names.size() == 1 ? kOfTheKernel : 0;
}

}  // namespace fathom::session
