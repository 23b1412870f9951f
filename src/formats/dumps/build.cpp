#include "formats/dumps/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/abi/walk.h"
#include "base/text.h"
#include "formats/jemalloc/estimate.h"
#include "model/facts.h"
#include "model/marks.h"

namespace fathom::dumps {
namespace {

using formats::DumpStack;
using formats::HeapDump;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kStart = kSecond;  // start of the profile's clock: dumps have none

void add_to(model::HeapWeight& sum, const model::HeapWeight& more, double share_of_sum = 1,
            double share_of_variance = 1) {
  sum.sum.blocks += more.sum.blocks * share_of_sum;
  sum.sum.bytes += more.sum.bytes * share_of_sum;
  sum.variance.blocks += more.variance.blocks * share_of_variance;
  sum.variance.bytes += more.variance.bytes * share_of_variance;
}

double share(double part, double whole, std::size_t parts) {
  return whole > 0 ? part / whole : 1 / static_cast<double>(parts);
}

// A thread's share of its stack's row.
model::HeapWeight part_of(const model::HeapWeight& stack, const model::HeapWeight& thread,
                          const model::HeapWeight& threads, std::size_t count) {
  return {{stack.sum.blocks * share(thread.sum.blocks, threads.sum.blocks, count),
           stack.sum.bytes * share(thread.sum.bytes, threads.sum.bytes, count)},
          {stack.variance.blocks * share(thread.variance.blocks, threads.variance.blocks, count),
           stack.variance.bytes * share(thread.variance.bytes, threads.variance.bytes, count)}};
}

// When each dump was written, as ns on the profile's clock: the files' times if they are in the order of the
// dumps, otherwise one second per dump.
struct Times {
  std::vector<std::uint64_t> at;
  bool of_files = false;
  std::string_view why_not;  // empty: the files' times are used, or there is only one dump
};
Times times_of(std::span<const DumpFile* const> dumps) {
  Times times;
  const std::uint64_t first = dumps.front()->modified_unix_ns, last = dumps.back()->modified_unix_ns;
  const auto written = [](const DumpFile* file) { return file->modified_unix_ns; };
  if (std::ranges::any_of(dumps, [&](const DumpFile* file) { return written(file) == 0; }))
    times.why_not = "The time of the dumps is unknown";
  else if (!std::ranges::is_sorted(dumps, {}, written))
    times.why_not = "The times of the files are not in the order of the dumps";
  else if (dumps.size() > 1 && first == last)
    times.why_not = "All files have the same time";
  times.of_files = times.why_not.empty();
  // File times have a resolution of milliseconds, and each dump needs a time of its own.
  constexpr std::uint64_t kLeast = 1'000;
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    const std::uint64_t at = kStart + (times.of_files ? dumps[i]->modified_unix_ns - first : i * kSecond);
    times.at.push_back(i == 0 ? at : std::max(at, times.at.back() + kLeast));
  }
  return times;
}

}  // namespace

// The heap of one process.
class HeapBuilder {
 public:
  HeapBuilder(model::Profile& profile, model::Builder& builder, Modules& modules, model::HeapId heap,
              model::ProcessId process)
      : profile_(profile), builder_(builder), modules_(modules), heap_(heap), process_(process) {}

  // Live memory and allocations after `dump`, by site.
  struct Site {
    model::HeapSiteId id;
    model::HeapWeight live, allocated;                // of the current dump
    model::HeapWeight live_before, allocated_before;  // of the previous dump
  };

  void read(const DumpFile& file, double weight = 1) {
    const HeapDump& dump = file.dump;
    modules_.use(dump.maps, dump.addresses);
    // Dumps of one process share most stacks; the same addresses mean the same stack as long as the mappings
    // do not change.
    if (maps_ == nullptr || *maps_ != dump.maps || !dump.names.empty()) known_stacks_.clear();
    maps_ = &dump.maps;
    // A dump without stacks counts nothing and does not show what it would count.
    counts_allocated_ = counts_allocated_ && (dump.counts_allocated || dump.stacks.empty());
    std::uint64_t samples = 0;
    std::vector<model::HeapWeight> live, allocated;
    for (const DumpStack& stack : dump.stacks) {
      const model::StackId id = stack_of(dump, stack);
      const model::HeapWeight all_live = formats::estimate(stack.counts.live, dump.mean_bytes);
      const model::HeapWeight all_allocated = formats::estimate(stack.counts.allocated, dump.mean_bytes);
      samples += stack.counts.live.objects;
      const std::span rows(dump.threads.data() + stack.first_thread, stack.threads);
      if (rows.empty()) {
        Site& site = site_of(id, model::kNoThread, allocator_of(dump, stack));
        add_to(site.live, all_live, weight, weight);
        add_to(site.allocated, all_allocated, weight, weight);
        continue;
      }
      live.clear();
      allocated.clear();
      model::HeapWeight sum_live, sum_allocated;
      for (const formats::DumpThread& row : rows) {
        live.push_back(formats::estimate(row.counts.live, dump.mean_bytes));
        allocated.push_back(formats::estimate(row.counts.allocated, dump.mean_bytes));
        add_to(sum_live, live.back());
        add_to(sum_allocated, allocated.back());
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Site& site = site_of(id, thread_of(dump, rows[i].thread), allocator_of(dump, stack));
        add_to(site.live, part_of(all_live, live[i], sum_live, rows.size()), weight, weight);
        add_to(site.allocated, part_of(all_allocated, allocated[i], sum_allocated, rows.size()), weight,
               weight);
      }
    }
    samples_ = std::max(samples_, samples);  // samples of one dump are in the next one too
  }

  // Adds a slice with the changes since the previous dump.
  void end_slice(std::uint64_t start_ns, std::uint64_t end_ns) {
    const model::HeapSliceId slice{static_cast<std::uint32_t>(profile_.heap.slices.size())};
    model::HeapSlice row{heap_, start_ns, end_ns, end_ns, 0, 0, 0};
    for (Site& site : sites_) {
      model::HeapRow change = change_of(site);
      change.slice = slice;
      row.live_bytes += site.live.sum.bytes;
      row.live_blocks += site.live.sum.blocks;
      const bool same = change.allocated == model::HeapSum{} && change.freed == model::HeapSum{} &&
                        change.allocated_variance == change.freed_variance;
      if (!same) profile_.heap.rows.push_back(change);
      site.live_before = site.live;
      // A site that is missing from a dump keeps its counters.
      if (site.allocated.sum.blocks > 0) site.allocated_before = site.allocated;
      site.live = site.allocated = {};
    }
    row.peak_bytes = row.live_bytes;
    profile_.heap.slices.push_back(row);
    model::Heap& heap = profile_.heap.heaps[heap_.value];
    heap.end_ns = end_ns;
    if (row.live_bytes >= heap.peak_bytes) {
      heap.peak_ns = end_ns;
      heap.peak_bytes = row.live_bytes;
      heap.peak_blocks = row.live_blocks;
    }
    heap.events = std::max(heap.events, samples_);
    samples_ = 0;
  }

  bool counts_allocated() const { return counts_allocated_; }

 private:
  // The variances of rows telescope: the variance of all allocations minus that of all frees gives the
  // variance of live memory, whatever happened before. It is unknown how many blocks are the same as before,
  // so a difference is as uncertain as both of its ends.
  model::HeapRow change_of(const Site& site) const {
    model::HeapRow row;
    row.site = site.id;
    const double blocks = site.live.sum.blocks - site.live_before.sum.blocks;
    const double bytes = site.live.sum.bytes - site.live_before.sum.bytes;
    row.allocated = {std::max(0.0, blocks), std::max(0.0, bytes)};
    row.allocated_variance = site.live.variance;
    row.freed_variance = site.live_before.variance;
    if (counts_allocated_ && site.allocated.sum.blocks > 0) {
      row.allocated.blocks =
          std::max(row.allocated.blocks, site.allocated.sum.blocks - site.allocated_before.sum.blocks);
      row.allocated.bytes =
          std::max(row.allocated.bytes, site.allocated.sum.bytes - site.allocated_before.sum.bytes);
      const auto both = [](double counted, double before, double live, double live_before, double& more,
                           double& less) {
        more = std::max({counted - before, live - live_before, 0.0});
        less = more - (live - live_before);
      };
      both(site.allocated.variance.blocks, site.allocated_before.variance.blocks, site.live.variance.blocks,
           site.live_before.variance.blocks, row.allocated_variance.blocks, row.freed_variance.blocks);
      both(site.allocated.variance.bytes, site.allocated_before.variance.bytes, site.live.variance.bytes,
           site.live_before.variance.bytes, row.allocated_variance.bytes, row.freed_variance.bytes);
    }
    row.freed = {std::max(0.0, row.allocated.blocks - blocks), std::max(0.0, row.allocated.bytes - bytes)};
    return row;
  }

  model::StackId stack_of(const HeapDump& dump, const DumpStack& stack) {
    const std::string_view key(reinterpret_cast<const char*>(dump.addresses.data() + stack.first_address),
                               stack.addresses * sizeof(std::uint64_t));
    if (const auto known = known_stacks_.find(key); known != known_stacks_.end()) return known->second;
    model::StackId id{0};
    for (std::uint32_t i = stack.addresses; i-- > 0;)
      id = builder_.stack(id, frame_of(dump, dump.addresses[stack.first_address + i]));
    known_stacks_.emplace(key, id);
    return id;
  }

  // Uses the dump's own name for the address, if the dump has names.
  model::FrameId frame_of(const HeapDump& dump, std::uint64_t address) {
    if (dump.names.empty()) return modules_.frame(address);
    auto name = dump.names.find(address - 1);
    if (name == dump.names.end()) name = dump.names.find(address);
    if (name == dump.names.end()) return modules_.frame(address);
    std::vector<model::Builder::NamedLine> lines;
    for (const formats::DumpPlace& place : name->second)
      lines.push_back({place.function, place.file, place.line});
    const model::FrameId plain = modules_.frame(address);
    const model::Frame row = profile_.frames[plain.value];
    return lines.empty() ? plain : builder_.frame_with_lines(row.module, row.address, lines);
  }

  model::HeapAllocatorId allocator_of(const HeapDump& dump, const DumpStack& stack) {
    if (allocator_) return *allocator_;
    const model::ModuleId module =
        stack.addresses == 0 ? model::ModuleId{0} : modules_.module_of(dump.addresses[stack.first_address]);
    // All stacks of a dump begin in the allocator that wrote it.
    allocator_ = {static_cast<std::uint32_t>(profile_.heap.allocators.size())};
    profile_.heap.allocators.push_back(
        {builder_.string(dump.per_thread ? "jemalloc" : "the program's own profiler"), module});
    return *allocator_;
  }

  model::ThreadId thread_of(const HeapDump& dump, std::uint64_t number) {
    const auto [row, added] = threads_.try_emplace(number);
    if (added) {
      row->second = {static_cast<std::uint32_t>(profile_.threads.size())};
      model::Thread thread;
      thread.process = process_;
      thread.tid = static_cast<std::int32_t>(std::min<std::uint64_t>(number, INT32_MAX));
      thread.name = profile_.processes[process_.value].name;
      profile_.threads.push_back(thread);
    }
    // Thread names are in the head of a dump, and a thread may get one later.
    if (const auto name = dump.thread_names.find(number); name != dump.thread_names.end())
      profile_.threads[row->second.value].name = builder_.string(name->second);
    return row->second;
  }

  Site& site_of(model::StackId stack, model::ThreadId thread, model::HeapAllocatorId allocator) {
    const std::uint64_t key = std::uint64_t{stack.value} << 32 | thread.value;
    const auto [row, added] = site_rows_.try_emplace(key, sites_.size());
    if (added) {
      Site site;
      site.id = {static_cast<std::uint32_t>(profile_.heap.sites.size())};
      profile_.heap.sites.push_back({heap_, stack, allocator, thread, WALK_ROOT});
      sites_.push_back(site);
    }
    return sites_[row->second];
  }

  model::Profile& profile_;
  model::Builder& builder_;
  Modules& modules_;
  model::HeapId heap_;
  model::ProcessId process_;
  std::vector<Site> sites_;
  const std::string* maps_ = nullptr;  // of the last dump read
  // Keyed by the bytes of the addresses, which belong to a dump that outlives this map.
  std::unordered_map<std::string_view, model::StackId> known_stacks_;
  std::unordered_map<std::uint64_t, std::size_t> site_rows_;
  std::map<std::uint64_t, model::ThreadId> threads_;
  std::optional<model::HeapAllocatorId> allocator_;
  bool counts_allocated_ = true;
  std::uint64_t samples_ = 0;
};

ProfileBuilder::ProfileBuilder(FilesByName files) : builder_(profile_), modules_(builder_, std::move(files)) {
  profile_.meta.engine = "import";
  model::put_facts(model::OriginFacts{.format = "jemalloc heap dump"}, profile_.meta);
  model::put_facts(model::ImportFacts{.heap_source = "dump"}, profile_.meta);
  profile_.meta.start_ns = profile_.meta.end_ns = kStart;
}

void ProfileBuilder::add(const Instance& instance, std::span<const DumpFile* const> dumps, Shape shape) {
  const DumpFile& last = *dumps.back();
  modules_.use(last.dump.maps, last.dump.addresses);
  const std::string program = last.dump.program.empty() ? modules_.program() : last.dump.program;
  model::Process process;
  process.pid = instance.pid;
  process.name = builder_.string(base_name(program));
  process.executable = builder_.string(program);
  const model::ProcessId process_id{static_cast<std::uint32_t>(profile_.processes.size())};
  profile_.processes.push_back(process);

  model::Heap heap;
  heap.process = process_id;
  heap.mode = last.dump.mean_bytes > 0 ? model::HeapMode::kSampled : model::HeapMode::kExact;
  heap.mean_bytes = static_cast<std::uint64_t>(last.dump.mean_bytes);
  heap.start_ns = heap.end_ns = kStart;
  const model::HeapId heap_id{static_cast<std::uint32_t>(profile_.heap.heaps.size())};
  profile_.heap.heaps.push_back(heap);

  HeapBuilder build(profile_, builder_, modules_, heap_id, process_id);
  if (shape == Shape::kSnapshot) {
    build.read(last);
    build.end_slice(kStart, kStart);
  } else if (shape == Shape::kMean) {
    // Samples of one dump are in the next one too, so the mean is as uncertain as one of them.
    for (const DumpFile* file : dumps) build.read(*file, 1 / static_cast<double>(dumps.size()));
    build.end_slice(kStart, kStart);
  } else {
    const Times times = times_of(dumps);
    for (std::size_t i = 0; i < dumps.size(); ++i) {
      build.read(*dumps[i]);
      build.end_slice(i == 0 ? kStart : times.at[i - 1], times.at[i]);
      if (const std::string why = trigger_label(*dumps[i]); !why.empty())
        profile_.meta.facts[model::kMarksFact] +=
            model::mark_line(static_cast<double>(times.at[i] - kStart) * 1e-9, why) + "\n";
    }
    profile_.meta.end_ns = std::max(profile_.meta.end_ns, times.at.back());
    model::put_facts(model::ImportFacts{.heap_source = "dumps"}, profile_.meta);
    if (times.of_files && profile_.meta.start_unix_ns == 0)
      profile_.meta.start_unix_ns = dumps.front()->modified_unix_ns;
    if (!times.of_files && dumps.size() > 1) {
      profile_.quality.notes.push_back(fmt::format("{}, so each dump stands for one second.", times.why_not));
      model::put_facts(model::ImportFacts{.steps = "dump"}, profile_.meta);
    }
  }
  if (!build.counts_allocated() || shape == Shape::kMean)
    model::put_facts(model::ImportFacts{.no_allocated = true}, profile_.meta);
  for (const DumpFile* file : dumps) {
    const HeapDump& dump = file->dump;
    const auto note = [&](std::string text) {
      profile_.quality.notes.push_back(fmt::format("{}: {}.", file->path, text));
    };
    if (dump.cut) note("the file ends before the dump does");
    profile_.quality.truncated |= dump.cut;
    if (dump.maps.empty() && dump.names.empty()) note("it has no list of mappings, so nothing has a name");
    if (dump.without_bytes != 0)
      note(fmt::format("{} counts have objects without bytes and are left out", dump.without_bytes));
    if (dump.deep != 0)
      note(fmt::format("{} stacks have more than {} frames; the outermost are left out", dump.deep,
                       formats::kMostFrames));
  }
}

Result<model::Profile> ProfileBuilder::finish() {
  for (const std::string& note : modules_.notes()) profile_.quality.notes.push_back(note + ".");
  if (const Result<> sound = model::check(profile_); !sound) return tl::unexpected(sound.error());
  return std::move(profile_);
}

}  // namespace fathom::dumps
