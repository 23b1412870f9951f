#include "linux/process/jit_dump.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/cursor.h"
#include "linux/process/live_code.h"

namespace fathom::process {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;
constexpr std::string_view kMagicBytes = "DTiJ";
constexpr std::size_t kFileHead = 40, kRecordHead = 16, kLoadHead = 40, kMoveHead = 48;
constexpr std::size_t kMostName = 4096;
constexpr std::uint64_t kMostRecords = 4'000'000;  // four for each of node's functions
enum Record : std::uint32_t { kLoad = 0, kMove = 1 };

class Reader {
 public:
  explicit Reader(const ReadAt& read) : read_(read) {}

  std::vector<PerfMapEntry> entries() {
    Cursor head(at(0, kFileHead));
    const auto magic = head.read<std::uint32_t>();
    (void)head.read<std::uint32_t>();  // version: the heads of its records have been the same in both
    const auto size = head.read<std::uint32_t>();
    if (!head.ok() || magic != kMagic || size < kFileHead) return {};
    std::uint64_t offset = size;
    for (std::uint64_t records = 0; records < kMostRecords; ++records) {
      Cursor record(at(offset, kRecordHead));
      const auto id = record.read<std::uint32_t>(), length = record.read<std::uint32_t>();
      if (!record.ok() || length < kRecordHead) break;
      if (id == kLoad && length > kRecordHead + kLoadHead)
        load(offset + kRecordHead, length - kRecordHead);
      else if (id == kMove && length >= kRecordHead + kMoveHead)
        move(offset + kRecordHead);
      offset += length;
    }
    return code_.take();
  }

 private:
  // Fewer where the file ends.
  std::span<const std::byte> at(std::uint64_t offset, std::size_t count) {
    if (offset < start_ || offset + count > start_ + filled_) {
      start_ = offset;
      filled_ = 0;
      while (filled_ < count) {
        const std::size_t got = read_(start_ + filled_, std::span(window_).subspan(filled_));
        if (got == 0) break;
        filled_ += got;
      }
    }
    const std::size_t skipped = static_cast<std::size_t>(offset - start_);
    return std::as_bytes(std::span(window_)).subspan(skipped, std::min(count, filled_ - skipped));
  }

  void load(std::uint64_t offset, std::uint64_t length) {
    Cursor head(at(offset, kLoadHead));
    (void)head.read<std::uint64_t>();  // process and thread
    (void)head.read<std::uint64_t>();  // where it was made, which may be another mapping of the same memory
    const auto start = head.read<std::uint64_t>(), size = head.read<std::uint64_t>();
    if (!head.ok() || size == 0 || start + size < start) return;
    const auto bytes = at(offset + kLoadHead, std::min<std::uint64_t>(kMostName, length - kLoadHead));
    std::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // A record whose name has not arrived is still being written, and one without an end has none.
    const std::size_t end = name.find('\0');
    if (end == std::string_view::npos || end == 0) return;
    code_.add({{start}, size, std::string(name.substr(0, end))});
  }

  void move(std::uint64_t offset) {
    Cursor head(at(offset, kMoveHead));
    (void)head.read<std::uint64_t>();
    (void)head.read<std::uint64_t>();
    const auto from = head.read<std::uint64_t>(), to = head.read<std::uint64_t>();
    if (head.ok()) code_.move(from, to);
  }

  const ReadAt& read_;
  std::array<char, 64 * 1024> window_;
  std::uint64_t start_ = 0;
  std::size_t filled_ = 0;
  LiveCode code_;
};

}  // namespace

bool is_jit_dump(std::string_view start) {
  return start.starts_with(kMagicBytes);
}

std::vector<PerfMapEntry> parse_jit_dump(const ReadAt& read) {
  return Reader(read).entries();
}

}  // namespace fathom::process
