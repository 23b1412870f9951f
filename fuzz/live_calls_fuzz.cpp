// Calls seen in a process, which may write anything into its registers and onto its stack: any records of the
// kernel are read to an end, and any stream of hits gets a verdict that its counts support.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "attach/inject/live/hit_records.h"
#include "attach/inject/live/judge.h"
#include "base/cursor.h"

namespace {

using namespace fathom;
using namespace fathom::inject;

constexpr std::uint64_t kHeap = 0x7f0000000000, kCode = 0x550000000000;

std::vector<process::MapEntry> maps() {
  std::vector<process::MapEntry> entries(2);
  entries[0].start = {kCode};
  entries[0].end = {kCode + 0x10000};
  entries[0].readable = entries[0].executable = true;
  entries[0].inode = 1;
  entries[0].path = "/program";
  entries[1].start = {kHeap};
  entries[1].end = {kHeap + 0x100000};
  entries[1].readable = entries[1].writable = true;
  return entries;
}

// Mostly numbers with a meaning, but any other may occur.
std::uint64_t number(Cursor& in) {
  const auto kind = in.read<std::uint8_t>();
  switch (kind >> 6) {
    case 0:
      return kind & 63;
    case 1:
      return kHeap + (kind & 63) * 16;
    case 2:
      return (kind & 1) != 0 ? kCode + kind : kHeap + in.read<std::uint16_t>();
    default:
      return in.read<std::uint64_t>();
  }
}

void check(const Verdict& verdict, std::size_t hits) {
  if (verdict.hits != hits || verdict.blocks > verdict.calls || verdict.known_frees > verdict.frees ||
      verdict.known_resizes > verdict.resizes || verdict.equal_sizes > verdict.known_frees ||
      verdict.known_frees + verdict.known_resizes > verdict.blocks)
    std::abort();
  const bool confirmed = verdict.kind == Verdict::Kind::kConfirmed;
  if (confirmed != verdict.why.empty()) std::abort();
  if (confirmed && (verdict.blocks < kEnoughBlocks || verdict.known_frees < kEnoughFrees)) std::abort();
}

}  // namespace

// Input: one byte of assumptions, one that chooses records or hits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Cursor in(std::as_bytes(std::span(data, size)));
  const auto flags = in.read<std::uint8_t>();
  Belief belief;
  belief.multiplies = (flags & 1) != 0;
  belief.frees_tell_size = (flags & 2) != 0;
  belief.all_ends_watched = (flags & 4) != 0;
  if ((flags & 16) != 0) belief.same_size = [](std::uint64_t a, std::uint64_t b) { return a / 16 == b / 16; };
  std::vector<Hit> hits;
  std::uint64_t lost = 0;
  if (in.read<std::uint8_t>() % 2 == 0) {
    const WatchedPoint points[] = {{{kCode + 16}, Point::kGives},
                                   {{kCode + 32}, Point::kGave},
                                   {{kCode + 48}, Point::kFrees},
                                   {{kCode + 64}, Point::kResizes}};
    HitReader reader(points);
    while (in.ok() && !in.at_end()) {
      std::vector<std::byte> record(in.read<std::uint8_t>());
      for (std::byte& each : record) each = static_cast<std::byte>(in.read<std::uint8_t>());
      reader.read(record);
    }
    hits = std::move(reader.hits);
    lost = reader.lost;
  } else {
    while (in.ok() && !in.at_end()) {
      Hit hit;
      const auto what = in.read<std::uint8_t>();
      hit.point = static_cast<Point>(what % kPoints);
      hit.thread = (what >> 2) % 4;
      hit.time_ns = (what & 128) != 0 ? number(in) : hits.size();
      hit.stack = number(in);
      hit.return_to = (what & 64) != 0 ? number(in) : kCode;
      hit.first = number(in);
      hit.second = number(in);
      hit.result = number(in);
      hits.push_back(hit);
    }
    lost = flags >> 5;
  }
  MemoryPicture memory;
  memory.add(maps());
  check(judge(hits, lost, memory, belief), hits.size());
  const auto whole = complete_stretch(hits, 3, 1'000'000, 16);
  if (whole.size() > hits.size()) std::abort();
  for (std::size_t i = 1; i < whole.size(); ++i)
    if (whole[i].time_ns < whole[i - 1].time_ns) std::abort();
  check(judge(whole, lost, memory, belief), whole.size());
  return 0;
}
