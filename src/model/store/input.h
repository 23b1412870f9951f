// The bytes of a recording, from a file or from memory. Files are read, not mapped: the writer of an
// unfinished recording may truncate it (after a full disk), and accessing a mapping would then raise SIGBUS.
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

  std::uint64_t size() const { return size_; }  // at opening
  // The file was opened while a writer (writer.h) was alive and had not finished it.
  bool is_being_written() const { return is_being_written_; }
  // n bytes at `offset`, valid until the next call; fewer at the end of the file.
  Result<std::span<const std::byte>> at(std::uint64_t offset, std::size_t n);
  // The same into `out`, from any thread.
  Result<> copy(std::uint64_t offset, std::size_t n, Bytes& out) const;

 private:
  Result<std::size_t> read_file(std::uint64_t offset, std::span<std::byte> out) const;
  std::string path_;
  Fd fd_;
  std::uint64_t size_ = 0;
  bool is_being_written_ = false;
  Bytes buffer_;                          // for a file: the part around the last position
  std::uint64_t start_ = 0;               // of the part in memory
  std::span<const std::byte> in_memory_;  // everything, or buffer_
};

}  // namespace fathom::store
