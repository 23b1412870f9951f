#include "attach/allocators/nameless/mimalloc_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "attach/allocators/relocations.h"
#include "attach/allocators/versions.h"

namespace fathom::allocators::nameless {
namespace {

// The table of what its code is known by. Beginnings of messages, as 1.7 to 3.0 have them; each alone is enough.
constexpr std::string_view kMessages[] = {
    "environment option \"mimalloc_",
    "environment option mimalloc_",
    "unable to use secure randomness",
    "unable to release OS memory: ",
    "unable to free OS memory (error: ",
    "unable to allocate OS memory (",
    "unable to allocate aligned OS memory directly, fall back to over-",
    "unable to allocate thread local heap metadata (",
    "unable to allocate memory (%zu bytes)",
    "unable to allocate huge (1GiB) page, trying large (2MiB) pages",
    "unable to directly request hinted aligned OS memory (",
    "cannot decommit OS memory (error: ",
    "cannot commit OS memory (error: ",
    "cannot reset OS memory (error: ",
    "madvise reset error: start: ",
    "corrupted thread-free list",
    "trying to free from an invalid arena",
    "trying to free from non-existent arena",
    "trying to free an already freed block: ",
    "trying to free an already freed arena block: ",
    "allocation request is too large (%zu bytes)",
    "commit mask overflow: idx=",
};
// The neighbourhood of the functions that name them, as numbers of functions: the library has some 400 of them.
constexpr FunctionNumber kBefore = 256, kBehind = 384;
constexpr std::size_t kMostNear = 1600, kMostOfLibrary = 900, kMostMimallocReached = 400;
constexpr std::uint64_t kLargestForwarder = 64;
constexpr int kMostDepth = 6, kMostFarLookups = 48;

}  // namespace

const MimallocCode::Facts& MimallocCode::facts(FunctionNumber function) {
  const auto known = facts_.find(function);
  return known != facts_.end() ? known->second
                               : facts_.emplace(function, code_.facts(function)).first->second;
}

Result<MimallocCode> MimallocCode::find(const elf::ElfFile& file) {
  if (!holds_mimalloc_messages(file)) return fail(ErrorKind::kNotFound, "no messages of mimalloc");
  MimallocCode found(file);
  if (found.code_.size() == 0)
    return fail(ErrorKind::kUnsupported, "its code has no unwind tables, which say where functions begin");
  for (const elf::Section& section : file.sections())
    if (section.type == SHT_INIT_ARRAY || section.type == SHT_FINI_ARRAY || section.type == SHT_PREINIT_ARRAY)
      found.starts_and_ends_.emplace_back(section.address.value, section.address.value + section.size);

  std::vector<std::uint64_t> messages;
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    const auto bytes = file.bytes_from(segment.address);
    for (const std::string_view text : kMessages) {
      const std::string wanted = '\0' + std::string(text);
      for (std::size_t from = 0; from < bytes.size();) {
        const void* at = ::memmem(bytes.data() + from, bytes.size() - from, wanted.data(), wanted.size());
        if (at == nullptr) break;
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - bytes.data());
        messages.push_back(segment.address.value + offset + 1);
        from = offset + wanted.size();
      }
    }
  }
  std::sort(messages.begin(), messages.end());
  messages.erase(std::unique(messages.begin(), messages.end()), messages.end());
  std::set<FunctionNumber> seeds;
  for (const CodeMap::Naming& each : found.code_.namings(messages))
    if (each.by != kNoFunction && !each.through && found.is_named_by(each.by, each.named))
      seeds.insert(each.by);
  if (seeds.empty()) return fail(ErrorKind::kUnsupported, "no code names its messages");

  // Cold parts and one-time functions that gcc moves next to the program's own: parts that are only jumped
  // to, and functions for the loader.
  const auto stands_elsewhere = [&](FunctionNumber function) {
    const std::vector<ElfAddress> start{{found.code_.start(function)}};
    for (const FilledWord& each : words_holding(file, start))
      if (std::ranges::any_of(found.starts_and_ends_, [&](const auto& range) {
            return each.word.value >= range.first && each.word.value < range.second;
          }))
        return true;
    std::vector<bool> wanted(found.code_.size());
    wanted[function] = true;
    bool jumped = false;
    for (const CodeMap::Edge& each : found.code_.edges_into(wanted)) {
      if (each.caller == kNoFunction || !found.facts(each.caller)) return false;
      if (std::ranges::binary_search(found.facts(each.caller)->calls, start.front().value) ||
          std::ranges::binary_search(found.facts(each.caller)->data, start.front().value))
        return false;
      jumped |= std::ranges::binary_search(found.facts(each.caller)->jumps, start.front().value);
    }
    const Facts& all = found.facts(function);
    return jumped && all && (all->jumps.empty() || std::ranges::all_of(all->jumps, [&](std::uint64_t to) {
                               return found.code_.starting_at(to) == kNoFunction;
                             }));
  };
  // Only the outermost are asked: each question is a pass over all code.
  std::vector<FunctionNumber> ordered(seeds.begin(), seeds.end());
  std::size_t from = 0, to = ordered.size();
  constexpr std::size_t kMostElsewhere = 16;
  while (from < to && from < kMostElsewhere && stands_elsewhere(ordered[from])) ++from;
  while (to > from && ordered.size() - to < kMostElsewhere && stands_elsewhere(ordered[to - 1])) --to;
  found.seeds_.assign(ordered.begin() + static_cast<std::ptrdiff_t>(from),
                      ordered.begin() + static_cast<std::ptrdiff_t>(to));
  if (found.seeds_.empty()) return fail(ErrorKind::kUnsupported, "no code names its messages");
  found.first_ = found.seeds_.front(), found.last_ = found.seeds_.back();
  if (found.last_ - found.first_ > kMostOfLibrary)
    return fail(ErrorKind::kUnsupported, "its code is mixed with the program's");
  found.near_first_ = found.first_ - std::min(found.first_, kBefore);
  found.near_last_ =
      std::min<FunctionNumber>(found.last_ + kBehind, static_cast<FunctionNumber>(found.code_.size()) - 1);
  found.find_references(found.near_first_, found.near_last_);
  return found;
}

// False: surely not, the bytes only looked like it.
bool MimallocCode::is_named_by(FunctionNumber by, std::uint64_t address) {
  if (by == kNoFunction) return true;
  return may_name(facts(by), address);
}

void MimallocCode::find_references(FunctionNumber first, FunctionNumber last) {
  nameless::find_references(file_, code_, first, last, starts_and_ends_, references_);
}

// Nothing refers to it but what nothing refers to.
bool MimallocCode::is_dead(FunctionNumber function, int depth) {
  if (function == kNoFunction || depth > kMostDepth) return false;
  if (code_.holding(file_.entry().value) == function) return false;
  const auto known = references_.find(function);
  if (known == references_.end()) return false;
  return std::ranges::all_of(known->second, [&](const Reference& each) {
    return each.by != kNoFunction && each.by != function &&
           ((!each.through && !is_named_by(each.by, code_.start(function))) || is_dead(each.by, depth + 1));
  });
}

std::vector<Candidate> MimallocCode::candidates() {
  std::vector<Candidate> found;
  for (FunctionNumber each = near_first_; each <= near_last_; ++each) {
    const Facts& all = facts(each);
    if (!all ||
        (all->thread_accesses == 0 && (code_.size_of(each) > kLargestForwarder || all->jumps.empty())))
      continue;
    // Functions that do not lead to its code are not part of it: another allocator may be next to it.
    if (is_dead(each) || !reaches(each, {})) continue;
    found.push_back({.address = {code_.start(each)}, .size = code_.size_of(each)});
  }
  return found;
}

std::vector<FunctionNumber> MimallocCode::ways_of(FunctionNumber function) {
  std::vector<FunctionNumber> found;
  const Facts& all = facts(function);
  if (!all) return found;
  for (const auto* ways : {&all->calls, &all->jumps})
    for (const std::uint64_t each : *ways)
      if (const auto to = code_.holding(each); to != kNoFunction && to != function) found.push_back(to);
  return found;
}

// Whether it comes to the library's code other than through the doors: what does not is the program's.
bool MimallocCode::reaches(FunctionNumber from, const std::set<FunctionNumber>& doors) {
  std::set<FunctionNumber> reached{from};
  std::vector<FunctionNumber> queue{from};
  for (std::size_t i = 0; i < queue.size() && queue.size() < kMostMimallocReached; ++i)
    for (const FunctionNumber each : ways_of(queue[i])) {
      if (doors.contains(each)) continue;
      if (each >= seeds_.front() && each <= seeds_.back()) return true;
      if (each >= near_first_ && each <= near_last_ && reached.insert(each).second) queue.push_back(each);
    }
  return false;
}

// The library's, or a part of it that stands elsewhere, or never called.
bool MimallocCode::is_inner(FunctionNumber function, int depth) {
  if (function == kNoFunction || wrappers_.contains(function)) return false;
  if (function >= first_ && function <= last_) return true;
  if (depth > kMostDepth) return false;
  if (code_.holding(file_.entry().value) == function) return false;
  if (!references_.contains(function)) {
    if (++far_lookups_ > kMostFarLookups) return false;
    find_references(function, function);
  }
  const std::vector<Reference> all = references_.at(function);
  // Next to the library it is a library function that the program does not use. Elsewhere it may be
  // referenced in an unknown way.
  if (all.empty()) return function >= near_first_ && function <= near_last_;
  return std::ranges::all_of(all, [&](const Reference& each) {
    return !each.exported && !each.in_table && each.by != kNoFunction && each.by != function &&
           ((!each.through && !is_named_by(each.by, code_.start(function))) || is_inner(each.by, depth + 1));
  });
}

// Where the program begins must not be within the library: a compiler that saw both at once has mixed them.
Result<> MimallocCode::check_apart() {
  if (last_ - first_ > kMostOfLibrary)
    return fail(ErrorKind::kUnsupported, "its code is mixed with the program's");
  const auto is_within = [&](std::uint64_t address) {
    const FunctionNumber function = code_.holding(address);
    return function != kNoFunction && function >= first_ && function <= last_;
  };
  bool within = is_within(file_.entry().value);
  if (const FunctionNumber begin = code_.holding(file_.entry().value); begin != kNoFunction && facts(begin)) {
    for (const std::uint64_t each : facts(begin)->data) within |= is_within(each);
    for (const FunctionNumber each : ways_of(begin)) within |= is_within(code_.start(each));
  }
  if (within) return fail(ErrorKind::kUnsupported, "its code is mixed with the program's");
  return {};
}

Result<LibraryCode::WaysIn> MimallocCode::ways_in(std::span<const ElfAddress> doors) {
  std::set<FunctionNumber> all_doors, inner_doors;
  for (const ElfAddress each : doors)
    if (const auto function = code_.starting_at(each.value); function != kNoFunction)
      all_doors.insert(function);
  for (const FunctionNumber each : all_doors)
    (reaches(each, all_doors) ? inner_doors : wrappers_).insert(each);
  if (inner_doors.empty())
    return fail(ErrorKind::kUnsupported, "the functions that behave like its own do not lead into its code");
  first_ = std::min(first_, *inner_doors.begin());
  last_ = std::max(last_, *inner_doors.rbegin());
  if (auto apart = check_apart(); !apart) return tl::unexpected<Error>(apart.error());

  for (;;) {
    WaysIn ways;
    bool again = false;
    for (FunctionNumber function = first_; function <= last_; ++function) {
      if (wrappers_.contains(function)) continue;
      const bool is_door = inner_doors.contains(function);
      const auto found = referred_to(function, is_door);
      if (!found) continue;
      // What comes to blocks through doors only is like the program's own code: its calls of these count.
      if (!is_door && !reaches(function, inner_doors)) {
        wrappers_.insert(function);
        again = true;
        continue;
      }
      (is_door ? ways.entries : ways.others).push_back(*found);
    }
    if (again) continue;
    add_own_code(ways, inner_doors);
    return ways;
  }
}

// From outside of the library. nullopt: it is not.
std::optional<Candidate> MimallocCode::referred_to(FunctionNumber function, bool is_door) {
  Candidate found{.address = {code_.start(function)}, .size = code_.size_of(function)};
  bool is_exported = false;
  const std::vector<Reference> references = references_.at(function);
  // A door stays one, whatever calls it. For anything else the callers matter: finding them is a pass over
  // all code.
  const auto is_outside = [&](const Reference& each) {
    if (!each.through && !is_named_by(each.by, code_.start(function))) return false;
    const bool is_far = each.by == kNoFunction || each.by < near_first_ || each.by > near_last_;
    return (is_door && is_far) || !is_inner(each.by);
  };
  constexpr std::uint32_t kEnough = 16;
  for (const Reference& each : references) {
    if (each.exported)
      is_exported = true;
    else if (each.in_table)
      ++found.in_tables;
    else if (found.direct + found.through_words > kEnough || is_outside(each))
      ++(each.through ? found.through_words : found.direct);
  }
  if (found.direct + found.through_words + found.in_tables == 0 && !is_exported) return std::nullopt;
  return found;
}

// What doors go on to within the library: surely not the program's.
void MimallocCode::add_own_code(WaysIn& ways, const std::set<FunctionNumber>& doors) {
  std::set<FunctionNumber> own = doors;
  std::vector<FunctionNumber> queue(doors.begin(), doors.end());
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const FunctionNumber each : ways_of(queue[i]))
      if (each >= first_ && each <= last_ && !wrappers_.contains(each) && own.insert(each).second)
        queue.push_back(each);
  for (const FunctionNumber each : own) {
    const ElfAddress start{code_.start(each)}, end{start.value + code_.size_of(each)};
    if (!ways.own_code.empty() && ways.own_code.back().end == start)
      ways.own_code.back().end = end;
    else
      ways.own_code.push_back({start, end});
  }
}

}  // namespace fathom::allocators::nameless
