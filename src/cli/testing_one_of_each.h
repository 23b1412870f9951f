// For tests: a small file of each format that is read.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "formats/perf_data/testing_perf_data.h"

namespace fathom::cli {

struct FileOfFormat {
  std::string format;  // as of formats/readers.h; "recording"; "jemalloc heap dump"
  std::string content;
  bool is_heap = false;
};

inline std::string words_of(std::initializer_list<std::uint64_t> words) {
  formats::testing::Bytes bytes;
  for (const std::uint64_t word : words) bytes.put(word);
  return bytes.str();
}

inline std::string bytehound_file() {
  const auto text = [](formats::testing::Bytes& to, std::string_view value) {
    to.put(static_cast<std::uint32_t>(value.size())).text(value);
  };
  formats::testing::Bytes body;
  body.put(std::uint32_t{0}).put(std::uint64_t{77}).put(std::uint64_t{78}).put(std::uint64_t{1'000'000});
  body.put(std::uint64_t{1'500'000})
      .put(std::uint64_t{1'700'000'000})
      .put(std::uint64_t{0})
      .put(std::uint32_t{42});
  text(body, "./ledger");
  text(body, "/opt/ledger");
  text(body, "x86_64");
  body.put(std::uint64_t{1}).put(std::uint8_t{8});
  body.put(std::uint32_t{5})
      .put(std::uint64_t{1})
      .put(std::uint32_t{1})
      .put(std::uint64_t{0x101});  // a stack
  body.put(std::uint32_t{1})
      .put(std::uint64_t{1'000'001})
      .put(std::uint64_t{0xa0})
      .put(std::uint64_t{16});  // a block
  body.put(std::uint64_t{1})
      .put(std::uint32_t{7})
      .put(std::uint32_t{1U << 31})
      .put(std::uint32_t{8})
      .put(std::uint64_t{0});
  formats::testing::Bytes file;  // one block that is not packed
  file.put(std::uint8_t{2}).put(static_cast<std::uint32_t>(body.str().size())).text(body.str());
  return file.str();
}

inline constexpr std::string_view kCpuProfile = R"json({"nodes": [
  {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "hitCount": 0, "children": [2]},
  {"id": 2, "callFrame": {"functionName": "grind", "url": "file:///mill.js", "lineNumber": 4}, "hitCount": 2}],
  "startTime": 1000, "endTime": 2000, "samples": [2, 2], "timeDeltas": [100, 50]})json";
inline constexpr std::string_view kHeapProfile = R"json({"head": {
  "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "selfSize": 0, "id": 1, "children": [
  {"callFrame": {"functionName": "keep", "url": "file:///mill.js", "lineNumber": 4}, "selfSize": 2000, "id": 2,
   "children": []}]}, "samples": []})json";
inline constexpr std::string_view kDhat = R"json({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated",
  "bklt": true, "bkacc": true, "tu": "ms", "cmd": "./a", "pid": 7, "te": 500, "tg": 400, "pps": [
  {"tb": 4096, "tbk": 1, "tl": 9, "mb": 4096, "mbk": 1, "gb": 4096, "gbk": 1, "eb": 4096, "ebk": 1, "fs": [1]}],
  "ftbl": ["[root]", "0x401000: keep (book.c:12)"]})json";
inline constexpr std::string_view kMassif =
    "desc: (none)\ncmd: ./book\ntime_unit: ms\n#-----------\nsnapshot=0\n#-----------\ntime=100\n"
    "mem_heap_B=3000\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\n"
    "n1: 3000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
    " n0: 3000 0x401000: keep (book.c:12)\n";
inline constexpr std::string_view kPerfScript =
    "app  7/7  [000] 100.000000:    1000000 cpu-clock: \n\t    401136 work+0x10 (/usr/bin/app)\n"
    "\t    401200 main+0x20 (/usr/bin/app)\n\n";
inline constexpr std::string_view kDump =
    "heap_v2/524288\n  t*: 13: 6688 [0: 0]\n@ 0x401000 0x402000\n  t*: 13: 6688 [0: 0]\n\nMAPPED_LIBRARIES:\n"
    "00400000-00452000 r-xp 00000000 08:02 173521      /no/app\n";

inline std::string perf_data_file() {
  using namespace formats::testing;
  const perf_event_attr event =
      attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_CALLCHAIN);
  const auto user = static_cast<std::uint64_t>(PERF_CONTEXT_USER);
  return perf_file({event}, comm(7, 7, "app") + mapped(7, 0x400000, 0x2000, 0, "/no/app") +
                                sample({.ip = 0x401000, .chain = {user, 0x401000, 0x401100}}));
}

inline std::vector<FileOfFormat> hand_made_files() {
  std::vector<FileOfFormat> files;
  const auto add = [&files](std::string_view format, std::string_view content, bool is_heap = false) {
    files.push_back({std::string(format), std::string(content), is_heap});
  };
  add("folded", "app;main;work 90\napp;main;rest 10\n");
  add("perf script", kPerfScript);
  add("perf.data", perf_data_file());
  add("gperftools CPU profile", words_of({0, 3, 0, 5000, 0, 7, 2, 0x400100, 0x400201, 0, 1, 0}) +
                                    "00400000-00402000 r-xp 00001000 08:01 12 /opt/kiln\n");
  add("cpuprofile", kCpuProfile);
  add("heapprofile", kHeapProfile, true);
  add("dhat", kDhat, true);
  add("massif", kMassif, true);
  add("callgrind", "version: 1\ncreator: callgrind-3.19.0\ncmd: ./prog\nevents: Ir\n\nfn=main\n1 5\n");
  add("bytehound", bytehound_file(), true);
  add("jemalloc heap dump", kDump, true);
  return files;
}

}  // namespace fathom::cli
