// The bytes of a recording, from a file or from memory. Files are read and not mapped: a recording that is
// still being written may be cut back by its writer (after a full disk), and a mapping would answer that with
// SIGBUS.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/varint.h"

namespace fathom::store {

class Input {
 public:
  static Result<Input> of_file(const std::string& path);
  static Input of_bytes(std::span<const std::byte> bytes);  // `bytes` outlives it

  std::uint64_t size() const { return size_; }  // when it was opened
  // A writer (writer.h) had not finished the file when it was opened, and lived.
  bool is_being_written() const { return is_being_written_; }
  // n bytes at `offset`, valid until the next call; fewer where the file ends.
  Result<std::span<const std::byte>> at(std::uint64_t offset, std::size_t n);
  // The same into `out`, from any thread.
  Result<> copy(std::uint64_t offset, std::size_t n, Bytes& out) const;

 private:
  Result<std::size_t> read_file(std::uint64_t offset, std::span<std::byte> out) const;
  std::string path_;
  Fd fd_;
  std::uint64_t size_ = 0;
  bool is_being_written_ = false;
  Bytes buffer_;                          // of a file: the part around the last place
  std::uint64_t start_ = 0;               // of the part in memory
  std::span<const std::byte> in_memory_;  // all of it, or buffer_
};

}  // namespace fathom::store
