#include "attach/allocators/state/present_memory.h"

#include <algorithm>

namespace fathom::allocators {

AddressRanges::AddressRanges(std::vector<AddressRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  for (const AddressRange& each : ranges) {
    if (each.end <= each.start) continue;
    if (!ranges_.empty() && each.start <= ranges_.back().end)
      ranges_.back().end = std::max(ranges_.back().end, each.end);
    else
      ranges_.push_back(each);
  }
}

std::size_t AddressRanges::first_after(std::uint64_t address) const {
  if (hint_ < ranges_.size() && (hint_ == 0 || ranges_[hint_ - 1].end <= address)) {
    for (std::size_t i = hint_; i < std::min(hint_ + 4, ranges_.size()); ++i)
      if (ranges_[i].end > address) return hint_ = i;
  }
  const auto found =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t at, const AddressRange& range) { return at < range.end; });
  hint_ = static_cast<std::size_t>(found - ranges_.begin());
  return hint_;
}

bool AddressRanges::covers(std::uint64_t address, std::uint64_t size) const {
  const std::size_t i = first_after(address);
  return i < ranges_.size() && ranges_[i].start <= address && size <= ranges_[i].end - address;
}

std::uint64_t AddressRanges::bytes_in(std::uint64_t start, std::uint64_t end) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = first_after(start); i < ranges_.size() && ranges_[i].start < end; ++i)
    bytes += std::min(end, ranges_[i].end) - std::max(start, ranges_[i].start);
  return bytes;
}

std::vector<AddressRange> AddressRanges::within(std::uint64_t start, std::uint64_t end) const {
  std::vector<AddressRange> parts;
  for (std::size_t i = first_after(start); i < ranges_.size() && ranges_[i].start < end; ++i)
    parts.push_back({std::max(start, ranges_[i].start), std::min(end, ranges_[i].end)});
  return parts;
}

ReadingLimits ReadingLimits::of(const AddressRanges& present, std::uint64_t until_ns) {
  constexpr std::uint64_t kLeast = std::uint64_t{8} << 20, kMost = std::uint64_t{256} << 20;
  return {std::clamp(2 * present.bytes_in(0, kAddressLimit), kLeast, kMost), until_ns};
}

bool PresentMemory::read(std::uint64_t address, std::span<std::byte> into) {
  if (into.size() > bytes_left_ || (until_ns_ != UINT64_MAX && monotonic_ns() >= until_ns_)) {
    bytes_left_ = 0;
    return false;
  }
  if (!present_.covers(address, into.size())) return false;
  bytes_left_ -= into.size();
  return reader_.read(address, into);
}

bool PresentMemory::read_cached(std::uint64_t address, std::span<std::byte> into) {
  if (cache_.empty()) cache_.resize(kCachedLines);
  if (used_up()) return false;
  for (std::size_t done = 0; done < into.size();) {
    const std::uint64_t at = address + done;
    if (at < address || at >= kAddressLimit) return false;
    const std::uint64_t line = at / kLineBytes * kLineBytes;
    CachedLine& cached = cache_[line / kLineBytes % kCachedLines];
    if (cached.address != line) {
      cached.address = 1;
      if (!read(line, cached.bytes)) return false;
      cached.address = line;
    }
    const std::size_t count = std::min<std::size_t>(into.size() - done, line + kLineBytes - at);
    std::memcpy(into.data() + done, cached.bytes.data() + (at - line), count);
    done += count;
  }
  return true;
}

}  // namespace fathom::allocators
