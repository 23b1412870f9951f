// A heap profile as jemalloc's prof.dump writes it, and the older text of gperftools that mimalloc's profiler and Go
// (debug=1) use too: stacks as addresses, and what was sampled at each. Facts as they stand in the file; what they
// estimate is in estimate.h, and whose code the addresses are is found in src/formats/dumps.
//
//   heap_v2/524288                     the mean of bytes between samples
//     t*: 13: 6688 [0: 0]              objects: bytes live [allocated since the start; 0: not counted]
//     t3: 12: 6496 [0: 0] main         the same of one thread, and its name
//   @ 0x5f86da8 0x5f5a1dc              a stack, innermost first; then its rows t*: and tN:
//   MAPPED_LIBRARIES:                  /proc/PID/maps
//
//   heap profile: 5: 640 [9: 900] @ heap_v2/524288      the older text: a line for each stack
//   5: 640 [9: 900] @ 0x5f86da8 0x5f5a1dc
//
// Either may stand behind "--- symbol" with the names of addresses, as jeprof --raw writes it. Go writes them behind each stack:
//
//   #	0x6e1b44	main.grow+0x84	/app/main.go:41
//
// Sources: jemalloc 5.3
// src/prof_data.c, bin/jeprof.in; google/pprof profile/legacy_profile.go. Bytes are untrusted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::formats {

// As printed: since jemalloc 5.3 each pair is made so that it is right when it is unbiased by itself, so pairs are
// never added up before that.
struct DumpPair {
  std::uint64_t objects = 0, bytes = 0;
  auto operator<=>(const DumpPair&) const = default;
};
struct DumpCounts {
  DumpPair live;
  DumpPair allocated;  // since the start; zeros where the dump has no such counts
  auto operator<=>(const DumpCounts&) const = default;
};

struct DumpThread {
  std::uint64_t thread = 0;  // jemalloc's own number, and no tid
  DumpCounts counts;
};

struct DumpStack {
  std::uint32_t first_address = 0, addresses = 0;  // HeapDump::addresses, innermost first
  DumpCounts counts;
  std::uint32_t first_thread = 0, threads = 0;  // HeapDump::threads
};

// A function that has a call at an address, or had it before it was inlined there.
struct DumpPlace {
  std::string function, file;  // file: empty where the dump does not say it
  std::uint32_t line = 0;      // 0: not said
  bool operator==(const DumpPlace&) const = default;
};

struct HeapDump {
  bool per_thread = false;               // the text of jemalloc; else the older one
  double mean_bytes = 0;                 // between samples; 0: every call was counted
  std::vector<std::uint64_t> addresses;  // return addresses
  std::vector<DumpStack> stacks;
  std::vector<DumpThread> threads;
  std::map<std::uint64_t, std::string> thread_names;  // of those that have one
  std::string maps;                                   // /proc/PID/maps; empty: the file has none
  std::map<std::uint64_t, std::vector<DumpPlace>>
      names;                      // of addresses, in a dump with names: innermost first
  std::string program;            // that it says it is of; empty: it does not
  bool counts_allocated = false;  // some stack has counts of all that was allocated
  // The file ended inside of a stack, or before or inside of what was mapped: it was copied while it was written, or the disk was full.
  bool cut = false;
  std::uint64_t without_bytes =
      0;                   // pairs with objects and no bytes: they cannot be unbiased, and are left out
  std::uint64_t deep = 0;  // stacks of more than kMostFrames; what is nearest to the root is left out
};
inline constexpr std::uint32_t kMostFrames = 1024;

bool is_heap_dump(std::string_view content);

// `name` is the file's, for messages. kMalformed with the number of the first bad line. Lines of a kind that is not known
// are skipped inside of a stack, as newer versions of jemalloc may have them.
Result<HeapDump> read_heap_dump(std::string_view text, const std::string& name);

}  // namespace fathom::formats
