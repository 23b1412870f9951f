#include "model/store/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "model/still_recorded.h"
#include "model/store/block.h"
#include "model/store/heap_selection.h"
#include "model/store/input.h"
#include "model/store/lives_reader.h"
#include "model/store/payload.h"

namespace fathom::store {

using model::Profile;

Result<> Loading::charge(std::uint64_t bytes) {
  memory += bytes;  // each charge is far below 2^63, so this cannot wrap before the check
  const std::uint64_t most =
      kLeastMemory + kMemoryPerByte * std::min(file_bytes, UINT64_MAX / kMemoryPerByte / 2);
  if (memory > most && most < options.memory_limit_bytes)
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("{} bytes of recording ask for more than {} MiB of memory", file_bytes, most >> 20),
        "a file that fathom has written: this one is damaged, or made to harm");
  if (memory <= options.memory_limit_bytes) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("the recording needs more than {} MiB of memory", options.memory_limit_bytes >> 20),
              "read a part of it: --from and --to");
}

Result<> Loading::work(std::uint64_t more) {
  steps += more;
  const std::uint64_t most =
      kLeastSteps + kStepsPerByte * std::min(file_bytes, UINT64_MAX / kStepsPerByte / 2);
  if (steps <= most) return {};
  return fail(
      ErrorKind::kUnsupported,
      fmt::format("{} bytes of recording ask for more than {} million rows", file_bytes, most / 1'000'000),
      "a file that fathom has written: this one is damaged, or made to harm");
}

namespace {

class Reader {
 public:
  Reader(Input& input, std::string name, const ReadOptions& options)
      : input_(input), name_(std::move(name)), loading_(options, input.size()) {}

  Result<Profile> read() {
    const auto& [from, to] = std::pair(loading_.options.from_ns, loading_.options.to_ns);
    if (from && to && *from > *to) return fail(ErrorKind::kUsage, "the window ends before it starts");
    auto first = input_.at(0, kFileHeaderSize);
    if (!first) return tl::make_unexpected(first.error());
    if (auto checked = check_file_header(*first, name_); !checked)
      return tl::make_unexpected(checked.error());
    read_end(from || to);
    if (auto walked = walk_blocks(); !walked) return tl::make_unexpected(walked.error());
    return finished_profile();
  }

 private:
  // Reads the end mark, and for a window the index. Without them (killed, damaged) all blocks are decoded.
  void read_end(bool with_index) {
    if (input_.size() < kFileHeaderSize + kEndSize) return;
    auto mark = read_block(input_.size() - kEndSize, kEnd);
    if (!mark) return;
    const EndMark end = decode_end(Cursor(*mark));
    if (!with_index) {
      if (loading_.options.packed) return;
      // Saves copying while the table grows. Samples mostly take more than one byte; more samples than that
      // also work.
      loading_.profile.samples.reserve(
          std::min({end.samples, input_.size(), loading_.options.memory_limit_bytes / 32}));
      return;
    }
    std::uint64_t offset = end.index_offset;
    std::vector<IndexEntry> entries;
    while (auto payload = read_block(offset, kIndex)) {
      if (!decode_index(Cursor(*payload), loading_, entries)) return;
      offset += block_size_;
    }
    for (const IndexEntry& entry : entries)
      if (entry.type == kSamples || entry.type == kWaits) spans_[entry.offset] = entry;
  }

  std::optional<std::span<const std::byte>> read_block(std::uint64_t offset, std::uint32_t type) {
    auto bytes = input_.at(offset, kBlockHeaderSize);
    if (!bytes) return std::nullopt;
    const auto header = decode_block_header(*bytes);
    if (!header || header->type != type) return std::nullopt;
    auto stored = input_.at(offset + kBlockHeaderSize, header->stored_size);
    if (!stored || stored->size() < header->stored_size) return std::nullopt;
    auto payload = decoder_.payload(*header, *stored);
    if (!payload) return std::nullopt;
    block_size_ = kBlockHeaderSize + header->stored_size;
    return *payload;
  }

  Result<> walk_blocks() {
    std::uint64_t offset = kFileHeaderSize;
    while (!ended_) {
      auto bytes = input_.at(offset, kBlockHeaderSize);
      if (!bytes) return tl::make_unexpected(bytes.error());
      if (bytes->size() < kBlockHeaderSize) return {};
      const auto header = decode_block_header(*bytes);
      if (!header || header->sequence < next_sequence_) {
        auto found = find_block(offset + 1);
        if (!found) return tl::make_unexpected(found.error());
        const std::uint64_t end = *found ? **found : input_.size();
        damage(offset, end - offset);
        if (!*found) return {};
        offset = end;
        continue;
      }
      if (header->sequence > next_sequence_) {
        lost_blocks_ += header->sequence - next_sequence_;
        loading_.damaged = true;
      }
      next_sequence_ = header->sequence + 1;
      const std::uint64_t payload = offset + kBlockHeaderSize;
      if (header->stored_size > input_.size() - payload) return {};  // cut off inside the block
      if (auto done = read_data(offset, *header); !done) return done;
      offset = payload + header->stored_size;
    }
    return {};
  }

  // The next valid header of a later block. Payloads are compressed or checksummed, so a valid header inside
  // one is not there by accident.
  Result<std::optional<std::uint64_t>> find_block(std::uint64_t offset) {
    constexpr std::size_t kStep = 64 * 1024;
    while (offset < input_.size()) {
      auto bytes = input_.at(offset, kStep);
      if (!bytes) return tl::make_unexpected(bytes.error());
      const void* mark = ::memmem(bytes->data(), bytes->size(), &kBlockMark, sizeof(kBlockMark));
      if (mark == nullptr) {
        if (bytes->size() < kStep) break;
        offset += bytes->size() - (sizeof(kBlockMark) - 1);
        continue;
      }
      offset += static_cast<std::uint64_t>(static_cast<const std::byte*>(mark) - bytes->data());
      auto candidate = input_.at(offset, kBlockHeaderSize);
      if (!candidate) return tl::make_unexpected(candidate.error());
      if (auto header = decode_block_header(*candidate); header && header->sequence >= next_sequence_)
        return std::optional(offset);
      ++offset;
    }
    return std::optional<std::uint64_t>();
  }

  // Of the heap only that there is one, which the first of its blocks says.
  bool has_facts(std::uint32_t type) const {
    return type == kTables || type == kState || type == kEnd ||
           (type == kHeap && loading_.profile.heap.empty());
  }

  Result<> read_data(std::uint64_t offset, const BlockHeader& header) {
    if (skipped_by_index(offset, header)) return {};
    const bool known = header.type == kTables || header.type == kState || header.type == kSamples ||
                       header.type == kWaits || header.type == kHeap || header.type == kLives ||
                       header.type == kFaults || header.type == kCalls || header.type == kSpans ||
                       header.type == kMemory || header.type == kPoints || header.type == kIndex ||
                       header.type == kEnd;
    if ((!known && (header.flags & kFlagRequired) != 0) || (header.flags & ~kKnownFlags) != 0)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: block {} at byte {} is not known to this fathom", name_,
                              block_name(header.type), offset),
                  "open it with the version of fathom that recorded it, or a newer one");
    if (!known || header.type == kIndex) return {};
    if (loading_.options.facts_only && !has_facts(header.type)) return {};
    if (header.type == kLives) {
      if (!loading_.options.blocks) return {};
      lives_.push_back({offset, header});
      if (auto enough = loading_.work(header.rows); !enough) return within(name_, enough.error());
      return {};
    }
    auto stored = input_.at(offset + kBlockHeaderSize, header.stored_size);
    if (!stored) return tl::make_unexpected(stored.error());
    auto payload = decoder_.payload(header, *stored);
    Result<> decoded = payload ? decode(header, Cursor(*payload)) : tl::make_unexpected(payload.error());
    if (loading_.options.packed) pack();
    if (decoded || decoded.error().kind != ErrorKind::kMalformed)
      return decoded ? decoded : Result<>(within(name_, decoded.error()));
    damage(offset, kBlockHeaderSize + header.stored_size,
           fmt::format("{}: {}", block_name(header.type), decoded.error().message));
    return {};
  }

  Result<> decode(const BlockHeader& header, Cursor payload) {
    switch (header.type) {
      case kTables:
        return decode_tables(payload, loading_);
      case kState:
        return decode_state(payload, loading_);
      case kSamples:
        return decode_samples(payload, header.rows, predictor_, loading_);
      case kWaits:
        return decode_waits(payload, header.rows, loading_);
      case kHeap:
        return decode_heap(payload, loading_);
      case kFaults:
        return decode_faults(payload, header.rows, loading_);
      case kCalls:
        return decode_calls(payload, header.rows, loading_);
      case kSpans:
        return decode_spans(payload, header.rows, loading_);
      case kMemory:
        return decode_memory(payload, header.rows, loading_);
      case kPoints:
        return decode_points(payload, loading_);
      default:
        ended_ = true;
        return {};
    }
  }

  void pack() {
    Profile& profile = loading_.profile;
    profile.packed_samples.take_from(profile.samples);
    profile.packed_waits.take_from(profile.waits);
    profile.heap.packed_rows.take_from(profile.heap.rows);
  }

  // For code that changes or drops rows.
  void open_all() {
    Profile& profile = loading_.profile;
    profile.packed_samples.give_to(profile.samples);
    profile.packed_waits.give_to(profile.waits);
    profile.heap.packed_rows.give_to(profile.heap.rows);
  }

  bool skipped_by_index(std::uint64_t offset, const BlockHeader& header) {
    if (spans_.empty()) return false;
    const auto found = spans_.find(offset);
    if (found == spans_.end() || found->second.type != header.type || found->second.rows != header.rows)
      return false;
    const auto& options = loading_.options;
    const bool outside = (options.from_ns && found->second.last_ns < *options.from_ns) ||
                         (options.to_ns && found->second.first_ns >= *options.to_ns);
    if (outside) (header.type == kSamples ? loading_.filtered : loading_.filtered_waits) += header.rows;
    return outside;
  }

  void damage(std::uint64_t offset, std::uint64_t size, std::string what = "no block") {
    loading_.damaged = true;
    if (damages_++ == 0) first_damage_ = fmt::format("{} at byte {}", what, offset);
    damaged_bytes_ += size;
  }

  Result<Profile> finished_profile() {
    Profile& profile = loading_.profile;
    auto& quality = profile.quality;
    const bool whole = ended_ && !loading_.damaged;
    if (!ended_) quality.truncated = true;
    if (!ended_ && input_.is_being_written()) profile.meta.facts.emplace(model::kStillRecordedFact, "1");
    if (loading_.options.facts_only) {
      std::vector<model::Heap> heaps = std::move(profile.heap.heaps);
      profile.heap = {};
      profile.heap.heaps = std::move(heaps);
      if (!whole) repair(profile);
    } else if (!whole) {
      open_all();
      repair(profile);
      const std::uint64_t stored = profile.samples.size() + loading_.filtered + quality.filtered;
      if (quality.samples > stored) quality.lost_disk += quality.samples - stored;
      quality.samples = stored;
      const std::uint64_t waits = profile.waits.size() + loading_.filtered_waits + quality.filtered_waits;
      if (quality.waits > waits) quality.lost_waits += quality.waits - waits;
      quality.waits = waits;
      std::uint64_t last = std::max(profile.meta.end_ns, profile.meta.start_ns);
      if (!ended_) {
        for (const auto& sample : profile.samples) last = std::max(last, sample.time_ns);
        for (const auto& wait : profile.waits) last = std::max(last, end_of(wait));
      }
      profile.meta.end_ns = last;
    }
    if (auto selected = select_blocks(profile); !selected) return tl::make_unexpected(selected.error());
    if (damages_ != 0)
      quality.notes.push_back(fmt::format(
          "the recording file is damaged in {} {} ({} bytes, first: {}); the data there is missing", damages_,
          damages_ == 1 ? "place" : "places", damaged_bytes_, first_damage_));
    else if (lost_blocks_ != 0)
      quality.notes.push_back(fmt::format("{} blocks of the recording file are missing", lost_blocks_));
    quality.filtered += loading_.filtered;
    quality.filtered_waits += loading_.filtered_waits;
    narrow(profile.meta);
    if (auto checked = check(profile); !checked) return within(name_, checked.error());
    return std::move(profile);
  }

  // Heaps without lives of blocks.
  static bool has_rows_of_others(const model::HeapTables& heap) {
    for (const model::HeapRow& row : heap.all_rows())
      if (!heap.heaps[heap.sites[row.site.value].heap.value].each_block) return true;
    return false;
  }

  // All tables are loaded: replaces the heap's tables with those of the selected blocks.
  Result<> select_blocks(Profile& profile) {
    if (!loading_.options.blocks) return {};
    model::HeapTables& heap = profile.heap;
    if (std::none_of(heap.heaps.begin(), heap.heaps.end(), [](const auto& row) { return row.each_block; })) {
      if (loading_.options.blocks->if_recorded) return {};
      return fail(ErrorKind::kNotFound, name_ + ": the lives of single blocks were not recorded",
                  "fathom record --heap=exact --each-block");
    }
    // A caller that takes single blocks only if they were recorded keeps the tables: the recorder made them of the same blocks.
    const bool only_live = loading_.options.blocks->if_recorded && loading_.options.blocks->selects_all();
    if (!only_live) heap.packed_rows.give_to(heap.rows);
    if (auto checked = check(profile); !checked) return within(name_, checked.error());
    const double expected = blocks_expected(heap);
    const bool others = std::ranges::any_of(heap.heaps, [](const auto& row) { return !row.each_block; }) &&
                        has_rows_of_others(heap);
    // The decoding threads: each one's state per site.
    if (auto enough = loading_.charge(lives_threads(lives_.size()) * heap.sites.size() *
                                      sizeof(LivesOfSites::Predecessor));
        !enough)
      return within(name_, enough.error());
    double read = 0;
    HeapBlockFilter chosen = *loading_.options.blocks;
    chosen.leaked = chosen.leaked || only_live;
    HeapSelection selection(profile, chosen);
    std::uint64_t charged = 0;
    const auto charge = [&] {
      const std::uint64_t before = std::exchange(charged, selection.memory_bytes());
      return loading_.charge(charged - before);
    };
    if (auto enough = charge(); !enough) return enough;
    const LivesWanted wanted{only_live, chosen.least_size, chosen.most_size, ended_ && !loading_.damaged};
    const auto filter = [&](std::vector<model::HeapBlock>& blocks) { return selection.filter(blocks); };
    const auto pass = [&](std::span<const LivesPlace> places, double from,
                          const std::function<void(std::size_t, const Lives&)>& take) {
      return read_lives(input_, places, heap, wanted, filter,
                        [&](std::size_t place, Lives& lives) -> Result<> {
                          const LivesPlace& at = places[place];
                          if (!lives.outcome && lives.outcome.error().kind != ErrorKind::kMalformed)
                            return within(name_, lives.outcome.error());
                          if (!lives.outcome && from == 0)
                            damage(at.offset, kBlockHeaderSize + at.header.stored_size,
                                   "HBLK: " + lives.outcome.error().message);
                          take(place, lives);
                          if (auto enough = charge(); !enough) return enough;
                          if (loading_.options.progress)
                            loading_.options.progress(from + 0.5 * static_cast<double>(place + 1) /
                                                                 static_cast<double>(places.size()));
                          return {};
                        });
    };
    std::vector<LivesPlace> at_peak;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> spans;  // slices, by place
    auto done = pass(lives_, 0, [&](std::size_t, const Lives& lives) {
      selection.add(lives.blocks);
      read += lives.read;
      auto& [first, last] = spans.emplace_back(UINT32_MAX, 0);
      for (const model::HeapBlock& block : lives.blocks) {
        first = std::min(first, block.first_slice);
        last = std::max(last, block.last_slice);
      }
    });
    if (done && !only_live && selection.find_peak()) {
      for (std::size_t i = 0; i < spans.size(); ++i)
        if (selection.may_be_at_peak(spans[i].first, spans[i].second)) at_peak.push_back(lives_[i]);
      done =
          pass(at_peak, 0.5, [&](std::size_t, const Lives& lives) { selection.add_to_peak(lives.blocks); });
    }
    if (!done) return done;
    if (only_live)
      selection.give_blocks(heap);
    else
      selection.replace(heap);
    const double missing = expected - read;
    std::string note = fmt::format("heap: {:.0f} of {:.0f} blocks are selected",
                                   only_live ? read : static_cast<double>(selection.blocks()), read);
    if (missing > 0.5 + 1e-9 * expected)
      note += fmt::format(", and {:.0f} more are not listed (live when the file was cut, or lost)", missing);
    if (others) note += "; memory that the program mapped by itself is not included";
    if (!loading_.options.blocks->selects_all() || missing > 0.5 + 1e-9 * expected)
      profile.quality.notes.push_back(std::move(note));
    return {};
  }

  void narrow(model::Meta& meta) const {
    const auto& options = loading_.options;
    if (options.from_ns && *options.from_ns > meta.start_ns) {
      const std::uint64_t start = std::min(*options.from_ns, std::max(meta.end_ns, meta.start_ns));
      if (meta.start_unix_ns != 0) meta.start_unix_ns += start - meta.start_ns;
      meta.start_ns = start;
    }
    if (options.to_ns) meta.end_ns = std::max(meta.start_ns, std::min(meta.end_ns, *options.to_ns));
  }

  Input& input_;
  std::string name_;
  Loading loading_;
  BlockDecoder decoder_;
  SamplePredictor predictor_;
  std::map<std::uint64_t, IndexEntry> spans_;  // blocks of samples and waits, by offset
  std::vector<LivesPlace> lives_;
  std::uint64_t block_size_ = 0;  // of the block that read_block() read last
  std::uint64_t next_sequence_ = 0;
  bool ended_ = false;
  std::uint64_t damages_ = 0, damaged_bytes_ = 0, lost_blocks_ = 0;
  std::string first_damage_;
};

}  // namespace

Result<Profile> read(const std::string& path, const ReadOptions& options) {
  auto input = Input::of_file(path);
  if (!input) return tl::make_unexpected(input.error());
  return Reader(*input, path, options).read();
}

Result<Profile> read_bytes(std::span<const std::byte> bytes, const std::string& name,
                           const ReadOptions& options) {
  Input input = Input::of_bytes(bytes);
  return Reader(input, name, options).read();
}

bool is_recording(std::span<const std::byte> first_bytes) {
  return first_bytes.size() >= kMagic.size() &&
         std::memcmp(first_bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace fathom::store
