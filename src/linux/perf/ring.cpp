#include "linux/perf/ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/cursor.h"
#include "base/files.h"

namespace fathom::sources {

RecordReader::RecordReader(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head)
    : data_(data), tail_(tail), head_(head) {
  assert(std::has_single_bit(data.size()));
  if (head_ - tail_ > data_.size()) {  // also when head is behind tail
    malformed_ = true;
    tail_ = head_;
  }
}

std::optional<std::span<const std::byte>> RecordReader::next() {
  const std::uint64_t available = head_ - tail_;
  if (available == 0) return std::nullopt;
  const std::size_t start = static_cast<std::size_t>(tail_ & (data_.size() - 1));
  const std::size_t before_end = data_.size() - start;
  // Records are whole multiples of 8 bytes, so a header never wraps.
  Cursor header(data_.subspan(start, std::min<std::size_t>(before_end, sizeof(perf_event_header))));
  header.skip(offsetof(perf_event_header, size));
  const std::size_t size = header.read<std::uint16_t>();
  if (!header.ok() || size < sizeof(perf_event_header) || size % 8 != 0 || size > available) {
    malformed_ = true;
    tail_ = head_;
    return std::nullopt;
  }
  tail_ += size;
  if (size <= before_end) return data_.subspan(start, size);
  wrapped_.resize(size);
  std::memcpy(wrapped_.data(), data_.data() + start, before_end);
  std::memcpy(wrapped_.data() + before_end, data_.data(), size - before_end);
  return wrapped_;
}

Result<PerfRing> PerfRing::map(int fd, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  assert(std::has_single_bit(bytes) && bytes >= page);
  const std::size_t whole = page + bytes;
  void* address = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) {
    const int error_number = errno;
    Error error = system_error("mmap of a perf ring", error_number).value();
    if (error_number == EPERM)
      error.remedy =
          "raise the limit of locked memory: ulimit -l 65536, or sysctl kernel.perf_event_mlock_kb=4096";
    return tl::unexpected(std::move(error));
  }
  Mapping mapping(address, whole);
  const auto data = mapping.bytes().subspan(page);
  return PerfRing(std::move(mapping), data);
}

std::uint64_t PerfRing::head() const {
  const auto* page = static_cast<const perf_event_mmap_page*>(mapping_.data());
  // Acquire: the records before head were written before it was.
  return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

std::uint64_t PerfRing::tail() const {
  return __atomic_load_n(&static_cast<const perf_event_mmap_page*>(mapping_.data())->data_tail,
                         __ATOMIC_RELAXED);
}

void PerfRing::release(std::uint64_t tail) {
  // Release: our reads are over before the kernel may write there.
  __atomic_store_n(&static_cast<perf_event_mmap_page*>(mapping_.data())->data_tail, tail, __ATOMIC_RELEASE);
}

}  // namespace fathom::sources
