#include "present/exports/heaptrack_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/core/heap.h"
#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "model/facts.h"

namespace fathom::present {
namespace {

using namespace model;

constexpr std::size_t kHeaptrackPiece = 1 << 20;
constexpr std::uint64_t kPage = 4096;

// Whole blocks and bytes.
struct Whole {
  std::uint64_t blocks = 0, bytes = 0;
};

Whole less(const Whole& all, const Whole& part) {
  return {all.blocks - part.blocks, all.bytes - part.bytes};
}
// What of `sum` is part of both, so that neither keeps bytes without a block.
Whole common(const Whole& sum, const Whole& a, const Whole& b) {
  Whole part{std::min({sum.blocks, a.blocks, b.blocks}), std::min({sum.bytes, a.bytes, b.bytes})};
  const auto splits = [&](const Whole& all) { return part.blocks == all.blocks && part.bytes != all.bytes; };
  if (part.blocks != 0 && (splits(a) || splits(b))) {
    part.bytes -= part.bytes / part.blocks;
    --part.blocks;
  }
  return part.blocks == 0 ? Whole{} : part;
}

// Turns a running estimate into whole blocks and bytes whose sums stay right. Bytes without a block wait for
// the next one.
class Rounder {
 public:
  Whole take(const HeapSum& sum, std::uint64_t blocks_per_call) {
    blocks_ += sum.blocks;
    bytes_ += sum.bytes;
    const auto whole = [](double value) {
      return static_cast<std::uint64_t>(std::llround(std::clamp(value, 0.0, 4e18)));
    };
    const std::uint64_t blocks = whole(blocks_ / static_cast<double>(blocks_per_call));
    if (blocks <= given_.blocks) return {};
    const std::uint64_t bytes = std::max(whole(bytes_), given_.bytes);
    const Whole part = less({blocks, bytes}, given_);
    given_ = {blocks, bytes};
    return part;
  }

 private:
  double blocks_ = 0, bytes_ = 0;
  Whole given_;
};

class HeaptrackWriter {
 public:
  HeaptrackWriter(const Profile& profile, const HeaptrackOptions& options,
                  const std::function<void(std::string_view)>& take)
      : profile_(profile),
        heap_(profile.heap),
        take_(take),
        sums_(profile, options.selection),
        leaves_(profile, options.selection, false),
        site_of_(heap_.sites.size()),
        traces_(heap_.sites.size()) {
    choose_sites();
    double calls = 0;
    for (const HeapRow& row : heap_.rows)
      if (site_of_[row.site.value]) calls += row.allocated.blocks + row.freed.blocks;
    if (calls > options.most_calls)
      written_.blocks_per_call = static_cast<std::uint64_t>(std::ceil(calls / options.most_calls));
  }

  HeaptrackWritten write() {
    write_head();
    for (std::uint32_t i = 0; i < site_of_.size(); ++i)
      if (site_of_[i]) traces_[i] = trace_of(heap_.sites[i].stack);
    // Readers take a free of allocation 0 after another free for the end of a temporary block.
    line("a 0 0\n");
    write_slices();
    flush();
    note();
    return std::move(written_);
  }

 private:
  // Of the processes that were asked for, without what they mapped: heaptrack knows allocators only.
  void choose_sites() {
    std::vector<char> used(heap_.heaps.size(), 0);
    bool mappings = false;
    for (std::uint32_t i = 0; i < heap_.sites.size(); ++i) {
      const HeapSite& site = heap_.sites[i];
      const bool mapped = profile_.strings[heap_.allocators[site.allocator.value].label] == kMappedByProgram;
      mappings = mappings || mapped;
      site_of_[i] = sums_.takes({i}) && !mapped;
      if (site_of_[i]) used[site.heap.value] = 1;
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] == 0) continue;
      heaps_.push_back({static_cast<std::uint32_t>(i)});
      from_start_ = from_start_ && heap_.heaps[i].from_start;
      sampled_ = sampled_ || heap_.heaps[i].mode == HeapMode::kSampled;
    }
    if (mappings)
      written_.notes.push_back("Memory that the program mapped without an allocator is not included.");
  }

  void line(std::string_view text) {
    out_ += text;
    if (out_.size() >= kHeaptrackPiece) flush();
  }
  void flush() {
    take_(out_);
    out_.clear();
  }

  void write_head() {
    const auto origin = model::facts_of<model::OriginFacts>(profile_.meta);
    line("v 10500 3\n");
    const std::string command = analysis::printable(origin.command);
    line(fmt::format("X {}\n", command.empty() ? analysis::printable(profile_.meta.target) : command));
    const std::uint64_t memory = origin.memory_bytes.value_or(0);
    line(fmt::format("I {:x} {:x}\n", kPage, memory / kPage));
    if (!from_start_) line("A\n");
    double most = 0;
    for (const Series& series : profile_.series)
      if (profile_.strings[series.name] == "memory.rss_anon")
        for (const Point& point : series.points) most = std::max(most, point.value);
    if (most > 0 && most < 1e18) line(fmt::format("R {:x}\n", static_cast<std::uint64_t>(most) / kPage));
  }

  // Texts, places and stacks, numbered from 1 in order of their first use.
  std::uint64_t text(std::string_view raw) {
    if (raw.empty()) return 0;
    const auto [known, is_new] = texts_.try_emplace(analysis::printable(raw), texts_.size() + 1);
    if (is_new) line(fmt::format("s {:x} {}\n", known->first.size(), known->first));
    return known->second;
  }
  std::uint64_t place(FrameId id, std::uint32_t skip) {
    const auto [known, is_new] = places_.try_emplace({id.value, skip}, places_.size() + 1);
    if (!is_new) return known->second;
    const Frame& frame = profile_.frames[id.value];
    const Module& module = profile_.modules[frame.module.value];
    const std::string_view path = profile_.strings[module.path];
    std::string row = fmt::format("i {:x} {:x}", frame.address.value,
                                  text(path.empty() ? profile_.strings[module.name] : path));
    for (std::uint32_t i = skip; i < frame.line_count; ++i) {
      const Line& in = profile_.lines[frame.first_line + i];
      const std::uint64_t name = text(profile_.strings[profile_.functions[in.function.value].name]);
      row += fmt::format(" {:x} {:x} {:x}", name, text(profile_.strings[in.file]), in.line);
    }
    line(row + "\n");
    return known->second;
  }
  std::uint64_t trace_of(StackId stack) {
    const analysis::HeapLeaf leaf = leaves_.of(stack);
    std::vector<StackId> path;
    for (StackId at = leaf.stack; at.value != 0; at = profile_.stacks[at.value].parent) path.push_back(at);
    std::uint64_t trace = 0;
    for (std::size_t i = path.size(); i-- > 0;) {
      const std::uint64_t ip = place(profile_.stacks[path[i].value].frame, i == 0 ? leaf.skip : 0);
      const auto [known, is_new] = nodes_.try_emplace({trace, ip}, nodes_.size() + 1);
      if (is_new) line(fmt::format("t {:x} {:x}\n", ip, trace));
      trace = known->second;
    }
    return trace;
  }
  // Frees have rows of their own: readers call a block temporary when its row is freed as the next thing.
  std::uint64_t allocation(std::uint64_t size, std::uint64_t trace, bool for_frees) {
    const auto [known, is_new] = allocations_.try_emplace({size, trace, for_frees}, allocations_.size() + 1);
    if (is_new) line(fmt::format("a {:x} {:x}\n", size, trace));
    return known->second;
  }

  // So many blocks of the mean size and of one byte more, that all bytes are there.
  void calls(const char* kinds, const Whole& sum, std::uint64_t trace) {
    if (sum.blocks == 0) return;
    const std::uint64_t size = sum.bytes / sum.blocks, larger = sum.bytes % sum.blocks;
    for (const auto& [bytes, count] : {std::pair(size + 1, larger), std::pair(size, sum.blocks - larger)}) {
      if (count == 0) continue;
      const std::uint64_t number = allocation(bytes, trace, *kinds == '-');
      std::string text;
      for (const char* kind = kinds; *kind != 0; ++kind) text += fmt::format("{} {:x}\n", *kind, number);
      for (std::uint64_t i = 0; i < count; ++i) line(text);
      written_.calls += count * std::char_traits<char>::length(kinds);
    }
  }

  void time(std::uint64_t ns) {
    const std::uint64_t start = profile_.meta.start_ns;
    const std::uint64_t ms = ns > start ? (ns - start) / 1'000'000 : 0;
    if (ms < time_ms_) return;  // readers drop what goes backwards
    time_ms_ = ms;
    line(fmt::format("c {:x}\n", ms));
  }

  // What one site does in one slice, and what of it comes before the peak.
  struct Work {
    std::uint32_t site;
    Whole allocated, freed, temporary;
    Whole allocated_first{}, freed_first{};
  };

  void write_slices() {
    // By slice, in order of time over all heaps; within a slice rows in order of their sites.
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < heap_.rows.size(); ++i)
      if (site_of_[heap_.rows[i].site.value]) order.push_back(i);
    stable_sort_rows(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto key = [&](std::uint32_t row) {
        const HeapSlice& slice = heap_.slices[heap_.rows[row].slice.value];
        return std::tuple(slice.end_ns, heap_.rows[row].slice.value, heap_.rows[row].site.value);
      };
      return key(a) < key(b);
    });
    rounders_.resize(heap_.sites.size() * 3);
    live_.resize(heap_.sites.size());
    read_peak();
    for (std::size_t first = 0; first < order.size();) {
      const HeapSliceId slice = heap_.rows[order[first]].slice;
      std::vector<Work> work;
      for (; first < order.size() && heap_.rows[order[first]].slice == slice; ++first)
        add_work(heap_.rows[order[first]], work);
      write_slice(heap_.slices[slice.value], work);
    }
    if (!heaps_.empty()) time(profile_.meta.end_ns);
  }

  void add_work(const HeapRow& row, std::vector<Work>& work) {
    const std::uint32_t site = row.site.value;
    const std::uint64_t per_call = written_.blocks_per_call;
    Work one{site,
             rounders_[3 * site].take(row.allocated, per_call),
             rounders_[3 * site + 1].take(row.freed, per_call),
             {}};
    const bool exact = heap_.heaps[heap_.sites[site].heap.value].mode == HeapMode::kExact;
    const Whole temporary = rounders_[3 * site + 2].take(exact ? row.temporary : row.short_lived, per_call);
    one.temporary = common(temporary, one.allocated, one.freed);
    one.allocated = less(one.allocated, one.temporary);
    one.freed = less(one.freed, one.temporary);
    if (!work.empty() && work.back().site == site) {
      for (const auto part : {&Work::allocated, &Work::freed, &Work::temporary}) {
        (work.back().*part).blocks += (one.*part).blocks;
        (work.back().*part).bytes += (one.*part).bytes;
      }
      return;
    }
    work.push_back(one);
  }

  // The composition of the peak, where the whole recording is of one heap.
  void read_peak() {
    if (heaps_.size() != 1 || heap_.summaries.empty()) return;
    for (const HeapSummary& row : heap_.summaries)
      if (heap_.sites[row.site.value].heap == heaps_[0]) peak_[row.site.value] = row.peak;
    peak_ns_ = heap_.heaps[heaps_[0].value].peak_ns;
  }

  // Splits what a site does at the peak: what it had then is what it had before and what came until then.
  void split(Work& work) {
    const auto found = peak_.find(work.site);
    const auto per_call = static_cast<double>(written_.blocks_per_call);
    const HeapSum at = found == peak_.end() ? HeapSum{} : found->second;
    const auto part = [](double then, double before, std::uint64_t allocated, std::uint64_t freed,
                         std::uint64_t& allocated_first, std::uint64_t& freed_first) {
      const double change = then - before;
      if (change >= 0)
        allocated_first = std::min(allocated, static_cast<std::uint64_t>(std::llround(change)));
      else
        freed_first = std::min(freed, static_cast<std::uint64_t>(std::llround(-change)));
    };
    const auto& [blocks, bytes] = live_[work.site];
    // A block that comes and goes may be live at the peak: then it cannot be written as such.
    const double more_blocks = at.blocks / per_call - blocks - static_cast<double>(work.allocated.blocks);
    const double more_bytes = at.bytes - bytes - static_cast<double>(work.allocated.bytes);
    if ((more_blocks >= 0.5 || more_bytes >= 0.5) && work.temporary.blocks != 0) {
      const auto whole = [](double value, std::uint64_t most) {
        return std::min(most, static_cast<std::uint64_t>(std::llround(std::max(0.0, value))));
      };
      Whole moved{whole(std::max(1.0, more_blocks), work.temporary.blocks),
                  whole(more_bytes, work.temporary.bytes)};
      if (moved.blocks == work.temporary.blocks) moved = work.temporary;
      work.temporary = less(work.temporary, moved);
      for (Whole* side : {&work.allocated, &work.freed}) {
        side->blocks += moved.blocks;
        side->bytes += moved.bytes;
      }
    }
    part(at.blocks / per_call, blocks, work.allocated.blocks, work.freed.blocks, work.allocated_first.blocks,
         work.freed_first.blocks);
    part(at.bytes, bytes, work.allocated.bytes, work.freed.bytes, work.allocated_first.bytes,
         work.freed_first.bytes);
    // Bytes without a block cannot be written, and blocks may come and go with none.
    if (work.allocated_first.blocks == 0 && work.allocated_first.bytes != 0 && work.allocated.blocks != 0)
      work.allocated_first.blocks = 1;
    if (work.freed_first.blocks == 0 && work.freed_first.bytes != 0 && work.freed.blocks != 0)
      work.freed_first.blocks = 1;
    // What is left over must not be bytes without a block either.
    if (work.allocated_first.blocks == work.allocated.blocks) work.allocated_first = work.allocated;
    if (work.freed_first.blocks == work.freed.blocks) work.freed_first = work.freed;
  }

  void write_slice(const HeapSlice& slice, std::vector<Work>& work) {
    time(slice.start_ns);
    const bool has_peak =
        peak_ns_ != 0 && slice.heap == heaps_[0] && peak_ns_ > slice.start_ns && peak_ns_ <= slice.end_ns;
    if (has_peak)
      for (Work& one : work) split(one);
    for (const Work& one : work) calls("-", one.freed_first, traces_[one.site]);
    // Live is lowest here: a block that comes and goes makes no peak.
    for (const Work& one : work) calls("+-", one.temporary, traces_[one.site]);
    if (has_peak) time(peak_ns_);
    for (const Work& one : work) calls("+", one.allocated_first, traces_[one.site]);
    for (const Work& one : work) calls("-", less(one.freed, one.freed_first), traces_[one.site]);
    for (const Work& one : work) calls("+", less(one.allocated, one.allocated_first), traces_[one.site]);
    for (const Work& one : work) {
      auto& [blocks, bytes] = live_[one.site];
      blocks += static_cast<double>(one.allocated.blocks) - static_cast<double>(one.freed.blocks);
      bytes += static_cast<double>(one.allocated.bytes) - static_cast<double>(one.freed.bytes);
    }
  }

  void note() {
    const auto add = [&](std::string sentence) { written_.notes.push_back(std::move(sentence)); };
    if (written_.blocks_per_call > 1)
      add(fmt::format(
          "There were too many calls: {} blocks stand as one of so many times the size. Bytes are right; calls are {} times as many as they say.",
          written_.blocks_per_call, written_.blocks_per_call));
    if (sampled_)
      add("The heap was sampled: these are estimates, and heaptrack has no place for their error.");
  }

  const Profile& profile_;
  const HeapTables& heap_;
  const std::function<void(std::string_view)>& take_;
  analysis::HeapSums sums_;
  analysis::HeapLeaves leaves_;
  HeaptrackWritten written_;
  std::vector<char> site_of_;  // 1: of those that are written
  std::vector<HeapId> heaps_;
  bool from_start_ = true, sampled_ = false;
  std::vector<std::uint64_t> traces_;  // by site
  std::string out_;
  std::map<std::string, std::uint64_t> texts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> places_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> nodes_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, bool>, std::uint64_t> allocations_;
  std::vector<Rounder> rounders_;                // three by site
  std::vector<std::pair<double, double>> live_;  // blocks and bytes, by site
  std::map<std::uint32_t, HeapSum> peak_;
  std::uint64_t peak_ns_ = 0, time_ms_ = 0;
};

}  // namespace

Result<HeaptrackWritten> write_heaptrack(const Profile& profile, const HeaptrackOptions& options,
                                         const std::function<void(std::string_view)>& take) {
  if (profile.heap.empty())
    return fail(ErrorKind::kNotFound, "the heap was not recorded", "fathom record --heap");
  if (options.selection.from_ns || options.selection.to_ns)
    return fail(ErrorKind::kUsage, "a heaptrack file covers the whole recording",
                "without --from, --until and --at");
  return HeaptrackWriter(profile, options, take).write();
}

}  // namespace fathom::present
