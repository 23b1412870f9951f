// Mapping: the owner of one mmapped range.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace fathom {

class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, std::size_t size) : address_(address), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  // A whole file, read-only and private. An empty file gives an empty mapping. If another process truncates
  // it while mapped, access raises SIGBUS (mapped_files.h): map binaries, never logs.
  static Result<Mapping> of_file(const std::string& path);
  // The same of an open descriptor, which is not kept; `name` is for the error message.
  static Result<Mapping> of_fd(int fd, const std::string& name);

  void* data() const { return address_; }
  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace fathom
