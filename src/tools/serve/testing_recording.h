// For tests: a recording that a keeper cuts into windows, and the same recording as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/core/heap.h"
#include "base/abi/walk.h"
#include "model/profile.h"
#include "record/session/testing_lent.h"
#include "tools/serve/cut_waits.h"
#include "tools/serve/keeper.h"
#include "tools/serve/testing_heap.h"

namespace fathom::serve {

// Samples, waits and the heap by thread and stack, and the exact times of each thread.
struct Sums {
  std::map<std::string, std::int64_t> samples;
  std::map<std::string, std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>
      waits;  // rows, waited, queued
  std::map<std::int32_t, std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> threads;
  // Bytes allocated and freed, live at the start and at the end; blocks allocated.
  std::map<std::string, std::tuple<double, double, double, double, double>> heap;
  bool operator==(const Sums&) const = default;
};

// `heap`: which time of it.
inline Sums sums_of(const model::Profile& profile, const analysis::Selection& heap = {}) {
  const auto place = [&](model::ThreadId thread, model::StackId stack) {
    std::string text = thread == model::kNoThread ? "" : std::to_string(profile.threads[thread.value].tid);
    for (; stack.value != 0; stack = profile.stacks[stack.value].parent) {
      const model::Frame& frame = profile.frames[profile.stacks[stack.value].frame.value];
      text +=
          ";" +
          std::string(
              frame.line_count == 0
                  ? std::string_view("?")
                  : profile.strings[profile.functions[profile.lines[frame.first_line].function.value].name]);
    }
    return text;
  };
  Sums sums;
  for (const model::Sample& row : profile.samples) sums.samples[place(row.thread, row.stack)] += row.value;
  for (const model::Wait& row : profile.waits) {
    auto& [rows, waited, queued] = sums.waits[place(row.thread, row.stack)];
    rows += 1;
    waited += row.waited_ns;
    queued += row.queued_ns;
  }
  for (const model::Thread& row : profile.threads)
    sums.threads[row.tid] = {row.ran_ns, row.waited_ns, row.queued_ns};
  const analysis::HeapSums heaps(profile, heap);
  for (std::uint32_t i = 0; i < profile.heap.sites.size(); ++i) {
    const analysis::HeapSiteSums& site = heaps.sites()[i];
    if (site.allocated.blocks.value == 0 && site.before.blocks.value == 0) continue;
    sums.heap[place(profile.heap.sites[i].thread, profile.heap.sites[i].stack)] = {
        site.allocated.bytes.value, site.freed.bytes.value, site.before.bytes.value, site.live.bytes.value,
        site.allocated.blocks.value};
  }
  return sums;
}

// From when on a recording has another rate; its samples keep their distance.
struct TestingRates {
  std::uint64_t change_ns = UINT64_MAX;
  std::uint32_t hz = 0;
};

// Three threads that run and wait in turn for some minutes. The keeper gets what a recording would lend it, 20 times a second; the
// clock is ours.
class TestingRecording {
 public:
  using OnStep = std::function<void(std::uint64_t now_ns, Pulls& pulls)>;

  explicit TestingRecording(std::uint64_t seed, int minutes = 4, const OnStep& on_step = {},
                            const TestingRates& rates = {},
                            const std::function<bool(std::uint64_t now_ns)>& names_are_known = {})
      : random_(seed) {
    Pulls pulls;
    fill_tables(profile_, builder_);
    TestingHeap heap(profile_, seed, now_, 8);
    whole_ = profile_;
    profile_.meta.start_ns = whole_.meta.start_ns = now_;
    profile_.meta.start_unix_ns = whole_.meta.start_unix_ns =
        1'764'233'843'500'000'000;  // in the middle of a minute
    profile_.meta.frequency_hz = whole_.meta.frequency_hz = 99;
    profile_.meta.target = whole_.meta.target = "target";
    KeeperOptions options;
    options.on_window = [this](model::Profile window) {
      windows_.push_back(std::move(window));
      came_ns_.push_back(now_);
    };
    options.pulls = &pulls;
    Keeper keeper(options);
    session::TestingLent lending(profile_, builder_);
    auto lent = lending.lent();
    lent.readings.sum_threads = [this](std::uint64_t now_ns) { sum_threads(now_ns); };
    lent.readings.open_waits = [this](std::uint64_t now_ns) { return open_waits(now_ns); };
    lent.readings.cut_heap = [&] { heap.cut(now_, {&profile_, &whole_}); };
    if (names_are_known) lent.readings.names_are_known = [&] { return names_are_known(now_); };
    const std::uint64_t end = now_ + static_cast<std::uint64_t>(minutes) * 60'000'000'000;
    for (; now_ < end; now_ += 50'000'000) {
      happen(now_);
      heap.happen();
      if (now_ >= heap.slice_start_ns() + 700'000'000) heap.cut(now_, {&profile_, &whole_});
      profile_.meta.end_ns = now_;
      if (now_ >= rates.change_ns) profile_.meta.frequency_hz = rates.hz;
      if (on_step) on_step(now_, pulls);
      keeper.step(lent, now_);
      if (now_ % 1'000'000'000 < 50'000'000) (void)keeper.before_save(lent, false);
    }
    happen(now_);
    for (model::Wait& wait : open_waits(now_)) {  // as a recording that ends cuts them
      profile_.waits.push_back(wait);
      whole_.waits.push_back(wait);
    }
    profile_.meta.end_ns = whole_.meta.end_ns = now_;
    sum_threads(now_);
    (void)keeper.before_save(lent, true);
    for (std::size_t i = 0; i < whole_.threads.size(); ++i) whole_.threads[i] = profile_.threads[i];
    whole_.quality.samples = whole_.samples.size();
    whole_.quality.waits = whole_.waits.size();
  }

  const std::vector<model::Profile>& windows() const { return windows_; }
  const std::vector<std::uint64_t>& came_ns() const {
    return came_ns_;
  }  // of each window: when it was handed on
  const model::Profile& whole() const { return whole_; }

 private:
  // What a thread does: until when, and whether it runs.
  struct Doing {
    std::uint64_t since_ns = 0, until_ns = 0, next_sample_ns = 0;
    bool runs = true;
    model::StackId stack;
  };

  static void fill_tables(model::Profile& profile, model::Builder& builder) {
    model::Module file;
    file.kind = model::ModuleKind::kFile;
    file.name = file.path = builder.string("/bin/target");
    const model::ModuleId module = builder.module(file);
    model::StackId parent;
    for (std::uint64_t i = 0; i < 8; ++i) {
      const model::FrameId frame = builder.frame(module, {0x1000 + 16 * i});
      builder.name_frame(frame, {{"f" + std::to_string(i), "t.c", static_cast<std::uint32_t>(i)}});
      parent = builder.stack(i % 3 == 0 ? model::StackId{0} : parent, frame);
    }
    model::Process process;
    process.pid = 100;
    process.name = builder.string("target");
    process.executable = builder.string("/bin/target");
    profile.processes.push_back(process);
    for (std::int32_t i = 0; i < 3; ++i) {
      model::Thread thread;
      thread.process = {0};
      thread.tid = 100 + i;
      thread.name = builder.string("thread" + std::to_string(i));
      profile.threads.push_back(thread);
    }
  }

  // All that happens up to now: samples come at once, waits when they have ended.
  void happen(std::uint64_t now_ns) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      Doing& doing = doing_[i];
      if (doing.until_ns == 0) doing = {start_, start_ + 1 + random_() % 1'000'000'000, start_, true, {1}};
      while (doing.until_ns <= now_ns) {
        if (doing.runs)
          sample(i, doing, doing.until_ns);
        else
          finish(i, doing);
        const bool runs = !doing.runs;
        // Some waits last for minutes.
        const std::uint64_t most = !runs && random_() % 10 == 0 ? 150'000'000'000 : 3'000'000'000;
        const std::uint64_t since = doing.until_ns;
        doing = {since,
                 since + 1 + random_() % most,
                 since,
                 runs,
                 {1 + static_cast<std::uint32_t>(random_() % 8)}};
      }
      if (doing.runs) sample(i, doing, now_ns);
    }
  }

  void sample(std::uint32_t thread, Doing& doing, std::uint64_t until_ns) {
    for (; doing.next_sample_ns < until_ns; doing.next_sample_ns += 10'101'010) {
      model::Sample row;
      row.time_ns = doing.next_sample_ns;
      row.thread = {thread};
      row.stack = doing.stack;
      row.end = WALK_ROOT;
      profile_.samples.push_back(row);
      whole_.samples.push_back(row);
      ++profile_.quality.samples;
    }
  }

  void finish(std::uint32_t thread, const Doing& doing) {
    model::Wait wait = wait_of(thread, doing, doing.until_ns);
    wait.unfinished = false;
    profile_.waits.push_back(wait);
    whole_.waits.push_back(wait);
  }

  static model::Wait wait_of(std::uint32_t thread, const Doing& doing, std::uint64_t until_ns) {
    model::Wait wait;
    wait.thread = {thread};
    wait.stack = doing.stack;
    wait.state = model::WaitState::kInterruptible;
    wait.start_ns = doing.since_ns;
    wait.waited_ns = until_ns - doing.since_ns;
    wait.unfinished = true;
    return wait;
  }

  std::vector<model::Wait> open_waits(std::uint64_t now_ns) const {
    std::vector<model::Wait> open;
    for (std::uint32_t i = 0; i < 3; ++i)
      if (!doing_[i].runs && doing_[i].since_ns < now_ns) open.push_back(wait_of(i, doing_[i], now_ns));
    return open;
  }

  // Exact: what the finished waits and the open one add up to; the rest it ran.
  void sum_threads(std::uint64_t now_ns) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      std::uint64_t waited = 0;
      for (const model::Wait& wait : whole_.waits)
        if (wait.thread.value == i && !wait.unfinished) waited += wait.waited_ns;
      if (!doing_[i].runs) waited += now_ns - doing_[i].since_ns;
      profile_.threads[i].waited_ns = waited;
      profile_.threads[i].ran_ns = now_ns - start_ - waited;
    }
  }

  std::mt19937_64 random_;
  static constexpr std::uint64_t kBoot = 5'000'000'000;
  std::uint64_t now_ = kBoot;
  const std::uint64_t start_ = kBoot;
  model::Profile profile_;
  model::Builder builder_{profile_};
  model::Profile whole_;
  Doing doing_[3];
  std::vector<model::Profile> windows_;
  std::vector<std::uint64_t> came_ns_;
};

}  // namespace fathom::serve
