// The memory composition of the recorded processes, taken now and then while they live, because a program
// that exits leaves nothing to read. One more is kept whenever the process has grown. All of it together
// takes at most half a per cent of one CPU. Separate threads read (composition_reading.h). The recording does
// not wait for them, except for 20 ms if the heap is traced: longer readings, as of a process of a hundred
// gigabytes, are collected when ready, and hanging ones are abandoned. It also records the page cache of
// mapped databases, as series (file_cache_series.h). If the kernel has only smaps, a process for which that
// takes more than 200 ms is reported only as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/profile.h"
#include "record/session/heap/heap_recordings.h"
#include "record/session/memory/composition_reading.h"
#include "record/session/memory/file_cache_series.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

// Whether a process has grown since its memory was largest by so much that what it is made of is kept: by 2 % or by
// 256 MiB, and by 4 MiB at least.
bool has_grown(std::uint64_t largest, std::uint64_t rss);

class MemorySnapshots {
 public:
  // All outlive this object.
  MemorySnapshots(model::Profile& profile, model::Builder& builder, ProcessTable& processes,
                  MakeReader make_reader = reader_of_processes(),
                  sources::AskFiles ask_files = sources::ask_files)
      : profile_(profile),
        builder_(builder),
        processes_(processes),
        make_reader_(std::move(make_reader)),
        ask_files_(std::move(ask_files)) {}

  // Those of `pids` (ascending) that are due. `heaps` may be null. Appends to profile.memory_ranges, less
  // often the longer the recording lasts; keeps what was not appended in case it is the last one.
  void sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids, HeapRecordings* heaps);
  // The next sample() takes and keeps one of each.
  void make_due();
  // One more of each that still lives, and what was kept of the others.
  void finish(std::uint64_t now_ns, const std::vector<std::int32_t>& pids, HeapRecordings* heaps);

  // What it cost, for meta.facts; empty if nothing was taken.
  std::string cost() const;
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  struct State {
    std::uint64_t due_ns = 0, store_ns = 0;  // next ones
    std::uint64_t store_every_ns = 0;
    std::uint32_t stored = 0;   // at this distance
    std::uint64_t took_ns = 0;  // the newest reading
    std::vector<model::MemoryRange> kept;
    std::uint64_t largest_rss = 0;  // of those that were appended
    model::ProcessId process;
    std::optional<CompositionReading> reading;  // one that goes on
    bool hangs = false;                         // one hung, and there are no more
    bool files_hang = false;                    // a file did not answer, and no more are tried
    bool no_room = false;  // as many are read as may be at once: the next step tries again
    bool noted = false, noted_smaps = false, noted_cut = false, looked_with_smaps = false;
    bool asked_free = false;  // of a traced process: what its allocators kept free from before
  };
  // Begins a reading; rows: what there is instead of it. Neither: the process is gone, or may not be looked at.
  std::vector<model::MemoryRange> begin(std::uint64_t now_ns, std::int32_t pid, State& state, bool traced,
                                        bool last);
  // What the reading gave. nullopt: it goes on, and there is hope; with `leave` it is left then, with what of it there
  // is.
  std::optional<std::vector<model::MemoryRange>> collect(std::int32_t pid, State& state, HeapTracing* heap,
                                                         std::uint64_t until_ns, bool leave);
  std::vector<model::MemoryRange> rows_with_blocks(CompositionReading::Outcome outcome, std::uint64_t time_ns,
                                                   std::int32_t pid, const State& state, HeapTracing* heap);
  bool was_there_before(const State& state) const;
  std::vector<model::MemoryRange> give_up(std::uint64_t now_ns, std::int32_t pid, model::ProcessId process,
                                          State& state, std::string_view why);
  void settle(State& state, std::uint64_t now_ns, std::vector<model::MemoryRange> rows);
  std::vector<model::MemoryRange> as_a_whole(std::uint64_t now_ns, std::int32_t pid,
                                             model::ProcessId process);
  void append(State& state, const std::vector<model::MemoryRange>& rows);
  void store(State& state, const std::vector<model::MemoryRange>& rows);

  model::Profile& profile_;
  model::Builder& builder_;
  ProcessTable& processes_;
  MakeReader make_reader_;
  sources::AskFiles ask_files_;
  FileCacheSeries file_caches_{profile_};
  std::map<std::int32_t, State> states_;
  std::vector<std::string> notes_;
  std::uint64_t readings_ = 0, took_ns_ = 0, longest_ns_ = 0;
};

}  // namespace fathom::session
