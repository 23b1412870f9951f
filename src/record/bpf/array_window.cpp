#include "record/bpf/array_window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

namespace fathom::sources {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;  // about so much

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// Whole pages, as the kernel's array has; nothing if it refuses.
Mapping map_piece(int fd, std::size_t first_page, std::size_t end) {
  const std::size_t start = first_page * page_size();
  const std::size_t size = (end - start + page_size() - 1) / page_size() * page_size();
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(start));
  return address == MAP_FAILED ? Mapping() : Mapping(address, size);
}

}  // namespace

bool write_array(int map_fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  const std::size_t first_page = offset / page_size();
  const Mapping window = map_piece(map_fd, first_page, offset + bytes.size());
  if (window.data() == nullptr) return false;
  std::memcpy(static_cast<std::byte*>(window.data()) + (offset - first_page * page_size()), bytes.data(),
              bytes.size());
  return true;
}

ArrayPieces::ArrayPieces(int map_fd, std::size_t element_size, std::size_t count)
    : map_fd_(map_fd), element_size_(element_size), count_(count) {
  // No element lies in two pieces.
  const std::size_t least = std::lcm(element_size, page_size());
  piece_bytes_ = std::max<std::size_t>(1, kPieceBytes / least) * least;
  pieces_.resize((element_size * count + piece_bytes_ - 1) / piece_bytes_);
}

void* ArrayPieces::at(std::size_t index) {
  assert(index < count_);
  const std::size_t offset = index * element_size_, start = offset / piece_bytes_ * piece_bytes_;
  Mapping& piece = pieces_[offset / piece_bytes_];
  if (piece.data() == nullptr)
    piece = map_piece(map_fd_, start / page_size(), std::min(start + piece_bytes_, element_size_ * count_));
  return piece.data() == nullptr ? nullptr : static_cast<std::byte*>(piece.data()) + (offset - start);
}

}  // namespace fathom::sources
