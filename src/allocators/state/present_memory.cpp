#include "allocators/state/present_memory.h"

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

bool PresentMemory::read(std::uint64_t address, std::span<std::byte> into) {
  if (into.size() > bytes_left_) {
    bytes_left_ = 0;
    return false;
  }
  if (!present_.covers(address, into.size())) return false;
  bytes_left_ -= into.size();
  return reader_.read(address, into);
}

bool PresentMemory::read_cached(std::uint64_t address, std::span<std::byte> into) {
  if (cache_.empty()) cache_.resize(kCachedPages);
  for (std::size_t done = 0; done < into.size();) {
    const std::uint64_t at = address + done;
    if (at < address || at >= kAddressLimit) return false;
    const std::uint64_t page = at / kPageBytes * kPageBytes;
    CachedPage& cached = cache_[page / kPageBytes % kCachedPages];
    if (cached.address != page) {
      cached.address = 1;
      if (!read(page, cached.bytes)) return false;
      cached.address = page;
    }
    const std::size_t count = std::min<std::size_t>(into.size() - done, page + kPageBytes - at);
    std::memcpy(into.data() + done, cached.bytes.data() + (at - page), count);
    done += count;
  }
  return true;
}

}  // namespace fathom::allocators
