#include "formats/bytehound/bytehound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <span>

#include "binary/elf/elf_file.h"
#include "binary/elf/testing_elf.h"
#include "formats/bytehound/lz4_block.h"
#include "formats/import/import_testing.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using namespace std::string_literals;

// Writes the format by its published layouts; knows nothing of the reader.
class Writer {
 public:
  template <typename T>
  Writer& n(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& u32(std::uint32_t value) { return n(value); }
  Writer& u64(std::uint64_t value) { return n(value); }
  Writer& text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  // As many leading ones as bytes follow; the highest bits in the first one.
  Writer& variable(std::uint64_t value) {
    int more = 0;
    while (more < 8 && (value >> (7 * more + 7)) != 0) ++more;
    const std::uint64_t ones = (0xff00u >> more) & 0xff;
    bytes_.push_back(static_cast<char>(more == 8 ? 0xff : ones | value >> (8 * more)));
    for (int i = 0; i < more; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }

  Writer& header() {
    return u32(0)
        .u64(77)
        .u64(78)
        .u64(1'000'000)
        .u64(1'500'000)
        .u64(1'700'000'000)
        .u64(250'000'000)
        .u32(42)
        .text("./ledger\0-v\0"s)
        .text("/opt/ledger")
        .text("x86_64")
        .u64(1)
        .n(std::uint8_t{8});
  }
  Writer& maps(std::string_view lines) { return u32(4).u64(1'000'000).text("/proc/self/maps").text(lines); }
  Writer& file64(std::string_view path, std::string_view contents) {
    u32(23).u64(1'000'000).text(path).u64(contents.size());
    bytes_.append(contents);
    return *this;
  }
  Writer& environment(std::string_view entry) { return u32(11).text(entry); }
  Writer& list(std::initializer_list<std::uint64_t> addresses) {
    u32(static_cast<std::uint32_t>(addresses.size()));
    for (const std::uint64_t address : addresses) u64(address);
    return *this;
  }
  Writer& list32(std::initializer_list<std::uint32_t> addresses) {
    u32(static_cast<std::uint32_t>(addresses.size()));
    for (const std::uint32_t address : addresses) u32(address);
    return *this;
  }
  Writer& backtrace(std::uint64_t id, std::initializer_list<std::uint64_t> addresses) {
    return u32(5).u64(id).list(addresses);
  }
  Writer& part(std::uint64_t id, std::uint32_t invalidated, std::initializer_list<std::uint64_t> addresses) {
    return u32(13).u64(id).u32(7).u32(invalidated).list(addresses);
  }
  Writer& body(std::uint64_t pointer, std::uint64_t size, std::uint64_t backtrace, std::uint32_t thread = 7) {
    return u64(pointer).u64(size).u64(backtrace).u32(thread).u32(1u << 31).u32(8).u64(0);
  }
  Writer& alloc(std::uint64_t us, std::uint64_t pointer, std::uint64_t size, std::uint64_t backtrace,
                std::uint32_t thread = 7) {
    return u32(1).u64(1'000'000 + us).body(pointer, size, backtrace, thread);
  }
  Writer& realloc(std::uint64_t us, std::uint64_t old, std::uint64_t pointer, std::uint64_t size,
                  std::uint64_t backtrace) {
    return u32(2).u64(1'000'000 + us).u64(old).body(pointer, size, backtrace);
  }
  Writer& free(std::uint64_t us, std::uint64_t pointer) {
    return u32(3).u64(1'000'000 + us).u64(pointer).u64(0).u32(7);
  }
  Writer& alloc_ex(std::uint64_t counter, std::uint64_t us, std::uint64_t pointer, std::uint64_t size,
                   std::uint64_t backtrace) {
    return u32(20).u64(1).u64(counter).u64(1'000'000 + us).body(pointer, size, backtrace);
  }
  Writer& free_ex(std::uint64_t counter, std::uint64_t us, std::uint64_t pointer) {
    return u32(22).u64(1).u64(counter).u64(1'000'000 + us).u64(pointer).u64(0).u32(7);
  }
  const std::string& bytes() const { return bytes_; }
  // In blocks of `size` bytes that hold literals only; kind 2: not packed.
  std::string file(std::size_t size = 512 * 1024, char kind = 1) const {
    std::string all;
    for (std::size_t at = 0; at < bytes_.size(); at += size) {
      const std::string piece = bytes_.substr(at, size);
      std::string block;
      if (kind == 1) {
        block.push_back(static_cast<char>(std::min<std::size_t>(piece.size(), 15) << 4));
        if (piece.size() >= 15) {
          std::size_t left = piece.size() - 15;
          for (; left >= 255; left -= 255) block.push_back('\xff');
          block.push_back(static_cast<char>(left));
        }
      }
      block += piece;
      const auto length = static_cast<std::uint32_t>(block.size());
      all.push_back(kind);
      all.append(reinterpret_cast<const char*>(&length), 4);
      all += block;
    }
    return all;
  }

 private:
  std::string bytes_;
};

constexpr std::string_view kMaps =
    "555500000000-555500004000 r-xp 00000000 08:01 11 /opt/ledger\n"
    "7f0000000000-7f0000010000 r-xp 00001000 08:01 12 /lib/libbytehound.so\n";

// Two blocks of main, one of which comes and goes; a third that grows. The innermost frame is the tool's.
Writer ledger() {
  Writer file;
  file.header().environment("SECRET=hunter2").maps(kMaps);
  file.backtrace(1, {0x7f0000000101, 0x555500001001});
  file.backtrace(2, {0x7f0000000101, 0x555500002001, 0x555500001001});
  file.alloc(0, 0xa0, 16, 1).alloc(1'000'000, 0xb0, 256, 2).free(2'000'000, 0xb0);
  file.alloc(3'000'000, 0xc0, 32, 2).realloc(4'000'000, 0xc0, 0xd0, 64, 2);
  return file;
}

model::Profile read(const std::string& file) {
  Result<model::Profile> profile = read_bytehound(file, "x.dat");
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? std::move(*profile) : model::Profile();
}

TEST(Bytehound, IsKnownByItsHeader) {
  EXPECT_TRUE(is_bytehound(ledger().file()));
  EXPECT_TRUE(is_bytehound(ledger().file(512 * 1024, 2)));
  EXPECT_FALSE(is_bytehound(Writer().u32(1).text(std::string(100, '\1')).file()));
  EXPECT_FALSE(is_bytehound("\1\x40\0\0\0"s + std::string(64, '\x17')));
  EXPECT_FALSE(is_bytehound(""));
}

TEST(Bytehound, EveryCallIsCountedWithItsThread) {
  const model::Profile profile = read(ledger().file());
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocations), 4);
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocated), 16 + 256 + 32 + 64);
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), 16 + 64);
  EXPECT_EQ(profile.heap.heaps[0].peak_bytes, 16 + 256);
  EXPECT_EQ(profile.heap.heaps[0].peak_ns - profile.meta.start_ns, 1'000'000'000u);
  EXPECT_DOUBLE_EQ(profile.duration_s(), 4);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].tid, 7);
  EXPECT_EQ(total_of(profile, Metric::kHeapTemporary), 2) << "and the one that grew at once";
}

TEST(Bytehound, ThreadsAreToldApart) {
  Writer file;
  file.header().backtrace(1, {0x101}).alloc(0, 0xa0, 16, 1, 7).alloc(1, 0xb0, 48, 1, 8);
  EXPECT_THAT(
      stacks_of(read(file.file()), Metric::kHeapLive),
      testing::UnorderedElementsAre("[thread 7];[unknown+0x100] 16", "[thread 8];[unknown+0x100] 48"));
}

TEST(Bytehound, TheProgramIsKeptAndItsEnvironmentIsNot) {
  const model::Profile profile = read(ledger().file());
  EXPECT_EQ(profile.processes[0].pid, 42);
  EXPECT_EQ(profile.strings[profile.processes[0].executable], "/opt/ledger");
  EXPECT_EQ(profile.meta.facts.at("command"), "./ledger -v");
  EXPECT_EQ(profile.meta.start_unix_ns, 1'699'999'999'750'000'000u);
  for (std::uint32_t i = 0; i < profile.strings.size(); ++i)
    EXPECT_THAT(std::string(profile.strings[model::StringId{i}]), Not(HasSubstr("hunter2")));
}

TEST(Bytehound, TheFramesOfTheToolAreLeftOut) {
  for (const std::string& stack : stacks_of(read(ledger().file()), Metric::kHeapLive))
    EXPECT_THAT(stack, Not(HasSubstr("bytehound")));
}

TEST(Bytehound, BlocksOfAnySizeAreOneStreamOfEvents) {
  const auto expected = stacks_of(read(ledger().file()), Metric::kHeapAllocated);
  for (const std::size_t size : {1u, 3u, 7u, 64u, 1000u})
    EXPECT_EQ(stacks_of(read(ledger().file(size)), Metric::kHeapAllocated), expected) << size;
  EXPECT_EQ(stacks_of(read(ledger().file(100, 2)), Metric::kHeapAllocated), expected) << "not packed";
}

// A part takes the place of the innermost frames of the thread's last stack.
TEST(Bytehound, PartsOfBacktracesContinueThoseBefore) {
  Writer whole, parts;
  whole.header()
      .backtrace(1, {0x301, 0x201, 0x101})
      .backtrace(2, {0x501, 0x401, 0x201, 0x101})
      .backtrace(3, {0x101});
  parts.header().part(1, UINT32_MAX, {0x301, 0x201, 0x101}).part(2, 1, {0x501, 0x401}).part(3, 3, {});
  for (Writer* file : {&whole, &parts})
    for (std::uint64_t id = 1; id <= 3; ++id) file->alloc(id, 0x10 * id, 100 * id, id);
  const auto stacks = stacks_of(read(whole.file()), Metric::kHeapLive);
  EXPECT_EQ(stacks, stacks_of(read(parts.file()), Metric::kHeapLive));
  EXPECT_EQ(stacks.size(), 3u);
  Writer small;
  small.header().u32(18).u64(1).u32(7).u32(UINT32_MAX).list32({0x301, 0x201, 0x101});
  small.u32(18).u64(2).u32(7).u32(1).list32({0x501, 0x401}).u32(19).u64(3).list32({0x101});
  for (std::uint64_t id = 1; id <= 3; ++id) small.alloc(id, 0x10 * id, 100 * id, id);
  EXPECT_EQ(stacks_of(read(small.file()), Metric::kHeapLive), stacks) << "of a program of 32 bits";
}

// A number of its own finds a block whose address was handed out again before its end was written down.
TEST(Bytehound, BlocksAreFoundByTheirNumbers) {
  Writer file;
  file.header().backtrace(1, {0x101}).backtrace(2, {0x201});
  file.alloc_ex(1, 0, 0xa0, 16, 1).alloc_ex(2, 1, 0xa0, 48, 2).free_ex(1, 2, 0xa0);
  file.u32(21).u64(1).u64(2).u64(1'000'003).u64(0xa0).body(0xf0, 96, 2);
  const model::Profile profile = read(file.file());
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), 96);
  EXPECT_EQ(total_of(profile, Metric::kHeapAllocations), 3);
  EXPECT_EQ(profile.heap.heaps[0].unseen_frees, 0u);
}

// The kinds that were added last have numbers of variable length.
TEST(Bytehound, RegionsAreSkippedToTheByte) {
  Writer file;
  file.header();
  for (const std::uint64_t value :
       {0ull, 127ull, 128ull, 16383ull, 16384ull, 1ull << 34, 1ull << 48, 1ull << 56, ~0ull}) {
    file.u32(24).u64(1'000'000).variable(value).u64(0x1000).variable(value).variable(value).variable(value);
    file.u32(8).u32(1).u32(1).variable(4).n<char>('a').n<char>('b').n<char>('c').n<char>('d');
    file.u32(25).u64(1'000'000).variable(value).u64(0x1000).variable(value).variable(2);
    for (int i = 0; i < 2; ++i) file.u64(0x1000).variable(value).u64(1'000'000).variable(value).u32(7);
    file.u32(26).u64(1'000'000).variable(value).u64(0x1000).variable(value);
    for (int i = 0; i < 6; ++i) file.variable(value);
    file.u32(27).variable(value).u64(0x1000).variable(value).variable(value).u32(3).u32(2).u32(1).variable(
        value);
    file.u64(1'000'000).variable(value).u32(7);
  }
  file.u32(7).u32(9);                                                                 // a marker
  file.u32(6).u64(1).u64(2).text("xy");                                               // a dump of memory
  file.u32(8).u64(1).u64(1).u64(1).u64(1).u64(1).u32(1).u32(1).u32(1).u32(1).u64(1);  // mmap
  file.u32(9).u64(1).u64(1).u64(1).u64(1).u32(1);                                     // munmap
  file.u32(10).u64(1).u64(1).u32(1).u32(1).u32(1).u32(1);                             // mallopt
  file.u32(12).u64(1).u64(1).u64(1);                                                  // the clock
  file.alloc(5, 0xa0, 123, 0);
  const model::Profile profile = read(file.file());
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), 123);
  EXPECT_THAT(profile.quality.notes, Contains("10 mappings of memory (mmap) are left out."));
  EXPECT_THAT(profile.quality.notes, Contains("1 allocations have no stack in the file."));
}

// As bytehound's own "postprocess" writes them: names instead of addresses.
TEST(Bytehound, DecodedFramesKeepTheirNames) {
  Writer file;
  file.header().u32(14).u32(0).text("/opt/ledger").u32(14).u32(1).text("main").u32(14).u32(2).text("keep");
  file.u32(14).u32(3).text("src/book.c");
  const auto frame = [&](std::uint32_t function, std::uint32_t line) {
    file.u32(15).u64(0x1000).u32(0).u32(UINT32_MAX).u32(function).u32(3).u32(line).u32(UINT32_MAX).n<char>(0);
  };
  frame(1, 10);
  frame(2, 20);
  file.u32(16).list32({1, 0}).alloc(0, 0xa0, 16, 0);
  file.u32(17).u64(0).u64(1).u64(2).u64(5).u64(500).u64(100).u64(100);
  const model::Profile profile = read(file.file());
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("[thread 7];main;keep 16"));
  EXPECT_EQ(profile.lines[0].line, 10u);
  EXPECT_THAT(profile.quality.notes,
              Contains(HasSubstr("5 blocks of 500 bytes, which were freed, had been stripped")));
}

// Of this very test: mapped as the kernel maps it, and named from what the file holds alone.
TEST(Bytehound, ProgramsInTheFileNamePlacesAndTellTheirBuildIds) {
  std::string contents;
  {
    std::FILE* self = std::fopen("/proc/self/exe", "rb");
    ASSERT_NE(self, nullptr);
    char buffer[65536];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, self)) != 0;)
      contents.append(buffer, got);
    std::fclose(self);
  }
  const auto elf = elf::ElfFile::parse(std::as_bytes(std::span(contents)), "self");
  ASSERT_TRUE(elf);
  std::uint64_t address = 0, main_size = 0;
  for (const elf::Symbol& symbol : elf->symbols(elf::SymbolTable::kSymtab))
    if (symbol.name == "main") address = symbol.address.value, main_size = symbol.size;
  ASSERT_NE(address, 0u);
  ASSERT_NE(main_size, 0u);
  const auto offset = elf->offset_of(ElfAddress{address});
  ASSERT_TRUE(offset);
  const std::uint64_t first_page = offset->value & ~std::uint64_t{0xfff};
  char line[200];
  std::snprintf(line, sizeof line, "555500000000-555540000000 r-xp %08lx 08:01 11 /opt/ledger\n", first_page);
  Writer file;
  file.header().maps(line).file64("/opt/ledger", contents);
  file.backtrace(1, {0x555500000000 + (offset->value - first_page) + 1}).alloc(0, 0xa0, 16, 1);
  const model::Profile profile = read(file.file());
  EXPECT_THAT(stacks_of(profile, Metric::kHeapLive), ElementsAre("[thread 7];main 16"));
  bool found = false;
  for (const model::Frame& frame : profile.frames)
    found |= frame.address.value == address &&
             std::string(profile.strings[profile.modules[frame.module.value].build_id]) == elf->identity();
  EXPECT_TRUE(found);
}

// A thousand functions that share a name of 64 KiB would take a thousand times the file.
TEST(Bytehound, NamesOfAProgramTakeNoMoreRoomThanItsFileExplains) {
  constexpr std::uint32_t kFunctions = 1000;
  elf::testing::Bytes symbols(sizeof(Elf64_Sym)), names(1), code(kFunctions * 16);
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    const auto entry = elf::testing::symbol_entry(1, STT_FUNC, 1, 0x1000 + i * 16, 16);
    elf::testing::append(symbols, entry.data(), entry.size());
  }
  elf::testing::put_text(names, std::string(64 * 1024, 'f') + '\0');
  elf::testing::ElfBuilder builder;
  builder.section(".symtab", SHT_SYMTAB, 0, 0, builder.blob(symbols), 2, sizeof(Elf64_Sym));
  builder.section(".strtab", SHT_STRTAB, 0, 0, builder.blob(names));
  const auto bytes = builder.build();
  const std::string contents(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Writer file;
  file.header().maps("1000-9000 r-xp 00001000 08:01 11 /opt/ledger\n").file64("/opt/ledger", contents);
  file.backtrace(1, {0x1001})
      .backtrace(2, {0x1000 + 900 * 16 + 1})
      .alloc(0, 0xa0, 16, 1)
      .alloc(0, 0xb0, 16, 2);
  const auto stacks = stacks_of(read(file.file()), Metric::kHeapLive);
  EXPECT_THAT(stacks, Contains(HasSubstr("fff")));
  EXPECT_THAT(stacks, Contains(Not(HasSubstr("fff"))));
}

TEST(Bytehound, AKindThatNobodyKnowsEndsTheReadingAndIsSaid) {
  Writer file = ledger();
  file.u32(28).u64(1).u64(2);
  const model::Profile profile = read(file.file());
  EXPECT_EQ(total_of(profile, Metric::kHeapLive), 80);
  EXPECT_THAT(profile.quality.notes,
              Contains(HasSubstr("After 10 events there is one of kind 28, which is not known")));
}

TEST(Bytehound, AFileThatWasCutIsReadUpToThere) {
  const std::string file = ledger().file(40);
  std::size_t read_ones = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto profile = read_bytehound(file.substr(0, size), "x.dat");
    if (!profile) {
      EXPECT_EQ(profile.error().message, "x.dat: this does not begin with a header of bytehound");
      continue;
    }
    ++read_ones;
    EXPECT_LE(total_of(*profile, Metric::kHeapAllocated), 368);
  }
  EXPECT_GT(read_ones, 300u);
  EXPECT_THAT(read(file.substr(0, file.size() - 1)).quality.notes,
              Contains("The file ends within an event: it was cut short after 9 events."));
  EXPECT_THAT(read(file + "\3").quality.notes, Contains(HasSubstr("After 10 events the file is damaged")));
}

TEST(Bytehound, SizesThatNoMemoryHasAreRefused) {
  Writer file;
  file.header().alloc(0, 1, std::uint64_t{1} << 62, 0).alloc(0, 2, std::uint64_t{1} << 62, 0);
  EXPECT_EQ(read_bytehound(file.file(), "x.dat").error().message,
            "x.dat: event 3: more was allocated than there is");
}

TEST(Lz4Block, UnpacksWhatTheToolOfLz4Packs) {
  std::string expected;
  for (int i = 0; i < 30; ++i) expected += "page " + std::to_string(i % 7) + " of the ledger\n";
  expected += std::string(600, 'z');
  // lz4 -1, without its frame.
  const std::string block =
      "\361\006\160\141\147\145\040\060\040\157\146\040\164\150\145\040\154\145\144\147\145\162\012\025\000"
      "\037\061\025\000\001\037\062\025\000\001\037\063\025\000\001\037\064\025\000\001\037\065\025\000\001"
      "\037\066\025\000\001\017\223\000\377\314\037\172\001\000\377\377\101\120\172\172\172\172\172"s;
  std::string out;
  EXPECT_TRUE(unpack_lz4_block(block, 1 << 20, out));
  EXPECT_EQ(out, expected);
  for (std::size_t most = 0; most < expected.size(); ++most) {
    out.clear();
    EXPECT_TRUE(unpack_lz4_block(block, most, out));
    EXPECT_EQ(out, expected.substr(0, most));
  }
  for (std::size_t size = 1; size < block.size(); ++size) {
    out.clear();
    (void)unpack_lz4_block(std::string_view(block).substr(0, size), 1 << 20, out);
    EXPECT_TRUE(expected.starts_with(out));
  }
}

TEST(Lz4Block, MatchesBeforeTheBlockAreDamage) {
  std::string out = "before";
  EXPECT_FALSE(unpack_lz4_block("\x10"s + "a" + "\x02\x00"s + "\x00"s, 100, out));
  EXPECT_EQ(out, "beforea");
  EXPECT_FALSE(unpack_lz4_block("\x10"s + "a" + "\x00\x00"s + "\x00"s, 100, out)) << "no distance";
  EXPECT_FALSE(unpack_lz4_block("\xf0\xff\xff"s, 100, out)) << "a length without an end";
}

}  // namespace
}  // namespace fathom::formats
