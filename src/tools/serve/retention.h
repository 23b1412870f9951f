// What becomes of windows as they age: shorter ones are merged into longer ones, and the oldest go. Pinned windows stay as they are, as long
// as they are no more than half of what may be kept.
// The choice is pure; age_store() carries it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/serve/store.h"

namespace fathom::serve {

struct RetentionRule {
  struct Tier {
    std::uint64_t after_ns, length_s;  // windows whose end is older than that become windows of this length
  };
  std::vector<Tier> tiers = {{3'600'000'000'000, 600}, {86'400'000'000'000, 3600}};
  std::optional<std::uint64_t> keep_ns = 7 * 86'400'000'000'000ull;  // what ended longer ago goes
  std::optional<std::uint64_t> most_bytes = {};  // of all targets: the oldest go until the rest fits
};

// Windows that become one, in order of time; groups follow the multiples of the longer length. A single window is no group. The files
// of a group have at most 8 MiB together: large windows stay as they are.
std::vector<std::vector<StoredWindow>> to_merge(const std::vector<StoredWindow>& windows,
                                                const RetentionRule& rule, std::uint64_t now_unix_ns);

// Windows that go, of all targets together. Pinned ones only if they are more than half of `most_bytes` together: then the oldest of them.
std::vector<StoredWindow> to_remove(std::vector<StoredWindow> windows, const RetentionRule& rule,
                                    std::uint64_t now_unix_ns);

struct Aged {
  std::size_t merged = 0, removed = 0, removed_pinned = 0;  // the last: of the removed
  std::vector<std::string> problems;                        // sentences; what they concern stays as it was
};
// One pass over the store. May be interrupted at any moment: what was read before can be read after it.
Aged age_store(const std::string& store, const RetentionRule& rule, std::uint64_t now_unix_ns);

}  // namespace fathom::serve
