// A recording of a course (testing_courses.h) as the collector would have made it, without a process and without
// time: sampled by bytes or exact, from the start of the program or later.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "analysis/heap/hand_made_heap.h"
#include "analysis/verdicts/testing_courses.h"

namespace fathom::analysis {

class CourseRecording : public HandMadeHeap, public CourseHeap {
 public:
  struct Options {
    std::string_view course;
    std::uint64_t seed = 1;
    double seconds = 60;           // that are recorded
    std::uint64_t mean_bytes = 0;  // 0: exact
    bool attached = false;
  };

  explicit CourseRecording(const Options& options)
      : HandMadeHeap(options.mean_bytes != 0 ? model::HeapMode::kSampled : model::HeapMode::kExact),
        mean_(options.mean_bytes),
        random_(options.seed),
        dice_(options.seed + 1'000'003) {
    const auto app = module("server");
    const auto process = this->process(10, "server");
    thread(process, 11, "worker");
    model::Heap& heap = profile.heap.heaps[0];
    heap.process = process;
    heap.from_start = !options.attached;
    heap.mean_bytes = mean_;
    for (std::size_t i = 0; i < kCourseSites.size(); ++i)
      site(stack({frame(app, {"main"}), frame(app, {"caller"}), frame(app, {std::string(kCourseSites[i])})}),
           {0});
    const auto ticks = static_cast<int>(options.seconds / kCourseTick_s);
    const int before = options.attached ? static_cast<int>(random_.between(0.1, 0.5) * ticks) : 0;
    recording_ = !options.attached;
    course_ = make_course(options.course, *this, random_, options.seconds);
    model::Series rss{builder.string("memory.rss_anon"), builder.string("bytes"), 10, {}};
    for (int tick = -before; tick < ticks; ++tick) {
      if (tick == 0) recording_ = true;
      now_s_ = tick * kCourseTick_s;
      course_.tick((tick + before) * kCourseTick_s);
      highest_ = std::max(highest_, all_);
      if (tick < 0) continue;
      if (tick % 25 == 0)
        rss.points.push_back(
            {profile.meta.start_ns + static_cast<std::uint64_t>(now_s_ * 1e9), 5e6 + 1.05 * highest_});
      if (tick % kTicksPerSlice == kTicksPerSlice - 1) cut();
    }
    profile.series.push_back(rss);
    profile.meta.end_ns = profile.heap.slices.back().end_ns;
    finish();
  }
  const Course& course() const { return course_; }

  std::uint64_t allocate(CourseSite site, std::size_t size) override {
    Block block{site, size, now_s_, slice_};
    all_ += static_cast<double>(size);
    if (recording_) {
      block.seen =
          mean_ == 0 || dice_.unit() < -std::expm1(-static_cast<double>(size) / static_cast<double>(mean_));
      if (block.seen) {
        const model::HeapWeight weight = model::weight_of(size, static_cast<std::uint32_t>(mean_));
        model::HeapRow& row = row_of(site);
        add(row.allocated, weight.sum);
        add(row.allocated_variance, weight.variance);
        add(variances_[index(site)], weight.variance);
        live_[index(site)].bytes += weight.sum.bytes;
        live_[index(site)].blocks += weight.sum.blocks;
        histograms_[{index(site), model::HeapHistogramKind::kSize, bucket(static_cast<double>(size))}] +=
            weight.sum.blocks;
      }
    } else {
      block.earlier = true;
    }
    blocks_.emplace(++last_, block);
    return last_;
  }
  void free(std::uint64_t number) override {
    const auto found = blocks_.find(number);
    const Block block = found->second;
    blocks_.erase(found);
    all_ -= static_cast<double>(block.size);
    if (block.earlier && recording_ && mean_ == 0) ++profile.heap.heaps[0].earlier_frees;
    if (!block.seen) return;
    const model::HeapWeight weight = model::weight_of(block.size, static_cast<std::uint32_t>(mean_));
    model::HeapRow& row = row_of(block.site);
    add(row.freed, weight.sum);
    add(row.freed_variance, weight.variance);
    if (block.slice == slice_) row.churn_variance += weight.variance.bytes;
    if (now_s_ - block.at_s < 1e-3) add(row.short_lived, weight.sum);
    variances_[index(block.site)].bytes -= weight.variance.bytes;
    variances_[index(block.site)].blocks -= weight.variance.blocks;
    live_[index(block.site)].bytes -= weight.sum.bytes;
    live_[index(block.site)].blocks -= weight.sum.blocks;
    histograms_[{index(block.site), model::HeapHistogramKind::kLifetime,
                 bucket(1e9 * (now_s_ - block.at_s))}] += weight.sum.blocks;
  }
  std::uint64_t reallocate(CourseSite site, std::uint64_t block, std::size_t size) override {
    free(block);
    return allocate(site, size);
  }

 private:
  static constexpr int kTicksPerSlice = 12;
  struct Block {
    CourseSite site;
    std::size_t size;
    double at_s;
    std::size_t slice;
    bool seen = false, earlier = false;
  };
  static std::size_t index(CourseSite site) { return static_cast<std::size_t>(site); }
  static std::uint8_t bucket(double value) {
    return value < 1 ? 0 : static_cast<std::uint8_t>(std::ilogb(value) + 1);
  }
  template <class Sum>
  static void add(Sum& sum, const Sum& more) {
    sum.blocks += more.blocks;
    sum.bytes += more.bytes;
  }
  model::HeapRow& row_of(CourseSite site) { return rows_[index(site)]; }

  void cut() {
    slice();
    model::HeapSlice& made = profile.heap.slices.back();
    made.end_ns = profile.meta.start_ns + static_cast<std::uint64_t>((now_s_ + kCourseTick_s) * 1e9);
    made.peak_ns = made.end_ns;
    profile.heap.heaps[0].end_ns = made.end_ns;
    double live = 0;
    for (const auto& [site, of] : rows_) {
      model::HeapRow& row = this->row({static_cast<std::uint32_t>(site)}, of.allocated, of.freed);
      const auto id = row.site;
      const auto slice_id = row.slice;
      row = of;
      row.site = id;
      row.slice = slice_id;
    }
    for (const auto& [site, sum] : live_) live += sum.bytes;
    rows_.clear();
    if (live > peak_bytes_) {
      peak_bytes_ = live;
      peak_s_ = now_s_ + kCourseTick_s;
      at_peak_ = live_;
      peak_variances_ = variances_;
    }
    ++slice_;
  }
  void finish() {
    std::vector<std::pair<model::HeapSiteId, model::HeapSum>> at_peak;
    for (const auto& [site, sum] : at_peak_)
      if (sum.blocks > 0) at_peak.push_back({{static_cast<std::uint32_t>(site)}, sum});
    peak(peak_s_, at_peak);
    for (model::HeapSummary& row : profile.heap.summaries)
      row.peak_variance = peak_variances_[row.site.value];
    for (const auto& [number, block] : blocks_)
      if (block.seen)
        histograms_[{index(block.site), model::HeapHistogramKind::kAge,
                     bucket(1e9 * (now_s_ - block.at_s))}] +=
            model::weight_of(block.size, static_cast<std::uint32_t>(mean_)).sum.blocks;
    for (const auto& [key, blocks] : histograms_)
      profile.heap.histograms.push_back(
          {{static_cast<std::uint32_t>(std::get<0>(key))}, std::get<1>(key), std::get<2>(key), {blocks, 0}});
  }

  std::uint64_t mean_;
  CourseRandom random_, dice_;
  Course course_;
  bool recording_ = false;
  double now_s_ = 0, all_ = 0, highest_ = 0, peak_bytes_ = 0, peak_s_ = 0;
  std::size_t slice_ = 0;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::map<std::size_t, model::HeapRow> rows_;
  std::map<std::size_t, model::HeapSum> live_, at_peak_;
  std::map<std::size_t, model::HeapVariance> variances_, peak_variances_;
  std::map<std::tuple<std::size_t, model::HeapHistogramKind, std::uint8_t>, double> histograms_;
};

}  // namespace fathom::analysis
