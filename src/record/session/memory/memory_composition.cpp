#include "record/session/memory/memory_composition.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

namespace fathom::session {
namespace {

using model::HeapAllocatorId;
using model::MemoryKind;
using model::MemoryRange;
using sources::JudgedMapping;
using sources::MappingUse;

bool is_anonymous(const JudgedMapping& mapping) {
  return mapping.use == MappingUse::kAnonymous || mapping.use == MappingUse::kBreak ||
         mapping.use == MappingUse::kArena || mapping.use == MappingUse::kFileZeroed ||
         mapping.use == MappingUse::kThreadStack || mapping.use == MappingUse::kMainStack;
}

// part / whole of `bytes`.
std::uint64_t portion(std::uint64_t bytes, double part, double whole) {
  return whole > 0 ? std::min(bytes, static_cast<std::uint64_t>(static_cast<double>(bytes) * (part / whole)))
                   : 0;
}

MemoryKind kind_of(MappingUse use) {
  switch (use) {
    case MappingUse::kFile:
    case MappingUse::kFileZeroed:
      return MemoryKind::kFileData;
    case MappingUse::kShared:
      return MemoryKind::kShared;
    case MappingUse::kBreak:
      return MemoryKind::kBreak;
    case MappingUse::kMainStack:
      return MemoryKind::kMainStack;
    case MappingUse::kThreadStack:
      return MemoryKind::kThreadStack;
    case MappingUse::kArena:
      return MemoryKind::kAllocator;
    case MappingUse::kKernel:
      return MemoryKind::kKernel;
    case MappingUse::kHugeFile:
      return MemoryKind::kHugeFile;
    case MappingUse::kAnonymous:
      break;
  }
  return MemoryKind::kUnknown;
}

// `size` of a mapping, and its part of what the whole mapping has in swap and huge pages.
void add_bytes(MemoryRange& row, const sources::MemoryMapping& mapping, double size, std::uint64_t rss) {
  row.virtual_bytes += static_cast<std::uint64_t>(size);
  row.rss_bytes += rss;
  row.anonymous_bytes += rss;
  row.swap_bytes += portion(mapping.swap, size, static_cast<double>(mapping.entry.size()));
  row.huge_bytes += portion(mapping.huge, static_cast<double>(rss), static_cast<double>(mapping.anonymous));
}

// Anonymous memory is named by its contents; a mapping's own name is better than none.
std::string name_of(const JudgedMapping& mapping, MemoryKind kind) {
  if (mapping.use == MappingUse::kArena && kind == MemoryKind::kAllocator) return "glibc arena";
  if (mapping.use == MappingUse::kFileZeroed && kind != MemoryKind::kFileData)
    return mapping.name + " (.bss)";
  if (kind == MemoryKind::kMainStack || kind == MemoryKind::kKernel) return "";
  return mapping.name;
}

}  // namespace

// Ranges of one kind, name and allocator.
class MemoryComposition::Rows {
 public:
  using Key = std::tuple<MemoryKind, std::string, HeapAllocatorId>;
  MemoryRange& row(MemoryKind kind, const std::string& name, HeapAllocatorId allocator = {}) {
    MemoryRange& row = rows_[{kind, name, allocator}];
    row.kind = kind;
    row.allocator = allocator;
    return row;
  }

  std::vector<MemoryRange> take(model::Builder& builder, std::size_t most_named) const {
    std::vector<std::pair<std::uint64_t, const Key*>> named;
    for (const auto& [key, row] : rows_)
      if (!std::get<1>(key).empty()) named.push_back({row.rss_bytes, &key});
    std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : *a.second < *b.second;
    });
    std::set<Key> cut;
    for (std::size_t i = most_named; i < named.size(); ++i) cut.insert(*named[i].second);
    std::map<Key, MemoryRange> kept;
    for (const auto& [key, row] : rows_) {
      const std::string name = cut.contains(key) ? "others" : std::get<1>(key);
      MemoryRange& to = kept[{std::get<0>(key), name, std::get<2>(key)}];
      to.kind = row.kind;
      to.allocator = row.allocator;
      to.name = builder.string(name);
      add(to, row);
    }
    std::vector<MemoryRange> all;
    for (const auto& entry : kept)
      if (entry.second.ranges != 0 || entry.second.rss_bytes != 0 || entry.second.live_blocks != 0)
        all.push_back(entry.second);
    return all;
  }

 private:
  static void add(MemoryRange& to, const MemoryRange& row) {
    to.ranges += row.ranges;
    to.virtual_bytes += row.virtual_bytes;
    to.rss_bytes += row.rss_bytes;
    to.anonymous_bytes += row.anonymous_bytes;
    to.swap_bytes += row.swap_bytes;
    to.huge_bytes += row.huge_bytes;
    to.live_blocks += row.live_blocks;
    to.live_bytes += row.live_bytes;
    to.live_resident_bytes += row.live_resident_bytes;
    to.live_resident_variance += row.live_resident_variance;
    to.live_is_bound = to.live_is_bound || row.live_is_bound;
    to.shared_out = to.shared_out || row.shared_out;
  }
  std::map<Key, MemoryRange> rows_;
};

MemoryComposition::MemoryComposition(std::vector<JudgedMapping> mappings,
                                     std::span<const tracer_own_mapping> own,
                                     std::span<const AddressRange> mapped)
    : mappings_(std::move(mappings)), own_(own) {
  auto piece = mapped.begin();
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    const process::MapEntry& entry = mappings_[i].mapping.entry;
    if (!is_anonymous(mappings_[i]) || is_tracers(mappings_[i])) continue;
    std::uint64_t at = entry.start.value;
    const std::uint64_t end = entry.end.value;
    while (piece != mapped.end() && piece->end <= at) ++piece;
    for (auto next = piece; next != mapped.end() && next->start < end; ++next) {
      const std::uint64_t from = std::max(next->start, at), to = std::min(next->end, end);
      if (from > at) segments_.push_back({at, from, i, false});
      if (to > from) segments_.push_back({from, to, i, true});
      at = std::max(at, to);
    }
    if (at < end) segments_.push_back({at, end, i, false});
  }
  share_out_rss();
}

bool MemoryComposition::is_tracers(const JudgedMapping& mapping) const {
  const std::uint64_t start = mapping.mapping.entry.start.value;
  return std::any_of(own_.begin(), own_.end(), [&](const tracer_own_mapping& range) {
    return start >= range.address && start - range.address < range.bytes;
  });
}

std::vector<AddressRange> MemoryComposition::wanted_pages(std::uint64_t most_pages) const {
  std::vector<const JudgedMapping*> partial;
  for (const JudgedMapping& mapping : mappings_) {
    const std::uint64_t anonymous = mapping.mapping.anonymous;
    if (is_anonymous(mapping) && anonymous != 0 && anonymous < mapping.mapping.entry.size() &&
        mapping.use != MappingUse::kThreadStack && mapping.use != MappingUse::kMainStack)
      partial.push_back(&mapping);
  }
  std::sort(partial.begin(), partial.end(), [](const JudgedMapping* a, const JudgedMapping* b) {
    return a->mapping.anonymous > b->mapping.anonymous;
  });
  std::vector<AddressRange> wanted;
  for (const JudgedMapping* mapping : partial) {
    const std::uint64_t pages = mapping->mapping.entry.size() / sources::ResidentPages::kPage;
    if (pages > most_pages) continue;
    most_pages -= pages;
    wanted.push_back({mapping->mapping.entry.start.value, mapping->mapping.entry.end.value});
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  return wanted;
}

void MemoryComposition::set_pages(sources::ResidentPages pages) {
  pages_ = std::make_shared<const sources::ResidentPages>(std::move(pages));
  share_out_rss();
}

// What of a mapping is resident, among its segments: by their pages where these are known, else by size. Adds
// up to the mapping's own number, which was read at another moment.
void MemoryComposition::share_out_rss() {
  for (std::size_t first = 0; first < segments_.size();) {
    const sources::MemoryMapping& mapping = mappings_[segments_[first].mapping].mapping;
    std::size_t last = first;
    while (last < segments_.size() && segments_[last].mapping == segments_[first].mapping) ++last;
    std::uint64_t left = mapping.anonymous;
    Segment* largest = &segments_[first];
    for (std::size_t i = first; i < last; ++i) {
      Segment& segment = segments_[i];
      const std::uint64_t size = segment.end - segment.start;
      const bool whole = mapping.anonymous == mapping.entry.size();
      segment.pages_known = whole || pages_->knows(segment.start);
      segment.rss = whole                 ? size
                    : segment.pages_known ? pages_->resident(segment.start, size)
                                          : portion(mapping.anonymous, static_cast<double>(size),
                                                    static_cast<double>(mapping.entry.size()));
      segment.rss = std::min(segment.rss, left);
      left -= segment.rss;
      if (size > largest->end - largest->start) largest = &segment;
    }
    largest->rss += left;
    first = last;
  }
}

MemoryComposition::Segment* MemoryComposition::segment_of(std::uint64_t address) {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), address,
                       [](std::uint64_t at, const Segment& segment) { return at < segment.start; });
  if (after == segments_.begin() || std::prev(after)->end <= address) return nullptr;
  return &*std::prev(after);
}

void MemoryComposition::add_block(std::uint64_t address, std::uint64_t size, HeapAllocatorId allocator,
                                  const sources::heap::Weight& weight) {
  Segment* segment = segment_of(address);
  Live& live = segment == nullptr ? elsewhere_[allocator] : segment->live[allocator];
  live.blocks += weight.sum.blocks;
  live.bytes += weight.sum.bytes;
  live.sampled = live.sampled || weight.variance.blocks != 0;
  if (segment == nullptr) return;
  const bool known = pages_->knows(address);
  const auto resident = static_cast<double>(known ? pages_->resident(address, size) : size);
  live.resident += resident * weight.sum.blocks;
  live.variance += resident * resident * weight.variance.blocks;
}

void MemoryComposition::add_held(std::uint64_t start, std::uint64_t end, HeapAllocatorId allocator,
                                 std::string_view state, const SharedPages& other) {
  auto segment = std::partition_point(segments_.begin(), segments_.end(),
                                      [&](const Segment& before) { return before.end <= start; });
  for (; segment != segments_.end() && segment->start < end; ++segment) {
    const std::uint64_t from = std::max(start, segment->start), to = std::min(end, segment->end);
    if (to <= from) continue;
    const auto row = [&](std::string_view name) -> Held& {
      auto found = segment->held.find(HeldView(allocator, name));
      if (found == segment->held.end()) found = segment->held.emplace(HeldKey(allocator, name), Held{}).first;
      return found->second;
    };
    std::uint64_t bytes = to - from;
    std::uint64_t resident = segment->pages_known && pages_->knows(from)
                                 ? pages_->resident(from, bytes)
                                 : portion(segment->rss, static_cast<double>(bytes),
                                           static_cast<double>(segment->end - segment->start));
    if (other.share > 0) {
      Held& with = row(other.state);
      const std::uint64_t its_bytes = portion(bytes, other.share, 1),
                          its_resident = portion(resident, other.share, 1);
      with.bytes += its_bytes;
      with.resident += its_resident;
      bytes -= its_bytes;
      resident -= its_resident;
    }
    Held& held = row(state);
    held.ranges += 1;
    held.bytes += bytes;
    held.resident += resident;
  }
}

void MemoryComposition::add_mapping(const JudgedMapping& judged, Rows& rows) const {
  const sources::MemoryMapping& mapping = judged.mapping;
  const bool tracers = is_tracers(judged);
  if (is_anonymous(judged) && !tracers) return;  // its segments follow
  const MemoryKind kind = tracers ? MemoryKind::kTracer : kind_of(judged.use);
  const std::string name = tracers ? "" : name_of(judged, kind);
  const bool is_file = kind == MemoryKind::kFileData;
  const std::uint64_t changed = is_file ? mapping.anonymous : 0;
  // A private mapping of a file is two things: pages of the file, and pages that are the process's own.
  const bool is_data = is_file && mapping.entry.writable && !mapping.entry.shared;
  const std::uint64_t huge = std::min(mapping.huge, changed);
  const bool is_code = is_file && !is_data && mapping.entry.executable;
  const std::string full_name = is_code ? name + " (code)" : name;
  MemoryRange& row = rows.row(is_file && !is_data ? MemoryKind::kFile : kind, full_name);
  // Pages that are counted in the other of the two rows take their addresses with them.
  const std::uint64_t size = mapping.entry.size();
  const std::uint64_t elsewhere = is_file ? std::min(size, is_data ? mapping.rss - changed : changed) : 0;
  row.ranges += 1;
  row.virtual_bytes += size - elsewhere;
  row.huge_bytes += mapping.huge_file;
  row.swap_bytes += mapping.swap;
  if (is_file) {
    MemoryRange& data = rows.row(MemoryKind::kFileData, name);
    data.rss_bytes += changed;
    data.anonymous_bytes += changed;
    data.huge_bytes += huge;
    if (!is_data) data.virtual_bytes += elsewhere;
  }
  MemoryRange& rest = rows.row(is_file ? MemoryKind::kFile : kind, full_name);
  rest.rss_bytes += mapping.rss - changed;
  rest.anonymous_bytes += mapping.anonymous - changed;
  rest.huge_bytes += mapping.huge - huge;
  if (is_data) rest.virtual_bytes += elsewhere;
}

// What allocators report about their own memory.
MemoryComposition::Rest MemoryComposition::add_held_rows(const Segment& segment, Rows& rows) const {
  Rest rest{segment.end - segment.start, segment.rss};
  for (const auto& [whose, held] : segment.held) {
    const std::uint64_t rss = std::min(held.resident, rest.rss), size = std::min(held.bytes, rest.size);
    MemoryRange& row = rows.row(MemoryKind::kAllocator, whose.second, whose.first);
    row.ranges += held.ranges;
    add_bytes(row, mappings_[segment.mapping].mapping, static_cast<double>(size), rss);
    rest.size -= size;
    rest.rss -= rss;
  }
  return rest;
}

// `rss`: of the row's part of the segment. What was seen to be there cannot be more than there is; what is estimated may stand for
// blocks in mappings that hold no sample.
void MemoryComposition::add_live(MemoryRange& row, const Segment& segment, const Live& live,
                                 std::uint64_t rss) {
  const bool bound = !segment.pages_known && !live.sampled;
  row.live_blocks += live.blocks;
  row.live_bytes += live.bytes;
  row.live_resident_bytes += live.sampled ? live.resident : std::min(live.resident, static_cast<double>(rss));
  row.live_resident_variance += live.variance;
  row.live_is_bound = row.live_is_bound || bound;
  row.shared_out = row.shared_out || segment.live.size() > 1;
}

void MemoryComposition::add_segment(const Segment& segment, HeapAllocatorId libc, Rows& rows) const {
  const JudgedMapping& judged = mappings_[segment.mapping];
  const sources::MemoryMapping& mapping = judged.mapping;
  const bool is_stack = judged.use == MappingUse::kThreadStack || judged.use == MappingUse::kMainStack;
  // A part of `rest`, in a row of its own.
  const auto add = [&](MemoryKind kind, HeapAllocatorId allocator, const Rest& rest, double share,
                       const Live* live) {
    if (rest.size == 0 && rest.rss == 0) return;
    MemoryRange& row = rows.row(kind, name_of(judged, kind), allocator);
    const auto rss = static_cast<std::uint64_t>(std::llround(static_cast<double>(rest.rss) * share));
    row.ranges += 1;
    add_bytes(row, mapping, static_cast<double>(rest.size) * share, rss);
    if (live != nullptr) add_live(row, segment, *live, rss);
  };
  if (!segment.live.empty()) {
    double bytes = 0;
    for (const auto& [allocator, live] : segment.live) bytes += live.resident;
    const double even = 1.0 / static_cast<double>(segment.live.size());
    for (const auto& [allocator, live] : segment.live)
      add(MemoryKind::kAllocator, allocator, {segment.end - segment.start, segment.rss},
          bytes > 0 ? live.resident / bytes : even, &live);
  } else if (const Rest rest = add_held_rows(segment, rows); segment.mapped && !is_stack) {
    add(MemoryKind::kMapped, {}, rest, 1, nullptr);
  } else {
    const MemoryKind kind = kind_of(judged.use);
    add(kind, kind == MemoryKind::kAllocator ? libc : HeapAllocatorId{}, rest, 1, nullptr);
  }
  if (mapping.rss > mapping.anonymous && segment.start == mapping.entry.start.value)
    rows.row(MemoryKind::kFile, "").rss_bytes += mapping.rss - mapping.anonymous;
}

std::vector<MemoryRange> MemoryComposition::rows(std::uint64_t time_ns, model::ProcessId process,
                                                 HeapAllocatorId libc, model::Builder& builder) const {
  Rows rows;
  for (const JudgedMapping& judged : mappings_) add_mapping(judged, rows);
  for (const Segment& segment : segments_) add_segment(segment, libc, rows);
  for (const auto& [allocator, live] : elsewhere_) {
    MemoryRange& row = rows.row(MemoryKind::kAllocator, "", allocator);
    row.live_blocks += live.blocks;
    row.live_bytes += live.bytes;
  }
  std::vector<MemoryRange> out = rows.take(builder, kMostNamed);
  for (MemoryRange& row : out) {
    row.time_ns = time_ns;
    row.process = process;
  }
  return out;
}

}  // namespace fathom::session
