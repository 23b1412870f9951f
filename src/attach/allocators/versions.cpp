#include "attach/allocators/versions.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace fathom::allocators {
namespace {

// Where compilers put strings: .rodata, or without section headers all that is mapped and not writable.
std::vector<std::string_view> constant_data(const elf::ElfFile& file) {
  const auto text = [](std::span<const std::byte> bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  std::vector<std::string_view> all;
  for (const elf::Section& section : file.sections())
    if (section.name.starts_with(".rodata") && section.type == SHT_PROGBITS)
      if (const auto bytes = file.bytes_at(section.address, section.size)) all.push_back(text(*bytes));
  if (!all.empty()) return all;
  for (const elf::Segment& segment : file.segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_W) == 0)
      if (const auto bytes = file.bytes_at(segment.address, segment.file_size)) all.push_back(text(*bytes));
  return all;
}

// memmem: string_view::find looks at one byte after another.
const char* find_text(std::string_view in, std::string_view wanted) {
  return static_cast<const char*>(::memmem(in.data(), in.size(), wanted.data(), wanted.size()));
}

// What follows the first occurrence, up to the end of the string.
std::optional<std::string_view> text_behind(const elf::ElfFile& file, std::string_view wanted) {
  for (const std::string_view all : constant_data(file)) {
    const char* found = find_text(all, wanted);
    if (found == nullptr) continue;
    const auto rest = all.substr(static_cast<std::size_t>(found - all.data()) + wanted.size());
    return rest.substr(0, std::min<std::size_t>(rest.find('\0'), 256));
  }
  return std::nullopt;
}

// "2.36" of "2.36. Copyright".
std::string leading_version(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && (is_digit(text[length]) || text[length] == '.')) ++length;
  while (length > 0 && text[length - 1] == '.') --length;
  return std::string(text.substr(0, length));
}

// In two pieces: a program that only knows these messages, such as this one, must not look like a holder.
bool holds(const elf::ElfFile& file, std::string wanted, std::string_view rest) {
  wanted += rest;
  const auto all = constant_data(file);
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view text) { return find_text(text, wanted) != nullptr; });
}

}  // namespace

// JEMALLOC_VERSION is a string of its own: "5.3.0-1-ge13ca993e8...", as `git describe --long` gives it.
std::string jemalloc_version(const elf::ElfFile& file) {
  constexpr std::size_t kHash = 40;
  for (const std::string_view all : constant_data(file)) {
    for (std::size_t from = 0; from < all.size();) {
      const char* found = find_text(all.substr(from), "-g");
      if (found == nullptr) break;
      const auto at = static_cast<std::size_t>(found - all.data());
      from = at + 2;
      if (all.size() - from <= kHash || all[from + kHash] != '\0') continue;
      const auto hash = all.substr(from, kHash);
      if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) continue;
      std::size_t start = at;
      while (start > 0 && at - start < 32 && all[start - 1] != '\0') --start;
      const auto version = all.substr(start, at - start);
      if (std::string text = leading_version(version); std::count(text.begin(), text.end(), '.') == 2)
        return text;
    }
  }
  return {};
}

std::string glibc_version(const elf::ElfFile& file) {
  const auto banner = text_behind(file, "GNU C Library");
  constexpr std::string_view kWords = "release version ";
  const auto at = banner ? banner->find(kWords) : std::string_view::npos;
  return at == std::string_view::npos ? std::string() : leading_version(banner->substr(at + kWords.size()));
}

// mi_version() returns a constant: 209 for 2.0.9.
std::string mimalloc_version(const elf::ElfFile& file, const Symbols& symbols) {
  const NamedFunction* function = symbols.find("mi_version");
  if (function == nullptr) return {};
  auto code = file.bytes_from(function->address);
  constexpr std::uint8_t kEndbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (code.size() >= 4 && std::memcmp(code.data(), kEndbr, 4) == 0) code = code.subspan(4);
  std::uint32_t number = 0;
  if (code.size() < 6 || code[0] != std::byte{0xb8} || code[5] != std::byte{0xc3}) return {};
  std::memcpy(&number, code.data() + 1, sizeof number);
  if (number < 100 || number > 999) return {};
  return fmt::format("{}.{}.{}", number / 100, number / 10 % 10, number % 10);
}

std::string gperftools_version(const elf::ElfFile& file) {
  const auto version = text_behind(file, "gperftools ");
  return version ? leading_version(*version) : std::string();
}

bool holds_jemalloc_messages(const elf::ElfFile& file) {
  return holds(file, "<jem", "alloc>: %s: %.*s:%.*s\n");
}

bool holds_mimalloc_messages(const elf::ElfFile& file) {
  return holds(file, "mimal", "loc: error: ");
}

bool holds_tcmalloc_messages(const elf::ElfFile& file) {
  return holds(file, "FATAL ERROR: Out of memory trying to allocate internal tcmal", "loc data");
}

}  // namespace fathom::allocators
