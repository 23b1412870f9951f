// For tests only: small ELF files made by hand. Blobs are stored once; a segment and a section may both show
// the same.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::elf::testing {

using Bytes = std::vector<std::byte>;

inline void append(Bytes& out, const void* data, std::size_t size) {
  // One by one: of insert() g++ 12 says that it writes past the end.
  const auto* bytes = static_cast<const std::byte*>(data);
  out.reserve(out.size() + size);
  for (std::size_t i = 0; i < size; ++i) out.push_back(bytes[i]);
}
template <class T>
void put(Bytes& out, T value) {
  append(out, &value, sizeof value);
}
inline void put_text(Bytes& out, std::string_view text) {
  append(out, text.data(), text.size());
}

inline Bytes note(std::string_view name_with_nul, std::uint32_t type,
                  std::span<const std::byte> description) {
  Bytes out;
  put(out, static_cast<std::uint32_t>(name_with_nul.size()));
  put(out, static_cast<std::uint32_t>(description.size()));
  put(out, type);
  put_text(out, name_with_nul);
  out.resize((out.size() + 3) / 4 * 4);
  append(out, description.data(), description.size());
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

inline Bytes symbol_entry(std::uint32_t name, std::uint8_t type, std::uint16_t section, std::uint64_t address,
                          std::uint64_t size) {
  Bytes out;
  put(out, Elf64_Sym{name, static_cast<unsigned char>(STB_GLOBAL << 4 | type), 0, section, address, size});
  return out;
}

class ElfBuilder {
 public:
  explicit ElfBuilder(std::uint16_t type = ET_DYN) : type_(type) {}

  std::size_t blob(Bytes bytes) {
    blobs_.push_back(std::move(bytes));
    return blobs_.size() - 1;
  }
  void segment(std::uint32_t type, std::uint32_t flags, std::uint64_t address, std::size_t blob_index) {
    segments_.push_back({type, flags, address, blob_index});
  }
  void section(std::string name, std::uint32_t type, std::uint64_t flags, std::uint64_t address,
               std::size_t blob_index, std::uint32_t link = 0, std::uint64_t entry_size = 0) {
    sections_.push_back({std::move(name), type, flags, address, blob_index, link, entry_size});
  }
  void without_section_headers() { with_sections_ = false; }

  Bytes build() const {
    Bytes out(sizeof(Elf64_Ehdr) + segments_.size() * sizeof(Elf64_Phdr));
    std::vector<std::uint64_t> offsets;
    const auto store = [&](const Bytes& bytes) {
      out.resize((out.size() + 15) / 16 * 16);
      const std::uint64_t at = out.size();
      append(out, bytes.data(), bytes.size());
      return at;
    };
    for (const Bytes& each : blobs_) offsets.push_back(store(each));

    Bytes names(1);
    std::vector<Elf64_Shdr> headers(1);
    for (const auto& each : sections_) {
      Elf64_Shdr header{};
      header.sh_name = static_cast<std::uint32_t>(names.size());
      put_text(names, each.name);
      names.push_back({});
      header.sh_type = each.type;
      header.sh_flags = each.flags;
      header.sh_addr = each.address;
      header.sh_offset = offsets[each.blob];
      header.sh_size = blobs_[each.blob].size();
      header.sh_link = each.link;
      header.sh_entsize = each.entry_size;
      header.sh_addralign = 4;
      headers.push_back(header);
    }
    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.e_type = type_;
    elf.e_machine = EM_X86_64;
    elf.e_phoff = sizeof(Elf64_Ehdr);
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phnum = static_cast<Elf64_Half>(segments_.size());
    elf.e_shentsize = sizeof(Elf64_Shdr);
    if (with_sections_) {
      Elf64_Shdr header{};
      header.sh_type = SHT_STRTAB;
      header.sh_offset = store(names);
      header.sh_size = names.size();
      headers.push_back(header);
      Bytes table;
      append(table, headers.data(), headers.size() * sizeof(Elf64_Shdr));
      elf.e_shoff = store(table);
      elf.e_shnum = static_cast<Elf64_Half>(headers.size());
      elf.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
    }
    std::memcpy(out.data(), &elf, sizeof elf);
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const auto& each = segments_[i];
      const std::uint64_t size = blobs_[each.blob].size();
      const Elf64_Phdr header{each.type, each.flags, offsets[each.blob], each.address, each.address, size,
                              size,      4};
      std::memcpy(out.data() + sizeof(Elf64_Ehdr) + i * sizeof header, &header, sizeof header);
    }
    return out;
  }

 private:
  struct SegmentSpec {
    std::uint32_t type, flags;
    std::uint64_t address;
    std::size_t blob;
  };
  struct SectionSpec {
    std::string name;
    std::uint32_t type;
    std::uint64_t flags, address;
    std::size_t blob;
    std::uint32_t link;
    std::uint64_t entry_size;
  };
  std::uint16_t type_;
  bool with_sections_ = true;
  std::vector<Bytes> blobs_;
  std::vector<SegmentSpec> segments_;
  std::vector<SectionSpec> sections_;
};

}  // namespace fathom::elf::testing
