// The calls of a line of folded text, with a hash of each and of each beginning of the stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/folded/parts.h"
#include "model/stack_paths.h"

namespace fathom::formats {

struct Call {
  std::size_t first, end;  // parts: a function, with what was inlined into it
};

// Root first.
struct Calls {
  std::vector<Call> parts;
  std::vector<std::uint64_t> hashes, paths;  // see model/stack_paths.h
};

inline constexpr std::string_view kInlinedSuffix = "_[i]";

// How many of the calls of the line before are those of this one, of which `parts` has kept the beginning. A call ends where a
// part that is not inlined into it begins, so that part must have been kept as well.
inline std::size_t calls_kept(const Calls& before, const Parts& parts, std::size_t first) {
  if (before.parts.empty() || before.parts[0].first != first) return 0;
  const auto end = std::partition_point(before.parts.begin(), before.parts.end(),
                                        [&](const Call& call) { return call.end < parts.kept(); });
  return static_cast<std::size_t>(end - before.parts.begin());
}

// All but the first `kept` calls, which `calls` has. hash_of(text of a call) -> its hash.
template <class HashOf>
void hash_calls(const Parts& parts, std::size_t first, std::size_t kept, Calls& calls, HashOf hash_of) {
  calls.parts.resize(kept);
  calls.hashes.resize(kept);
  calls.paths.resize(kept);
  std::uint64_t path = kept == 0 ? model::StackPaths::kRoot : calls.paths.back();
  for (std::size_t at = kept == 0 ? first : calls.parts.back().end; at < parts.size();) {
    // Inlined calls follow the function that they were inlined into, and are one frame with it.
    std::size_t end = at + 1;
    while (end < parts.size() && parts[end].ends_with(kInlinedSuffix)) ++end;
    const std::uint64_t hash = hash_of(parts.between(at, end));
    path = model::StackPaths::path_of(path, hash);
    calls.parts.push_back({at, end});
    calls.hashes.push_back(hash);
    calls.paths.push_back(path);
    at = end;
  }
}

}  // namespace fathom::formats
