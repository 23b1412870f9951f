#include "attach/allocators/statistics/statistics.h"

#include <cstring>

#include "attach/allocators/statistics/parts.h"
#include "base/stable_sort.h"

namespace fathom::allocators {
namespace {

constexpr std::string_view kBegin = "___ Begin jemalloc statistics ___";
constexpr std::string_view kEnd = "--- End jemalloc statistics ---";
constexpr std::string_view kJsonKey = "\"jemalloc\"";
constexpr std::string_view kSpace = " \t\r\n";

// glibc's search skips over most of a text, which may be folded stacks of any size.
std::size_t position(std::string_view text, std::string_view what, std::size_t from) {
  if (from >= text.size()) return std::string_view::npos;
  const void* at = ::memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

// Where the JSON begins whose first key is at `key`; npos: it is not the first one of an object.
std::size_t json_start(std::string_view text, std::size_t key) {
  const std::size_t before = key == 0 ? std::string_view::npos : text.find_last_not_of(kSpace, key - 1);
  const std::size_t after = text.find_first_not_of(kSpace, key + kJsonKey.size());
  const bool first = before != std::string_view::npos && text[before] == '{';
  return first && after != std::string_view::npos && text[after] == ':' ? before : std::string_view::npos;
}

// Behind the bracket that closes the one at `start`; npos: there is none.
std::size_t json_end(std::string_view text, std::size_t start) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = start; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t next_json(std::string_view text, std::size_t from) {
  for (std::size_t key = position(text, kJsonKey, from); key != std::string_view::npos;
       key = position(text, kJsonKey, key + 1))
    if (const std::size_t start = json_start(text, key); start != std::string_view::npos) return start;
  return std::string_view::npos;
}

}  // namespace

std::uint64_t StatisticsClass::live_bytes() const {
  return times(live, size);
}

std::uint64_t StatisticsClass::free_bytes() const {
  if (large || !slabs || !blocks_in_slab) return 0;
  const std::uint64_t blocks = times(*slabs, *blocks_in_slab);
  return times(blocks - std::min(blocks, live), size);
}

const std::string* Statistics::setting(std::string_view name) const {
  for (const auto& [key, value] : settings)
    if (key == name) return &value;
  return nullptr;
}

bool holds_statistics(std::string_view text) {
  return position(text, kBegin, 0) != std::string_view::npos || next_json(text, 0) != std::string_view::npos;
}

std::vector<Statistics> read_statistics(std::string_view text, std::size_t most) {
  std::vector<Statistics> all;
  std::size_t begin = position(text, kBegin, 0), json = next_json(text, 0);
  std::size_t behind = 0;  // of what was read
  while (all.size() < most && (begin != std::string_view::npos || json != std::string_view::npos)) {
    if (begin < json) {
      // A log may put the same words, or a time as long as any other, before each line.
      const std::size_t line = text.substr(behind, begin - behind).rfind('\n');
      const std::size_t start = line == std::string_view::npos ? behind : behind + line + 1;
      const std::size_t body = begin + kBegin.size();
      // The end is looked for up to the next one only: a text of many that have none is gone through once.
      const std::size_t next = std::min(position(text, kBegin, body), text.size());
      const std::size_t end = position(text.substr(0, next), kEnd, body);
      const bool cut = end == std::string_view::npos;
      behind = cut ? next : end + kEnd.size();
      all.push_back(read_text_statistics(text.substr(body, (cut ? behind : end) - body),
                                         text.substr(start, begin - start)));
      all.back().cut = cut;
    } else {
      const std::size_t end = json_end(text, json);
      if (end == std::string_view::npos) {
        // A part of a JSON is none, and what begins inside of it is not closed for sure.
        all.emplace_back().cut = true;
        json = std::string_view::npos;
        continue;
      }
      behind = end;
      if (auto one = read_json_statistics(text.substr(json, end - json))) all.push_back(std::move(*one));
    }
    if (begin != std::string_view::npos && begin < behind) begin = position(text, kBegin, behind);
    if (json != std::string_view::npos && json < behind) json = next_json(text, behind);
  }
  return all;
}

void finish(const ArenaTables& arenas, Statistics& statistics) {
  ArenaNumbers sum;
  const auto add = [&sum](const ArenaNumbers& one) {
    if (one.dirty_pages) add_to(sum.dirty_pages, *one.dirty_pages);
    if (one.muzzy_pages) add_to(sum.muzzy_pages, *one.muzzy_pages);
    if (one.thread_caches) add_to(sum.thread_caches, *one.thread_caches);
    if (one.uptime_ns) sum.uptime_ns = std::max(sum.uptime_ns.value_or(0), *one.uptime_ns);
    for (const auto& [size, of] : one.classes) {
      auto [at, is_new] = sum.classes.emplace(size, of);
      if (is_new) continue;
      at->second.live = plus(at->second.live, of.live);
      at->second.made = plus(at->second.made, of.made);
      if (of.slabs) add_to(at->second.slabs, *of.slabs);
    }
  };
  if (arenas.merged)
    add(*arenas.merged);
  else
    for (const ArenaNumbers& one : arenas.single) add(one);
  statistics.arenas_read = arenas.merged
                               ? std::max<std::uint64_t>(statistics.arenas.value_or(1), arenas.single.size())
                               : arenas.single.size();
  statistics.uptime_ns = sum.uptime_ns;
  statistics.thread_caches = sum.thread_caches;
  const std::uint64_t page = statistics.page_bytes.value_or(4096);
  if (sum.dirty_pages) statistics.dirty = times(*sum.dirty_pages, page);
  if (sum.muzzy_pages) statistics.muzzy = times(*sum.muzzy_pages, page);
  for (const auto& [size, of] : sum.classes)
    if (of.made != 0 || of.live != 0 || of.slabs.value_or(0) != 0) statistics.classes.push_back(of);
  // Locks of all arenas together say less than those of each, and are all that there is where these were left out.
  if (arenas.single.empty() && arenas.merged)
    statistics.locks.insert(statistics.locks.end(), arenas.merged->locks.begin(), arenas.merged->locks.end());
  for (const ArenaNumbers& one : arenas.single)
    statistics.locks.insert(statistics.locks.end(), one.locks.begin(), one.locks.end());
  std::erase_if(statistics.locks, [](const StatisticsLock& lock) { return lock.waited_ns == 0; });
  stable_sort_rows(statistics.locks, std::greater<>(), &StatisticsLock::waited_ns);
}

}  // namespace fathom::allocators
