// The bytes of a section: a view into the file, or owned if they had to be inflated (SHF_COMPRESSED: gABI,
// zlib and zstd; ".zdebug_*" sections: GNU tools before 2015, zlib).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom::elf {

// Moving keeps bytes() valid for the new owner; a view lives as long as the file's bytes.
class SectionData {
 public:
  SectionData() = default;
  explicit SectionData(std::span<const std::byte> view) : bytes_(view) {}
  explicit SectionData(std::vector<std::byte> owned) : owned_(std::move(owned)), bytes_(owned_) {}
  SectionData(SectionData&&) noexcept = default;
  SectionData& operator=(SectionData&&) noexcept = default;
  SectionData(const SectionData&) = delete;
  SectionData& operator=(const SectionData&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  bool owned() const { return !owned_.empty(); }

 private:
  std::vector<std::byte> owned_;  // a moved vector keeps its buffer, so bytes_ stays right
  std::span<const std::byte> bytes_;
};

// `stored`: an Elf64_Chdr and the compressed bytes. The size that the header claims is believed only as far
// as bytes really come out, so a hostile header cannot make us allocate.
Result<std::vector<std::byte>> inflate_section(std::span<const std::byte> stored);
// `stored`: "ZLIB", the size in big-endian order, and the compressed bytes.
Result<std::vector<std::byte>> inflate_zdebug_section(std::span<const std::byte> stored);

// How many bytes the headers of the two forms claim; 0 if the header is cut short.
std::uint64_t claimed_size(std::span<const std::byte> stored);
std::uint64_t zdebug_claimed_size(std::span<const std::byte> stored);
bool is_zdebug(std::string_view section_name, std::span<const std::byte> stored);

}  // namespace fathom::elf
