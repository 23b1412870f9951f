#include "tools/stacks/core/core_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/arch/core_registers.h"
#include "base/arch/facts.h"

namespace fathom::stacks {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_note(std::string& out, std::uint32_t type, const std::string& body) {
  put(out, std::uint32_t{5});
  put(out, static_cast<std::uint32_t>(body.size()));
  put(out, type);
  out.append("CORE\0\0\0\0", 8);
  out += body;
  out.resize((out.size() + 3) & ~std::size_t{3});
}

std::string status(std::int32_t tid, std::uint16_t signal) {
  std::string body(arch::kStatusBytes, '\0');
  std::memcpy(body.data() + arch::kStatusSignal, &signal, sizeof(signal));
  std::memcpy(body.data() + arch::kStatusTid, &tid, sizeof(tid));
  return body;
}

// Two threads, one file, one range of memory whose second half is not stored.
std::string small_core() {
  std::string notes;
  put_note(notes, NT_PRSTATUS, status(12, 6));
  std::string info(136, '\0');
  const std::int32_t pid = 11;
  std::memcpy(info.data() + 24, &pid, sizeof(pid));
  std::memcpy(info.data() + 40, "server", 6);
  put_note(notes, NT_PRPSINFO, info);
  std::string files;
  for (const std::uint64_t word : {1ul, 4096ul, 0x1000ul, 0x3000ul, 2ul}) put(files, word);
  files += "/bin/server (deleted)";
  files += '\0';
  put_note(notes, NT_FILE, files);
  put_note(notes, NT_PRSTATUS, status(11, 0));

  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_CORE;
  head.e_machine = arch::kElfMachine;
  head.e_version = EV_CURRENT;
  head.e_phoff = sizeof(head);
  head.e_ehsize = sizeof(head);
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 2;
  Elf64_Phdr note{}, load{};
  note.p_type = PT_NOTE;
  note.p_offset = sizeof(head) + 2 * sizeof(Elf64_Phdr);
  note.p_filesz = notes.size();
  load.p_type = PT_LOAD;
  load.p_flags = PF_R | PF_X;
  load.p_vaddr = 0x1000;
  load.p_memsz = 0x2000;
  load.p_offset = note.p_offset + notes.size();
  load.p_filesz = 0x1000;
  std::string core;
  put(core, head);
  put(core, note);
  put(core, load);
  core += notes;
  core += std::string(0x1000, 'm');
  return core;
}

TEST(CoreFile, ReadsThreadsFilesAndMemory) {
  const std::string core = small_core();
  ASSERT_TRUE(CoreFile::recognize(bytes_of(core)));
  const auto file = CoreFile::parse(bytes_of(core), "core");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->program(), "server");
  EXPECT_EQ(file->pid(), 11);
  EXPECT_EQ(file->signal(), 6);
  ASSERT_THAT(file->threads(), SizeIs(2));
  EXPECT_EQ(file->threads()[0].tid, 12) << "the one that got the signal comes first";
  ASSERT_THAT(file->mappings(), SizeIs(1));
  const process::MapEntry& mapping = file->mappings()[0];
  EXPECT_EQ(mapping.path, "/bin/server");
  EXPECT_TRUE(mapping.deleted);
  EXPECT_TRUE(mapping.executable);
  EXPECT_EQ(mapping.offset.value, 0x2000u) << "in pages";
  EXPECT_THAT(file->memory(0x1ffe), ElementsAre(std::byte{'m'}, std::byte{'m'}));
  EXPECT_TRUE(file->memory(0x2000).empty()) << "mapped, and not stored";
  EXPECT_TRUE(file->memory(0xfff).empty());
  EXPECT_THAT(file->executable_ranges(),
              ElementsAre(std::pair<std::uint64_t, std::uint64_t>(0x1000, 0x3000)));
}

TEST(CoreFile, EveryPrefixIsReadOrRefused) {
  const std::string core = small_core();
  for (std::size_t size = 0; size < core.size(); size += size < 1500 ? 1 : 97) {
    const std::string prefix = core.substr(0, size);
    const auto file = CoreFile::parse(bytes_of(prefix), "core");
    if (!file) continue;
    EXPECT_FALSE(file->threads().empty());
    EXPECT_LE(file->memory(0x1000).size(), size);
  }
}

// gcore writes the threads behind the memory.
TEST(CoreFile, OneThatIsCutShortSaysWhatItShouldHave) {
  std::string core = small_core();
  const std::string whole = std::to_string(core.size());
  const auto file = CoreFile::parse(bytes_of(core), "core");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->whole_bytes(), core.size());
  core.resize(core.size() - 100);
  const auto shorter = CoreFile::parse(bytes_of(core), "core");
  ASSERT_TRUE(shorter);
  EXPECT_EQ(std::to_string(shorter->whole_bytes()), whole);
  Elf64_Phdr note;
  std::memcpy(&note, core.data() + sizeof(Elf64_Ehdr), sizeof(note));
  note.p_offset = core.size() + 5000;
  std::memcpy(core.data() + sizeof(Elf64_Ehdr), &note, sizeof(note));
  const auto refused = CoreFile::parse(bytes_of(core), "core");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("cut short: it has " + std::to_string(core.size()) + " of "));
  EXPECT_THAT(refused.error().remedy, testing::HasSubstr("ulimit -c"));
}

TEST(CoreFile, AnyByteMayBeAnother) {
  const std::string core = small_core();
  for (std::size_t at = 0; at < core.size() - 0x1000; ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string changed = core;
      changed[at] = value;
      const auto file = CoreFile::parse(bytes_of(changed), "core");
      if (!file) continue;
      (void)file->memory(0x1800);
      (void)file->build_id(0x1000);
    }
  }
}

TEST(CoreFile, AnotherFileIsNone) {
  std::string program = small_core();
  program[16] = ET_EXEC;
  EXPECT_FALSE(CoreFile::recognize(bytes_of(program)));
  EXPECT_FALSE(CoreFile::parse(bytes_of(program), "program"));
  std::string other = small_core();
  other[18] = EM_AARCH64;
  EXPECT_EQ(CoreFile::parse(bytes_of(other), "core").error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace fathom::stacks
