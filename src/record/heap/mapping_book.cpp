#include "record/heap/mapping_book.h"

#include <sys/syscall.h>

#include <algorithm>

namespace fathom::sources::heap {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t whole_pages(std::uint64_t bytes) {
  return bytes > UINT64_MAX - kPage ? UINT64_MAX / kPage * kPage : (bytes + kPage - 1) / kPage * kPage;
}

// The end of a range that cannot wrap around.
std::uint64_t end_of(std::uint64_t start, std::uint64_t bytes) {
  return start > UINT64_MAX - bytes ? UINT64_MAX : start + bytes;
}

}  // namespace

void MappingBook::split(std::uint64_t address) {
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return;
  auto piece = std::prev(after);
  if (piece->first >= address || piece->second.end <= address) return;
  const Piece upper{piece->second.end, piece->second.taking};
  piece->second.end = address;
  pieces_.emplace(address, upper);
}

void MappingBook::give_back(std::uint64_t time_ns, std::uint64_t start, std::uint64_t end,
                            std::vector<Change>& out) {
  if (start >= end) return;
  split(start);
  split(end);
  auto piece = pieces_.lower_bound(start);
  while (piece != pieces_.end() && piece->first < end) {
    const std::uint64_t bytes = piece->second.end - piece->first;
    const auto taking = takings_.find(piece->second.taking);
    Taking& taken = taking->second;
    taken.bytes -= bytes;
    const bool whole = taken.bytes == 0;
    out.push_back({time_ns, taken.stack_id, taken.tid, false, bytes, whole,
                   time_ns > taken.time_ns ? time_ns - taken.time_ns : 0});
    if (whole) takings_.erase(taking);
    piece = pieces_.erase(piece);
  }
}

void MappingBook::take(const MemoryCall& call, std::uint64_t start, std::uint64_t end,
                       std::vector<Change>& out) {
  if (start >= end) return;
  give_back(call.time_ns, start, end, out);  // the kernel would not; a lost event may make it look so
  const std::uint64_t key = next_++;
  takings_.emplace(key, Taking{call.time_ns, call.stack_id, end - start, call.tid});
  pieces_.emplace(start, Piece{end, key});
  out.push_back({call.time_ns, call.stack_id, call.tid, true, end - start, true, 0});
}

void MappingBook::move(std::uint64_t from, std::uint64_t length, std::uint64_t to) {
  const std::uint64_t end = end_of(from, length);
  split(from);
  split(end);
  std::vector<std::pair<std::uint64_t, Piece>> moved;
  auto piece = pieces_.lower_bound(from);
  while (piece != pieces_.end() && piece->first < end) {
    const std::uint64_t start = to + (piece->first - from);
    moved.emplace_back(start, Piece{end_of(start, piece->second.end - piece->first), piece->second.taking});
    piece = pieces_.erase(piece);
  }
  for (const auto& [start, one] : moved) pieces_.emplace(start, one);
}

void MappingBook::on(const MemoryCall& call, std::vector<Change>& out) {
  switch (call.number) {
    case SYS_mmap: {
      const std::uint64_t end = end_of(call.result, whole_pages(call.length));
      if (call.anonymous)
        take(call, call.result, end, out);
      else
        give_back(call.time_ns, call.result, end, out);  // replaced by the file
      break;
    }
    case SYS_munmap:
      give_back(call.time_ns, call.address, end_of(call.address, whole_pages(call.length)), out);
      break;
    case SYS_mremap: {
      const std::uint64_t old_bytes = whole_pages(call.length), new_bytes = whole_pages(call.argument);
      const std::uint64_t kept = std::min(old_bytes, new_bytes);
      // Known before it moves: what is not ours, or a file's, does not become ours by growing.
      split(call.address);
      const bool known = pieces_.contains(call.address);
      give_back(call.time_ns, end_of(call.address, kept), end_of(call.address, old_bytes), out);
      if (call.result != call.address) {
        give_back(call.time_ns, call.result, end_of(call.result, new_bytes), out);
        move(call.address, kept, call.result);
      }
      if (known && new_bytes > old_bytes)
        take(call, end_of(call.result, old_bytes), end_of(call.result, new_bytes), out);
      break;
    }
    case SYS_brk:
      if (break_ != 0 && call.result > break_) take(call, break_, call.result, out);
      if (break_ != 0 && call.result < break_) give_back(call.time_ns, call.result, break_, out);
      break_ = call.result;
      break;
    default:
      break;
  }
}

}  // namespace fathom::sources::heap
