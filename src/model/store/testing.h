// Shared by the tests of this folder: a profile that arrives in slices, and files to write it to.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "base/files.h"
#include "model/random_profile.h"
#include "model/store/block.h"
#include "model/store/reader.h"
#include "model/store/writer.h"

namespace fathom::store {

// A path in a folder that is removed at the end of the test.
class TemporaryFile {
 public:
  TemporaryFile() : folder_(testing::TempDir() + "fathom-store-XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = folder_ + "/test.fathom";
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }
  std::string content() const { return read_file(path_).value(); }

 private:
  std::string folder_, path_;
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline Result<model::Profile> read_text(const std::string& content, const ReadOptions& options = {}) {
  return read_bytes(bytes_of(content), "test", options);
}

// Grows a profile towards `whole` as capture does: rows of tables appear, frames get their names later, facts
// change, samples and points appear once. Row order is that of `whole`, so the result of reading everything
// back is `whole`.
class Slices {
 public:
  Slices(const model::Profile& whole, std::uint64_t seed) : whole_(whole), random_(seed) {}

  // The next state of the profile, which passes check(); the last one completes `whole`.
  const model::Profile& next(bool last) {
    choose_sizes(last);
    for (auto i = static_cast<std::uint32_t>(now_.strings.size()); i < strings_; ++i)
      now_.strings.intern(whole_.strings[{i}]);
    grow(now_.modules, whole_.modules, modules_);
    grow(now_.functions, whole_.functions, functions_);
    grow(now_.lines, whole_.lines, lines_);
    const std::size_t frames = now_.frames.size();
    grow(now_.frames, whole_.frames, frames_);
    for (std::size_t i = 0; i < now_.frames.size(); ++i) {
      if (i >= frames) now_.frames[i].first_line = now_.frames[i].line_count = 0;
      if (i < named_.size() && named_[i]) now_.frames[i] = whole_.frames[i];
    }
    grow(now_.stacks, whole_.stacks, stacks_);
    grow(now_.processes, whole_.processes, processes_);
    grow(now_.threads, whole_.threads, threads_);
    grow(now_.objects, whole_.objects, objects_);
    for (auto& thread : now_.threads) {
      thread.cpu_ns = random_() % 100;
      if (random_() % 2 == 0) thread.waited_ns += random_() % 1000;
    }
    if (last) now_.threads = whole_.threads;
    add_samples(last);
    add_waits(last);
    add_faults(last);
    add_calls(last);
    add_spans(last);
    add_points(last);
    add_heap(last);
    add_memory(last);
    now_.meta = whole_.meta;
    now_.quality = whole_.quality;
    if (!last) {
      now_.meta.end_ns = whole_.meta.start_ns + random_() % 1000;
      now_.quality.samples = sample_;
      now_.quality.waits = wait_;
      now_.quality.early_ends.clear();
      now_.quality.notes = {"still recording"};
    }
    return now_;
  }

 private:
  std::size_t upto(std::size_t from, std::size_t end, bool last) {
    return last || from >= end ? end : from + random_() % (end - from + 1);
  }

  // Some more rows of each table, and all rows that they refer to.
  void choose_sizes(bool last) {
    const auto at_least = [](std::size_t& size, auto id) {
      size = std::max<std::size_t>(size, id.value + 1);
    };
    strings_ = upto(now_.strings.size(), whole_.strings.size(), last);
    modules_ = upto(now_.modules.size(), whole_.modules.size(), last);
    functions_ = upto(now_.functions.size(), whole_.functions.size(), last);
    lines_ = upto(now_.lines.size(), whole_.lines.size(), last);
    frames_ = upto(now_.frames.size(), whole_.frames.size(), last);
    stacks_ = upto(now_.stacks.size(), whole_.stacks.size(), last);
    processes_ = upto(now_.processes.size(), whole_.processes.size(), last);
    threads_ = upto(now_.threads.size(), whole_.threads.size(), last);
    objects_ = upto(now_.objects.size(), whole_.objects.size(), last);
    series_ = upto(now_.series.size(), whole_.series.size(), last);
    for (std::size_t i = 1; i < stacks_; ++i) at_least(frames_, whole_.stacks[i].frame);
    named_.resize(frames_);
    for (std::size_t i = 0; i < frames_; ++i) {
      const auto& frame = whole_.frames[i];
      at_least(modules_, frame.module);
      named_[i] = named_[i] || last || random_() % 3 == 0;
      if (named_[i]) lines_ = std::max<std::size_t>(lines_, frame.first_line + frame.line_count);
    }
    for (std::size_t i = 0; i < lines_; ++i) {
      at_least(functions_, whole_.lines[i].function);
      at_least(strings_, whole_.lines[i].file);
    }
    for (std::size_t i = 0; i < functions_; ++i) {
      at_least(modules_, whole_.functions[i].module);
      at_least(strings_, whole_.functions[i].name);
    }
    for (std::size_t i = 0; i < modules_; ++i)
      for (const auto id : {whole_.modules[i].name, whole_.modules[i].path, whole_.modules[i].build_id,
                            whole_.modules[i].symbols_path})
        at_least(strings_, id);
    for (std::size_t i = 0; i < threads_; ++i) {
      at_least(processes_, whole_.threads[i].process);
      at_least(strings_, whole_.threads[i].name);
    }
    for (std::size_t i = 0; i < processes_; ++i) {
      at_least(strings_, whole_.processes[i].name);
      at_least(strings_, whole_.processes[i].executable);
    }
    for (std::size_t i = 0; i < objects_; ++i) at_least(strings_, whole_.objects[i].name);
    for (std::size_t i = 0; i < series_; ++i) {
      at_least(strings_, whole_.series[i].name);
      at_least(strings_, whole_.series[i].unit);
    }
  }

  template <class Row>
  static void grow(std::vector<Row>& rows, const std::vector<Row>& whole, std::size_t end) {
    rows.insert(rows.end(), whole.begin() + static_cast<std::ptrdiff_t>(rows.size()),
                whole.begin() + static_cast<std::ptrdiff_t>(end));
  }

  void add_samples(bool last) {
    now_.samples.clear();
    for (; sample_ < whole_.samples.size() && (last || random_() % 40 != 0); ++sample_) {
      const auto& sample = whole_.samples[sample_];
      if (sample.thread.value >= now_.threads.size() || sample.stack.value >= now_.stacks.size()) break;
      now_.samples.push_back(sample);
    }
  }

  void add_waits(bool last) {
    now_.waits.clear();
    for (; wait_ < whole_.waits.size() && (last || random_() % 40 != 0); ++wait_) {
      const auto& wait = whole_.waits[wait_];
      now_.waits.push_back(wait);
      if (check(now_)) continue;  // something it refers to is not there yet
      now_.waits.pop_back();
      break;
    }
  }

  // Once everything that it refers to is there.
  void add_heap(bool last) {
    const auto& from = whole_.heap;
    auto& to = now_.heap;
    to.rows.clear();
    if (now_.strings.size() < whole_.strings.size() || now_.modules.size() < whole_.modules.size() ||
        now_.stacks.size() < whole_.stacks.size() || now_.threads.size() < whole_.threads.size() ||
        now_.processes.size() < whole_.processes.size())
      return;
    to.heaps = from.heaps;
    if (!last)
      for (auto& heap : to.heaps) heap.events = random_() % 1000;
    const auto more = [&](auto& rows, const auto& all) {
      grow(rows, all, upto(rows.size(), all.size(), last));
    };
    more(to.allocators, from.allocators);
    if (to.allocators.size() < from.allocators.size()) return;
    more(to.hooks, from.hooks);
    more(to.slices, from.slices);
    more(to.sites, from.sites);
    for (; heap_row_ < from.rows.size() && (last || random_() % 40 != 0); ++heap_row_) {
      const auto& row = from.rows[heap_row_];
      if (row.slice.value >= to.slices.size() || row.site.value >= to.sites.size()) break;
      to.rows.push_back(row);
    }
    // Replaced as a whole each time.
    const auto some = [&](auto& rows, const auto& all) {
      rows.clear();
      for (const auto& row : all)
        if (row.site.value < to.sites.size() && (last || random_() % 2 == 0)) rows.push_back(row);
    };
    if (last || random_() % 2 == 0) some(to.summaries, from.summaries);
    if (last || random_() % 2 == 0) some(to.histograms, from.histograms);
    if (last || random_() % 2 == 0) some(to.uses, from.uses);
    if (last || random_() % 2 == 0) some(to.returns, from.returns);
    if (last || random_() % 2 == 0) to.outages = from.outages;
  }

  void add_faults(bool last) {
    now_.faults.clear();
    for (; fault_ < whole_.faults.size() && (last || random_() % 20 != 0); ++fault_) {
      now_.faults.push_back(whole_.faults[fault_]);
      if (check(now_)) continue;
      now_.faults.pop_back();
      break;
    }
  }

  void add_calls(bool last) {
    now_.calls.clear();
    for (; call_ < whole_.calls.size() && (last || random_() % 20 != 0); ++call_) {
      now_.calls.push_back(whole_.calls[call_]);
      if (check(now_)) continue;
      now_.calls.pop_back();
      break;
    }
  }

  void add_spans(bool last) {
    now_.spans.clear();
    for (; span_ < whole_.spans.size() && (last || random_() % 20 != 0); ++span_) {
      now_.spans.push_back(whole_.spans[span_]);
      if (check(now_)) continue;
      now_.spans.pop_back();
      break;
    }
  }

  void add_memory(bool last) {
    now_.memory_ranges.clear();
    for (; memory_range_ < whole_.memory_ranges.size() && (last || random_() % 20 != 0); ++memory_range_) {
      now_.memory_ranges.push_back(whole_.memory_ranges[memory_range_]);
      if (check(now_)) continue;
      now_.memory_ranges.pop_back();
      break;
    }
  }

  void add_points(bool last) {
    for (std::size_t i = now_.series.size(); i < series_; ++i) now_.series.push_back(whole_.series[i]);
    points_.resize(series_);
    for (std::size_t i = 0; i < series_; ++i) {
      const auto& points = whole_.series[i].points;
      const std::size_t end = upto(points_[i], points.size(), last);
      now_.series[i].points.assign(points.begin() + static_cast<std::ptrdiff_t>(points_[i]),
                                   points.begin() + static_cast<std::ptrdiff_t>(end));
      points_[i] = end;
    }
  }

  const model::Profile& whole_;
  std::mt19937_64 random_;
  model::Profile now_;
  std::size_t strings_ = 0, modules_ = 0, functions_ = 0, lines_ = 0, frames_ = 0, stacks_ = 0,
              processes_ = 0, threads_ = 0, objects_ = 0, series_ = 0;
  std::vector<bool> named_;  // per frame
  std::size_t sample_ = 0, wait_ = 0, fault_ = 0, call_ = 0, span_ = 0, heap_row_ = 0, memory_range_ = 0;
  std::vector<std::size_t> points_;  // per series
};

// Writes `whole` in `slices` appends.
inline void write_sliced(const std::string& path, const model::Profile& whole, int slices,
                         bool finish = true) {
  auto writer = Writer::create(path, {.overwrite = true});
  ASSERT_TRUE(writer) << writer.error().message;
  Slices source(whole, static_cast<std::uint64_t>(slices));
  for (int i = 1; i < slices; ++i) {
    auto appended = writer->append(source.next(false));
    ASSERT_TRUE(appended) << appended.error().message;
  }
  const model::Profile& last = source.next(true);
  auto done = finish ? writer->finish(last) : writer->append(last);
  ASSERT_TRUE(done) << done.error().message;
}

// The offsets and headers of all blocks of an undamaged recording.
struct FoundBlock {
  std::size_t offset;
  BlockHeader header;
};
inline std::vector<FoundBlock> blocks_of(const std::string& content) {
  std::vector<FoundBlock> found;
  for (std::size_t offset = kFileHeaderSize; offset < content.size();) {
    const auto header = decode_block_header(bytes_of(content).subspan(offset));
    if (!header) break;
    found.push_back({offset, *header});
    offset += kBlockHeaderSize + header->stored_size;
  }
  return found;
}

// One block as the writer would write it.
inline std::string block(std::uint32_t type, std::uint32_t sequence, std::uint32_t rows,
                         const Bytes& payload) {
  Bytes out;
  BlockEncoder().append(out, type, sequence, rows, payload);
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}
inline std::string file_header() {
  const Bytes out = encode_file_header();
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

// A profile with one thread and one stack, for samples and waits to be added by hand.
inline model::Profile one_thread_profile() {
  model::Profile profile;
  model::Builder builder(profile);
  builder.stack({0}, builder.frame({0}, {0x10}));
  profile.processes.emplace_back().pid = 7;
  profile.threads.emplace_back().tid = 7;
  return profile;
}

}  // namespace fathom::store
