// The events of a file of bytehound, one after the other, unpacked as far as they are looked at.
//
// Source: the layouts in bytehound's common/src/event.rs and lz4_stream.rs, of all its published versions (events were only
// ever added at the end), and the encoding of the Rust crate that it is written with: little-endian; a 32-bit tag of the
// kind; texts and lists behind a 32-bit length; "variable" numbers whose first byte has as many leading ones as bytes follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::formats::bytehound {

enum class Kind : std::uint32_t {
  kHeader,
  kAlloc,
  kRealloc,
  kFree,
  kFile,
  kBacktrace,
  kMemoryDump,
  kMarker,
  kMemoryMap,
  kMemoryUnmap,
  kMallopt,
  kEnviron,
  kWallClock,
  kPartialBacktrace,
  kString,
  kDecodedFrame,
  kDecodedBacktrace,
  kGroupStatistics,
  kPartialBacktrace32,
  kBacktrace32,
  kAllocEx,
  kReallocEx,
  kFreeEx,
  kFile64,
  kAddRegion,
  kRemoveRegion,
  kUpdateRegionUsage,
  kMemoryMapEx,
};
inline constexpr std::uint32_t kKinds = 28;

inline constexpr std::uint64_t kNoBacktrace = UINT64_MAX;
inline constexpr std::uint32_t kNoText = UINT32_MAX, kAllFrames = UINT32_MAX;

// What is read of an event; the others keep what they were. Views live until the next one.
struct Event {
  Kind kind = Kind::kHeader;
  std::uint64_t time_us = 0;
  // Header.
  std::uint64_t initial_us = 0, wall_s = 0, wall_ns = 0;
  std::uint32_t pid = 0, pointer_bytes = 0;
  std::string command, executable;
  // Calls. The number of a block is the same from its allocation to its end; thread and counter 0: it has none.
  std::uint64_t id_thread = 0, id_counter = 0;
  std::uint64_t pointer = 0, old_pointer = 0, size = 0, backtrace = 0;
  std::uint32_t thread = 0;
  // Backtraces and their parts: return addresses, innermost first; of decoded ones, numbers of frames.
  std::uint64_t id = 0;
  std::uint32_t frames_invalidated = 0;
  std::vector<std::uint64_t> addresses;
  // Files, and texts by number (in `id`).
  std::string path;
  std::string_view contents;
  bool contents_left_out = false;  // more than is kept of one file
  // Decoded frames: numbers of texts.
  std::uint32_t library = kNoText, raw_function = kNoText, function = kNoText, source = kNoText,
                line = kNoText;
  // Groups of blocks that were left out of the file: in `pointer` how many, in `size` their bytes.
  // Regions.
  std::uint64_t length = 0, file_offset = 0;
  std::uint32_t flags = 0;
};
inline constexpr std::uint32_t kRegionExecutable = 4;

enum class End { kNone, kWhole, kCut, kUnknownKind, kDamaged };

class Events {
 public:
  explicit Events(std::string_view packed) : rest_(packed), packed_(packed.size()) {}
  // False at the end; end() says why.
  bool next(Event& event);
  End end() const { return end_; }
  std::uint32_t unknown_kind() const { return unknown_kind_; }
  std::uint64_t packed_left() const { return rest_.size(); }

 private:
  bool fill(std::uint64_t bytes);
  bool unpack_block();
  template <typename T>
  T number();
  std::uint64_t variable();
  std::string_view bytes(std::uint64_t count);
  void skip(std::uint64_t count);
  std::string text();
  void contents(Event& event, std::uint64_t count);
  void list(Event& event, std::size_t width);
  void read(Event& event);
  void read_call(Event& event);
  void read_region(Event& event);
  void stop(End end) {
    if (end_ == End::kNone) end_ = end;
  }

  std::string_view rest_;
  std::size_t packed_;
  std::string window_;  // unpacked
  std::size_t at_ = 0;  // in it
  End end_ = End::kNone;
  std::uint32_t unknown_kind_ = 0;
};

}  // namespace fathom::formats::bytehound
