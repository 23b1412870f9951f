#include "formats/bytehound/events.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "formats/bytehound/lz4_block.h"

namespace fathom::formats::bytehound {
namespace {

constexpr std::size_t kBlockHead = 5,
                      kMostOfBlock = std::size_t{4} << 20;  // its writer makes 512 KiB of each
constexpr char kPackedBlock = 1, kPlainBlock = 2;
constexpr std::uint64_t kMostText = 1 << 20, kMostContents = std::uint64_t{512} << 20, kMostListed = 1 << 20;

}  // namespace

bool Events::unpack_block() {
  if (rest_.empty()) return false;
  const char kind = rest_.front();
  if (kind != kPackedBlock && kind != kPlainBlock) {
    stop(End::kDamaged);
    return false;
  }
  std::uint32_t length = 0;
  if (rest_.size() < kBlockHead) {
    stop(End::kCut);
    return false;
  }
  std::memcpy(&length, rest_.data() + 1, sizeof length);
  if (rest_.size() - kBlockHead < length) {
    stop(End::kCut);
    return false;
  }
  const std::string_view block = rest_.substr(kBlockHead, length);
  // Before the window grows, what was read is dropped from it.
  window_.erase(0, at_);
  at_ = 0;
  const std::size_t before = window_.size();
  if (kind == kPlainBlock) {
    window_.append(block);
  } else if (!unpack_lz4_block(block, kMostOfBlock, window_) || window_.size() - before == kMostOfBlock) {
    stop(End::kDamaged);
    return false;
  }
  rest_.remove_prefix(kBlockHead + length);
  return true;
}

bool Events::fill(std::uint64_t bytes) {
  while (window_.size() - at_ < bytes) {
    if (end_ != End::kNone) return false;
    if (unpack_block()) continue;
    stop(End::kCut);
    return false;
  }
  return true;
}

template <typename T>
T Events::number() {
  T value{};
  if (!fill(sizeof(T))) return value;
  std::memcpy(&value, window_.data() + at_, sizeof(T));
  at_ += sizeof(T);
  return value;
}

std::uint64_t Events::variable() {
  const auto first = number<std::uint8_t>();
  const auto more = static_cast<std::size_t>(std::countl_one(first));
  std::uint64_t value = 0;
  if (!fill(more)) return 0;
  std::memcpy(&value, window_.data() + at_, more);
  at_ += more;
  // The bits of the first byte are the highest; of eight bytes it has none.
  if (more < 8) value |= (first & (std::uint64_t{0xff} >> more)) << (8 * more);
  return value;
}

std::string_view Events::bytes(std::uint64_t count) {
  if (!fill(count)) return {};
  const std::string_view taken(window_.data() + at_, static_cast<std::size_t>(count));
  at_ += taken.size();
  return taken;
}

void Events::skip(std::uint64_t count) {
  while (count > 0) {
    if (window_.size() == at_ && !fill(1)) return;
    const auto step = std::min<std::uint64_t>(count, window_.size() - at_);
    at_ += static_cast<std::size_t>(step);
    count -= step;
  }
}

std::string Events::text() {
  const auto length = number<std::uint32_t>();
  if (length > kMostText) {
    stop(End::kDamaged);
    return {};
  }
  return std::string(bytes(length));
}

void Events::contents(Event& event, std::uint64_t count) {
  event.contents = {};
  event.contents_left_out = count > kMostContents;
  if (event.contents_left_out)
    skip(count);
  else
    event.contents = bytes(count);
}

void Events::list(Event& event, std::size_t width) {
  event.addresses.clear();
  const auto count = number<std::uint32_t>();
  if (count > kMostListed) return stop(End::kDamaged);
  if (!fill(std::uint64_t{count} * width)) return;
  event.addresses.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i)
    event.addresses.push_back(width == 4 ? number<std::uint32_t>() : number<std::uint64_t>());
}

bool Events::next(Event& event) {
  if (end_ != End::kNone) return false;
  while (window_.size() == at_) {
    if (unpack_block()) continue;
    stop(End::kWhole);
    return false;
  }
  const auto tag = number<std::uint32_t>();
  if (end_ != End::kNone) return false;
  if (tag >= kKinds) {
    unknown_kind_ = tag;
    stop(End::kUnknownKind);
    return false;
  }
  event.kind = static_cast<Kind>(tag);
  read(event);
  return end_ == End::kNone;
}

// Behind what comes before it in each kind of call.
void Events::read_call(Event& event) {
  event.pointer = number<std::uint64_t>();
  event.size = number<std::uint64_t>();
  event.backtrace = number<std::uint64_t>();
  event.thread = number<std::uint32_t>();
  skip(4 + 4 + 8);  // flags, usable space behind it, free space before it
}

void Events::read_region(Event& event) {
  if (event.kind == Kind::kMemoryMapEx) {
    variable();
    skip(8);
    variable(), variable();
    skip(4 + 4 + 4);
    variable();
    event.time_us = number<std::uint64_t>();
    variable();
    skip(4);
    return;
  }
  event.time_us = number<std::uint64_t>();
  variable();
  event.pointer = number<std::uint64_t>();
  event.length = variable();
  if (event.kind == Kind::kUpdateRegionUsage) {
    for (int i = 0; i < 6; ++i) variable();
  } else if (event.kind == Kind::kAddRegion) {
    event.file_offset = variable();
    variable();
    skip(4 + 4);
    event.flags = number<std::uint32_t>();
    const std::uint64_t length = variable();
    if (length > kMostText) return stop(End::kDamaged);
    event.path = std::string(bytes(length));
  } else {
    for (std::uint64_t left = variable(); left > 0 && end_ == End::kNone; --left) {
      skip(8);
      variable();
      skip(8);
      variable();
      skip(4);
    }
  }
}

void Events::read(Event& event) {
  const auto time = [&] { event.time_us = number<std::uint64_t>(); };
  const auto id = [&] {
    event.id_thread = number<std::uint64_t>();
    event.id_counter = number<std::uint64_t>();
  };
  event.id_thread = event.id_counter = 0;
  switch (event.kind) {
    case Kind::kHeader:
      skip(16);  // a random number
      event.initial_us = number<std::uint64_t>();
      time();
      event.wall_s = number<std::uint64_t>();
      event.wall_ns = number<std::uint64_t>();
      event.pid = number<std::uint32_t>();
      event.command = text();
      event.executable = text();
      text();   // the processor's name
      skip(8);  // order of bytes in the target
      event.pointer_bytes = number<std::uint8_t>();
      return;
    case Kind::kAllocEx:
      id();
      [[fallthrough]];
    case Kind::kAlloc:
      time();
      return read_call(event);
    case Kind::kReallocEx:
      id();
      [[fallthrough]];
    case Kind::kRealloc:
      time();
      event.old_pointer = number<std::uint64_t>();
      return read_call(event);
    case Kind::kFreeEx:
      id();
      [[fallthrough]];
    case Kind::kFree:
      time();
      event.pointer = number<std::uint64_t>();
      event.backtrace = number<std::uint64_t>();
      event.thread = number<std::uint32_t>();
      return;
    case Kind::kFile:
    case Kind::kFile64:
      time();
      event.path = text();
      return contents(event, event.kind == Kind::kFile ? number<std::uint32_t>() : number<std::uint64_t>());
    case Kind::kBacktrace:
    case Kind::kBacktrace32:
      event.id = number<std::uint64_t>();
      return list(event, event.kind == Kind::kBacktrace ? 8 : 4);
    case Kind::kPartialBacktrace:
    case Kind::kPartialBacktrace32:
      event.id = number<std::uint64_t>();
      event.thread = number<std::uint32_t>();
      event.frames_invalidated = number<std::uint32_t>();
      return list(event, event.kind == Kind::kPartialBacktrace ? 8 : 4);
    case Kind::kMemoryDump:
      skip(16);
      return skip(number<std::uint32_t>());
    case Kind::kMarker:
      return skip(4);
    case Kind::kMemoryMap:
      time();
      return skip(8 + 8 + 8 + 8 + 4 + 4 + 4 + 4 + 8);
    case Kind::kMemoryUnmap:
      time();
      return skip(8 + 8 + 8 + 4);
    case Kind::kMallopt:
      time();
      return skip(8 + 4 + 4 + 4 + 4);
    case Kind::kEnviron:
      return skip(number<std::uint32_t>());  // the target's environment may hold secrets
    case Kind::kWallClock:
      time();
      return skip(16);
    case Kind::kString:
      event.id = number<std::uint32_t>();
      event.path = text();
      return;
    case Kind::kDecodedFrame:
      event.pointer = number<std::uint64_t>();
      event.library = number<std::uint32_t>();
      event.raw_function = number<std::uint32_t>();
      event.function = number<std::uint32_t>();
      event.source = number<std::uint32_t>();
      event.line = number<std::uint32_t>();
      return skip(4 + 1);  // column, whether it is inlined
    case Kind::kDecodedBacktrace:
      return list(event, 4);
    case Kind::kGroupStatistics:
      event.backtrace = number<std::uint64_t>();
      skip(16);
      event.pointer = number<std::uint64_t>();
      event.size = number<std::uint64_t>();
      return skip(16);
    case Kind::kAddRegion:
    case Kind::kRemoveRegion:
    case Kind::kUpdateRegionUsage:
    case Kind::kMemoryMapEx:
      return read_region(event);
  }
}

}  // namespace fathom::formats::bytehound
