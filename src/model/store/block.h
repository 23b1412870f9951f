// The outer structure of a recording file: its first bytes, and the header of every block. docs/format.md is
// the specification; numbers here never change their meaning.
//
// A reader finds the next block by length alone, and the header has its own checksum: so a damaged payload
// costs one block and not the rest of the file. The alternative, one checksum over both, would lose all later
// blocks at the first flipped bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/varint.h"

namespace fathom::store {

// As in PNG: not text, and a copy in text mode breaks it visibly.
inline constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'F', 'T', 'H', 'M', '\r', '\n', 0x1a};
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 11;
inline constexpr std::size_t kFileHeaderSize = 24;
inline constexpr std::size_t kBlockHeaderSize = 40;

// Limits of the format: a writer stays below them, a reader rejects a larger block before it allocates
// anything.
inline constexpr std::uint32_t kMaxPayload = 16u << 20;  // of one block, decompressed
inline constexpr std::uint32_t kMaxRatio =
    1024;  // decompressed : stored; limits the work that a file can cause
inline constexpr std::uint32_t kMaxRows = 1u << 16;  // of one section or one block of samples

// Four letters, read as a little-endian number.
constexpr std::uint32_t block_type(const char (&name)[5]) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<std::uint8_t>(name[i]);
  return value;
}
inline constexpr std::uint32_t kBlockMark = block_type("FBLK");
inline constexpr std::uint32_t kTables =
    block_type("TABL");  // strings, functions, lines, frames, stacks, objects; late names
inline constexpr std::uint32_t kState =
    block_type("STAT");  // rows that change: meta, modules, threads, quality ...
inline constexpr std::uint32_t kSamples = block_type("SAMP");
inline constexpr std::uint32_t kWaits = block_type("WAIT");   // since 1.1
inline constexpr std::uint32_t kHeap = block_type("HEAP");    // since 1.3
inline constexpr std::uint32_t kFaults = block_type("FALT");  // since 1.4
inline constexpr std::uint32_t kCalls = block_type("CALL");   // since 1.8
inline constexpr std::uint32_t kSpans = block_type("SPAN");   // since 1.10
inline constexpr std::uint32_t kLives = block_type("HBLK");   // since 1.5: lifetimes of heap blocks
inline constexpr std::uint32_t kMemory = block_type("MEMR");  // since 1.5
inline constexpr std::uint32_t kPoints = block_type("PNTS");  // of series
inline constexpr std::uint32_t kIndex = block_type("INDX");
inline constexpr std::uint32_t kEnd = block_type("END.");
inline constexpr std::size_t kEndSize = kBlockHeaderSize + 3 * 8;  // the last block: three 64-bit numbers
std::string block_name(std::uint32_t type);                        // always printable

inline constexpr std::uint32_t kFlagZstd = 1;  // the payload is one zstd frame
inline constexpr std::uint32_t kFlagRequired =
    2;  // a reader that does not know the type must reject the file
inline constexpr std::uint32_t kKnownFlags = 0xffff0003;  // the upper half may be ignored: it has hints

struct BlockHeader {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint32_t stored_size = 0;   // of the payload, in the file
  std::uint32_t payload_size = 0;  // decompressed
  std::uint32_t sequence = 0;      // 0, 1, 2 ...: a gap shows a lost block
  std::uint32_t rows = 0;          // number of samples or waits: known even if the payload is damaged
  std::uint64_t payload_checksum = 0;
};

// Of HBLK: what a reader need not decode. They hold for whole recordings only: the end of a heap may be another where a file was cut.
struct LivesHints {
  bool exact = false;                    // no row stands for several blocks; without it there are no hints
  bool none_live = false;                // at the end
  std::uint64_t most_size = UINT64_MAX;  // no block is larger; rounded up
};
std::uint32_t flags_of(const LivesHints& hints);
LivesHints hints_of(const BlockHeader& header);

Bytes encode_file_header();
// Checks the bytes after the magic number; `name` is for messages. Rejects newer major versions with a
// remedy.
Result<> check_file_header(std::span<const std::byte> bytes, const std::string& name);

// nullopt: these bytes are not a block header, or a damaged one.
std::optional<BlockHeader> decode_block_header(std::span<const std::byte> bytes);
std::uint64_t checksum(std::span<const std::byte> bytes);

// Puts payloads into blocks. One per writer.
class BlockEncoder {
 public:
  BlockEncoder();
  // Appends header and payload, compressed if that makes it smaller. The payload is at most kMaxPayload. `hints`: flags of the upper
  // half.
  void append(Bytes& out, std::uint32_t type, std::uint32_t sequence, std::uint32_t rows,
              const Bytes& payload, std::uint32_t hints = 0);

 private:
  struct Free {
    void operator()(void* context) const noexcept;
  };
  std::unique_ptr<void, Free> context_;  // ZSTD_CCtx: builds its tables once
  Bytes compressed_;
};

// Takes payloads out of blocks. One per reader.
class BlockDecoder {
 public:
  BlockDecoder();
  // The payload, valid until the next call. `stored`: the bytes after the header.
  Result<std::span<const std::byte>> payload(const BlockHeader& header, std::span<const std::byte> stored);

 private:
  struct Free {
    void operator()(void* context) const noexcept;
  };
  std::unique_ptr<void, Free> context_;  // ZSTD_DCtx
  Bytes plain_;
};

}  // namespace fathom::store
