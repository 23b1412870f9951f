#include "model/random_profile.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace fathom::model {
namespace {

// SplitMix64 (Vigna, public domain). The distributions of <random> differ between standard libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  std::uint32_t row(std::size_t rows) { return static_cast<std::uint32_t>(below(rows)); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  // Of every magnitude: small ones are as frequent as large ones.
  std::uint64_t number(unsigned bits = 64) {
    return next() >> (64 - std::max<std::uint64_t>(1, below(bits + 1)));
  }
  template <class Enum>
  Enum of(Enum last) {
    return static_cast<Enum>(below(static_cast<std::uint64_t>(last) + 1));
  }

 private:
  std::uint64_t state_;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomOptions& options)
      : random_(seed), options_(options), builder_(profile_) {}

  Profile make() {
    start_ns_ = 1'000'000'000 + random_.below(1'000'000'000'000);
    make_modules();
    make_frames();
    make_stacks();
    make_threads();
    make_samples();
    if (!options_.only_text) make_series();
    make_quality();
    make_meta();
    if (!options_.only_text) make_waits();
    if (!options_.only_text) make_heap();
    if (!options_.only_text) make_memory();
    if (!profile_.waits.empty()) make_faults();
    if (!options_.only_text) make_calls();
    if (!options_.only_text) make_spans();
    return std::move(profile_);
  }

 private:
  std::string text() {
    static constexpr std::string_view kAwkward[] = {
        "a;b",
        "with space",
        "operator<<",
        "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "<core::iter::adapters::Map<I,F> as Iterator>::next::{{closure}}",
        "umlaut \xc3\xa4",
        "\xff not utf-8",
        "\"quoted\" & <tagged>",
        "[libc.so.6+0x12]",
        "trailing_[k]",
        "-"};
    if (random_.one_in(4)) return std::string(kAwkward[random_.below(std::size(kAwkward))]);
    std::string made = "f" + std::to_string(random_.below(200));
    if (random_.one_in(50)) made.append(random_.below(3000), 'x');
    return made;
  }

  void make_modules() {
    const std::size_t count = 1 + random_.below(6);
    for (std::size_t i = 0; i < count; ++i) {
      Module module;
      module.kind = options_.only_text ? ModuleKind::kNames
                                       : static_cast<ModuleKind>(1 + random_.below(5));  // kFile to kNames
      module.name = builder_.string("lib" + std::to_string(i) + ".so");
      if (random_.one_in(3)) module.path = builder_.string("/usr/lib/lib" + std::to_string(i) + ".so");
      if (!options_.only_text) {
        if (random_.one_in(2)) module.build_id = builder_.string("00ff" + std::to_string(random_.next()));
        module.symbols = random_.of(SymbolSource::kPseudo);
        if (random_.one_in(4)) module.symbols_path = builder_.string("/usr/lib/debug/" + text());
      }
      builder_.module(module);
    }
  }

  void make_frames() {
    const std::size_t count = 1 + random_.below(80);
    for (std::size_t i = 0; i < count; ++i) {
      const auto module = ModuleId{random_.row(profile_.modules.size())};
      const ModuleKind kind = profile_.modules[module.value].kind;
      if (kind == ModuleKind::kNames || options_.only_text) {
        builder_.named_frame(text(), module);
        continue;
      }
      const FrameId frame = builder_.frame(module, {1 + random_.number(63)});
      if (random_.one_in(3)) continue;  // stays without a name
      std::vector<std::string> texts;
      const std::size_t inlined = random_.one_in(4) ? 1 + random_.below(4) : 1;
      for (std::size_t line = 0; line < 2 * inlined; ++line) texts.push_back(text());
      std::vector<Builder::NamedLine> lines;
      for (std::size_t line = 0; line < inlined; ++line) {
        const bool known = !random_.one_in(3);
        lines.push_back({texts[2 * line], known ? std::string_view(texts[2 * line + 1]) : "",
                         known ? static_cast<std::uint32_t>(random_.number(32)) : 0});
      }
      builder_.name_frame(frame, lines);
    }
  }

  void make_stacks() {
    const std::size_t count = random_.below(120);
    for (std::size_t i = 0; i < count; ++i)
      builder_.stack({random_.row(profile_.stacks.size())}, {random_.row(profile_.frames.size())});
    if (random_.one_in(10)) {  // deep recursion
      StackId deep;
      for (int i = 0; i < 1500; ++i) deep = builder_.stack(deep, {0});
    }
  }

  void make_threads() {
    const std::size_t processes = 1 + random_.below(3);
    for (std::size_t i = 0; i < processes; ++i) {
      Process row;
      row.pid = static_cast<std::int32_t>(100 + i);
      row.parent_pid = static_cast<std::int32_t>(random_.below(100));
      row.name = builder_.string(text());
      row.executable = builder_.string("/usr/bin/" + text());
      if (random_.one_in(2)) row.start_ns = start_ns_ + random_.below(1000);
      if (random_.one_in(2)) row.end_ns = start_ns_ + 1'000'000 + random_.below(1000);
      profile_.processes.push_back(row);
    }
    const std::size_t threads = 1 + random_.below(10);
    for (std::size_t i = 0; i < threads; ++i) {
      Thread row;
      row.process = {random_.row(profile_.processes.size())};
      row.tid = static_cast<std::int32_t>(1000 + i);
      row.name = builder_.string(text());
      if (random_.one_in(2)) row.start_ns = start_ns_ + random_.below(1000);
      if (random_.one_in(2)) row.end_ns = start_ns_ + 1'000'000 + random_.below(1000);
      if (random_.one_in(2)) row.cpu_ns = random_.number(50);
      profile_.threads.push_back(row);
    }
  }

  void make_samples() {
    const std::size_t count = random_.one_in(10) ? 0 : random_.below(options_.samples + 1);
    const bool one_metric = random_.one_in(2);
    // Most recordings are regular: a beat on each CPU with some jitter, few threads, the same stack again and
    // again.
    const bool regular = !random_.one_in(4);
    std::uint64_t time = start_ns_;
    for (std::size_t i = 0; i < count; ++i) {
      Sample row;
      if (!one_metric) row.metric = random_.of(kLastSampleMetric);
      row.thread = {random_.row(profile_.threads.size())};
      row.stack = {random_.row(random_.one_in(2) ? std::min<std::size_t>(profile_.stacks.size(), 3)
                                                 : profile_.stacks.size())};
      if (row.metric != Metric::kCpu || random_.one_in(20))
        row.value = static_cast<std::int64_t>(random_.number(random_.one_in(20) ? 63 : 30));
      if (!options_.only_text) {
        time += 1'001'001 + random_.number(12);
        row.time_ns = regular ? time : random_.number();
        row.cpu = static_cast<std::uint16_t>(regular ? random_.below(4) : random_.number(16));
        row.end = static_cast<WalkEnd>(random_.one_in(5) ? random_.below(12) : 1);
      }
      profile_.samples.push_back(row);
    }
  }

  void make_series() {
    const std::size_t count = random_.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      Series series;
      series.name = builder_.string("memory.series_" + std::to_string(i));
      series.unit = builder_.string(random_.one_in(2) ? "bytes" : "count");
      series.pid = static_cast<std::int32_t>(random_.below(3));
      const std::size_t points = random_.below(30);
      const bool whole = random_.one_in(2);
      for (std::size_t point = 0; point < points; ++point) {
        const auto number = static_cast<double>(random_.number(random_.one_in(5) ? 64 : 40));
        series.points.push_back({start_ns_ + point * 1'000'000'000 + random_.below(1'000'000),
                                 whole ? number : number / 7 - 1e6});
      }
      profile_.series.push_back(std::move(series));
    }
  }

  void make_quality() {
    Quality& quality = profile_.quality;
    quality.samples = profile_.samples.size();
    if (options_.only_text) return;
    quality.expected_samples = static_cast<double>(random_.number(40)) / 3;
    for (std::uint64_t* count :
         {&quality.lost_ring_full, &quality.lost_stack, &quality.lost_throttled, &quality.lost_records,
          &quality.lost_disk, &quality.complete, &quality.kernel_truncated, &quality.table_overflows,
          &quality.profiler_cpu_ns, &quality.profiler_rss_bytes, &quality.bpf_ns, &quality.bpf_runs,
          &quality.kernel_memory_bytes, &quality.target_stops, &quality.target_stop_ns})
      if (random_.one_in(2)) *count = random_.number(40);
    for (std::size_t reason = 2; reason < 12; ++reason)
      if (random_.one_in(4))
        quality.early_ends.push_back({static_cast<WalkEnd>(reason),
                                      ModuleId{random_.row(profile_.modules.size())},
                                      1 + random_.number(30)});
    if (random_.one_in(3)) quality.notes.push_back("could not see " + text());
  }

  void make_meta() {
    Meta& meta = profile_.meta;
    meta.target = text();
    meta.engine = options_.only_text ? "import" : "bpf";
    if (options_.only_text) return;
    meta.event = "cpu-clock";
    meta.frequency_hz = random_.one_in(3) ? 0 : 999;
    meta.start_ns = start_ns_;
    meta.end_ns = start_ns_ + random_.number(45);
    meta.start_unix_ns = 1'700'000'000'000'000'000 + random_.number(50);
    if (random_.one_in(2)) meta.facts["host"] = text();
    if (random_.one_in(2)) meta.facts["cpus"] = std::to_string(random_.below(64));
  }

  // After all else, and of samples and threads that are there: half of the recordings know nothing of waits.
  void make_waits() {
    if (random_.one_in(2)) return;
    make_objects();
    for (Thread& row : profile_.threads)
      if (!random_.one_in(3))
        for (std::uint64_t* number : {&row.ran_ns, &row.waited_ns, &row.queued_ns, &row.waits,
                                      &row.preemptions, &row.unwalked_waits, &row.unwalked_ns})
          *number = random_.number(50);
    const bool regular = !random_.one_in(4);
    const std::size_t count = random_.below(options_.samples + 1);
    std::uint64_t time = start_ns_;
    for (std::size_t i = 0; i < count; ++i) profile_.waits.push_back(wait(regular, time));
    if (regular) book_waits();
    Quality& quality = profile_.quality;
    quality.waits = profile_.waits.size();
    for (std::uint64_t* number : {&quality.unwalked_waits, &quality.unwalked_ns, &quality.lost_waits,
                                  &quality.switches, &quality.switch_ns})
      if (random_.one_in(2)) *number = random_.number(40);
  }

  // The scheduler's sums are those that the weights give, so that parts of a recording add up to the whole.
  void book_waits() {
    for (Thread& row : profile_.threads) row.waited_ns = row.queued_ns = 0;
    for (const Wait& row : profile_.waits) {
      profile_.threads[row.thread.value].waited_ns += row.waited_ns * row.weight;
      profile_.threads[row.thread.value].queued_ns += row.queued_ns * row.weight;
    }
  }

  void make_memory() {
    const std::size_t count = random_.one_in(3) ? 0 : random_.below(40);
    std::uint64_t time = start_ns_;
    for (std::size_t i = 0; i < count; ++i) {
      MemoryRange row;
      if (random_.one_in(8)) time += random_.number(40);
      row.time_ns = time;
      row.process = {random_.row(profile_.processes.size())};
      row.kind = random_.of(MemoryKind::kNotSplit);
      row.name = builder_.string(text());
      row.allocator = {random_.row(profile_.heap.allocators.size())};
      row.ranges = random_.number(10);
      row.virtual_bytes = random_.number(47);
      row.rss_bytes = random_.number(40);
      row.anonymous_bytes = random_.one_in(3) ? 0 : random_.below(row.rss_bytes + 1);
      row.swap_bytes = random_.one_in(4) ? random_.number(40) : 0;
      row.huge_bytes = random_.one_in(4) ? random_.number(40) : 0;
      if (row.kind == MemoryKind::kAllocator) {
        row.live_blocks = static_cast<double>(random_.number(30));
        row.live_bytes = static_cast<double>(random_.number(40)) + 0.25;
        row.live_resident_bytes = static_cast<double>(random_.number(40));
        row.live_resident_variance = random_.one_in(2) ? 0.5 : 0;
        row.live_is_bound = random_.one_in(2);
        row.shared_out = random_.one_in(4);
      }
      profile_.memory_ranges.push_back(row);
    }
  }

  void make_faults() {
    const std::size_t count = random_.below(30);
    for (std::size_t i = 0; i < count; ++i) {
      Fault row;
      row.time_ns = start_ns_ + random_.number(40);
      row.thread = {random_.row(profile_.threads.size())};
      row.stack = {random_.row(profile_.stacks.size())};
      row.object = {random_.row(profile_.objects.size())};
      row.offset = random_.number();
      row.major = random_.one_in(3);
      if (!row.major) row.weight = static_cast<std::uint32_t>(1 + random_.number(10));
      row.end = static_cast<WalkEnd>(random_.one_in(5) ? random_.below(12) : 1);
      profile_.faults.push_back(row);
    }
  }

  void make_calls() {
    if (profile_.functions.empty() || profile_.processes.empty()) return;
    const std::size_t count = random_.below(20);
    for (std::size_t i = 0; i < count; ++i) {
      Calls row;
      row.time_ns = start_ns_ + random_.number(40);
      row.function = {random_.row(profile_.functions.size())};
      row.process = {random_.row(profile_.processes.size())};
      row.stack = {random_.row(profile_.stacks.size())};
      row.calls = random_.number();
      row.counted_only = random_.number();
      row.timed = random_.one_in(2);
      if (row.timed) {
        row.returned = random_.number();
        row.total_ns = random_.number();
        row.longest_ns = random_.number();
      }
      if (random_.one_in(2)) row.sized = random_.number(), row.bytes = random_.number();
      row.end = static_cast<WalkEnd>(random_.one_in(5) ? random_.below(12) : 1);
      profile_.calls.push_back(row);
    }
  }

  void make_spans() {
    const std::size_t count = random_.below(20);
    for (std::size_t i = 0; i < count; ++i) {
      Span row;
      row.start_ns = random_.one_in(10) ? random_.number() : start_ns_ + random_.number(40);
      row.end_ns = row.start_ns + std::min(random_.number(), UINT64_MAX - row.start_ns);
      row.name = builder_.string(text());
      if (!random_.one_in(4)) row.thread = {random_.row(profile_.threads.size())};
      row.source = random_.of(kLastSpanSource);
      if (random_.one_in(2)) row.id = random_.number(), row.parent = random_.number();
      profile_.spans.push_back(row);
    }
  }

  void make_objects() {
    const std::size_t count = random_.below(8);
    for (std::size_t i = 0; i < count; ++i) {
      WaitObject row;
      row.kind = static_cast<ObjectKind>(1 + random_.below(8));
      if (random_.one_in(2)) row.name = builder_.string(text());
      if (random_.one_in(2)) row.address = random_.number();
      row.pid = static_cast<std::int32_t>(100 + i);  // no two are the same
      profile_.objects.push_back(row);
    }
  }

  Wait wait(bool regular, std::uint64_t& time) {
    Wait row;
    row.thread = {random_.row(profile_.threads.size())};
    row.stack = {random_.row(profile_.stacks.size())};
    row.state = random_.of(WaitState::kOther);
    if (regular) {
      time += random_.number(20);
      row.start_ns = time - random_.below(1'000'000);  // in the order of their ends
      row.waited_ns = row.state == WaitState::kPreempted ? 0 : random_.number(30);
      row.queued_ns = random_.number(16);
    } else {  // three of them fit into 64 bits
      row.start_ns = random_.number(62);
      row.waited_ns = random_.number(62);
      row.queued_ns = random_.number(62);
    }
    if (!random_.one_in(3)) row.waker = {random_.row(profile_.threads.size())};
    if (random_.one_in(3)) row.waker_stack = {random_.row(profile_.stacks.size())};
    row.object = {random_.row(profile_.objects.size())};
    row.system_call =
        random_.one_in(4) ? -1 : static_cast<std::int32_t>(random_.below(regular ? 460 : 1u << 31));
    row.argument = random_.number(regular ? 20 : 64);
    if (random_.one_in(5)) row.weight = static_cast<std::uint32_t>(1 + random_.number(regular ? 8 : 31));
    row.end = static_cast<WalkEnd>(random_.one_in(5) ? random_.below(12) : 1);
    row.began_before = random_.one_in(20);
    row.unfinished = random_.one_in(20);
    row.throttled = random_.one_in(20);
    if (random_.one_in(4)) row.result = static_cast<std::int64_t>(random_.number(regular ? 16 : 62)) - 40;
    return row;
  }

  // After all else again: two thirds of the recordings know nothing of the heap.
  void make_heap() {
    if (!random_.one_in(3)) return;
    HeapTables& heap = profile_.heap;
    exact_ = random_.one_in(2);
    const std::size_t heaps = 1 + random_.below(2);
    for (std::size_t i = 0; i < heaps; ++i) heap.heaps.push_back(one_heap(i));
    const std::size_t allocators = random_.below(4);
    for (std::size_t i = 0; i < allocators; ++i)
      heap.allocators.push_back(
          {builder_.string("allocator " + std::to_string(i)), {random_.row(profile_.modules.size())}});
    for (std::size_t i = 0; i < 2 * allocators; ++i)
      heap.hooks.push_back({{random_.row(heap.allocators.size())},
                            builder_.string("malloc" + std::to_string(i)),
                            builder_.string(random_.one_in(3) ? text() : ""),
                            random_.of(HookKind::kProbe)});
    make_heap_slices();
    make_heap_outages();
    make_heap_sites();
    make_heap_rows();
  }

  Heap one_heap(std::size_t number) {
    Heap row;
    row.process = {random_.row(profile_.processes.size())};
    row.mode = exact_ ? HeapMode::kExact : HeapMode::kSampled;
    row.from_start = random_.one_in(2);
    row.switched_off = random_.one_in(10);
    row.image_ended = random_.one_in(10);
    row.start_ns = start_ns_ + number;
    row.peak_bytes = sum();
    row.peak_blocks = sum();
    for (std::uint64_t* count :
         {&row.mean_bytes,    &row.end_ns,        &row.earlier_frees,  &row.earlier_rss_bytes,
          &row.peak_ns,       &row.events,        &row.lost_ring_full, &row.lost_no_ring,
          &row.lost_throwing, &row.lost_set_full, &row.lost_damaged,   &row.nested,
          &row.unwalked,      &row.incomplete,    &row.unseen_frees,   &row.waited_ns,
          &row.merged_sites,  &row.invalid_frees, &row.dropped_blocks, &row.dropped_bytes})
      if (random_.one_in(2)) *count = random_.number(50);
    return row;
  }

  void make_heap_slices() {
    HeapTables& heap = profile_.heap;
    const std::size_t slices = 1 + random_.below(12);
    std::uint64_t time = start_ns_;
    for (std::size_t i = 0; i < slices; ++i) {
      HeapSlice row;
      row.heap = {random_.row(heap.heaps.size())};
      row.start_ns = time;
      row.end_ns = time += random_.number(31);
      row.peak_ns = row.start_ns + random_.below(row.end_ns - row.start_ns + 1);
      row.peak_bytes = sum();
      row.live_bytes = sum();
      row.live_blocks = sum();
      heap.slices.push_back(row);
    }
  }

  void make_heap_outages() {
    HeapTables& heap = profile_.heap;
    for (std::uint32_t i = 0; i < heap.heaps.size(); ++i) {
      std::uint64_t time = start_ns_;
      for (std::size_t outages = random_.one_in(3) ? random_.below(4) : 0; outages != 0; --outages) {
        const std::uint64_t start = time += 1 + random_.number(20);
        heap.outages.push_back({{i}, start, time += 1 + random_.number(20)});
      }
    }
  }

  void make_heap_sites() {
    HeapTables& heap = profile_.heap;
    const std::size_t sites = random_.below(40);
    std::set<HeapSite> made;
    for (std::size_t i = 0; i < sites; ++i) {
      HeapSite row;
      row.heap = {random_.row(heap.heaps.size())};
      row.stack = {random_.row(profile_.stacks.size())};
      row.allocator = {random_.row(heap.allocators.size())};
      if (random_.one_in(2)) row.thread = {random_.row(profile_.threads.size())};
      row.end = static_cast<WalkEnd>(random_.one_in(5) ? random_.below(12) : 1);
      if (made.insert(row).second) heap.sites.push_back(row);
    }
  }

  void make_heap_rows() {
    HeapTables& heap = profile_.heap;
    for (std::uint32_t slice = 0; slice < heap.slices.size(); ++slice)
      for (std::uint32_t site = 0; site < heap.sites.size(); ++site)
        if (heap.slices[slice].heap == heap.sites[site].heap && random_.one_in(2))
          heap.rows.push_back(
              {{slice}, {site}, sums(), sums(), sums(), sums(), variance(), variance(), exact_ ? 0 : sum()});
    for (std::uint32_t site = 0; site < heap.sites.size(); ++site) {
      if (random_.one_in(3)) continue;
      heap.summaries.push_back({{site}, sums(), variance(), random_.number(40)});
      for (std::uint8_t bucket = 0; bucket <= 64; ++bucket)
        if (random_.one_in(10))
          heap.histograms.push_back({{site}, random_.of(HeapHistogramKind::kAge), bucket, sums()});
    }
    for (std::uint32_t site = 0; site < heap.sites.size(); ++site)
      if (random_.one_in(3)) heap.uses.push_back({{site}, sum(), sums(), sums(), sums()});
    for (std::uint32_t site = 0; site < heap.sites.size(); ++site)
      if (random_.one_in(4)) heap.returns.push_back({{site}, sums()});
  }

  double sum() {
    if (random_.one_in(4)) return 0;
    const auto whole = static_cast<double>(random_.number(50));
    return exact_ || random_.one_in(3) ? whole : whole / 7;
  }
  HeapSum sums() { return {sum(), sum()}; }
  HeapVariance variance() { return exact_ ? HeapVariance{} : HeapVariance{sum(), sum()}; }

  Random random_;
  const RandomOptions& options_;
  Profile profile_;
  Builder builder_;
  std::uint64_t start_ns_ = 0;
  bool exact_ = false;  // the heaps
};

}  // namespace

Profile random_profile(std::uint64_t seed, const RandomOptions& options) {
  return Generator(seed, options).make();
}

}  // namespace fathom::model
