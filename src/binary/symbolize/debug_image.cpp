#include "binary/symbolize/debug_image.h"

#include <elf.h>

#include <cstring>

#include "base/stable_sort.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kAlignment = 8;

std::size_t aligned(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

DebugImage make_debug_image(std::uint16_t machine, std::vector<DebugSection> sections) {
  stable_sort_rows(sections, {}, &DebugSection::name);
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  std::vector<std::string> of_header(1);
  std::size_t end = sizeof(Elf64_Ehdr);
  for (const DebugSection& section : sections) {
    if (section.name != of_header.back()) {
      end = aligned(end);
      Elf64_Shdr header{};
      header.sh_name = static_cast<Elf64_Word>(names.size());
      header.sh_type = SHT_PROGBITS;
      header.sh_offset = end;
      header.sh_addralign = 1;
      names.append(section.name).push_back('\0');
      headers.push_back(header);
      of_header.push_back(section.name);
    }
    headers.back().sh_size += section.bytes.size();
    end += section.bytes.size();
  }
  Elf64_Shdr of_names{};
  of_names.sh_type = SHT_STRTAB;
  of_names.sh_offset = end;
  of_names.sh_size = names.size();
  of_names.sh_addralign = 1;
  headers.push_back(of_names);
  const std::size_t table = aligned(end + names.size());

  DebugImage image;
  image.bytes.resize(table + headers.size() * sizeof(Elf64_Shdr));
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_type = ET_DYN;
  elf.e_machine = machine;
  elf.e_version = EV_CURRENT;
  elf.e_ehsize = sizeof(Elf64_Ehdr);
  elf.e_shoff = table;
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<Elf64_Half>(headers.size());
  elf.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::memcpy(image.bytes.data(), &elf, sizeof(elf));
  std::memcpy(image.bytes.data() + of_names.sh_offset, names.data(), names.size());
  std::memcpy(image.bytes.data() + table, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  std::size_t next = 0;
  for (std::size_t i = 1; i + 1 < headers.size(); ++i) {
    std::size_t at = headers[i].sh_offset;
    for (; next < sections.size() && sections[next].name == of_header[i]; ++next) {
      const auto bytes = sections[next].bytes;
      if (!bytes.empty()) std::memcpy(image.bytes.data() + at, bytes.data(), bytes.size());
      at += bytes.size();
    }
    image.sections.push_back(
        {of_header[i],
         std::span<const std::byte>(image.bytes).subspan(headers[i].sh_offset, headers[i].sh_size)});
  }
  return image;
}

}  // namespace fathom::symbolize
