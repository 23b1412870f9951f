#include "linux/process/jit_dump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace fathom::process {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string head() {
  std::string out;
  for (const std::uint32_t word : {0x4A695444u, 1u, 40u, 62u, 0u, 7u}) put(out, word);
  put(out, std::uint64_t{1});
  put(out, std::uint64_t{0});
  return out;
}

std::string record(std::uint32_t id, const std::string& body) {
  std::string out;
  put(out, id);
  put(out, static_cast<std::uint32_t>(16 + body.size()));
  put(out, std::uint64_t{2});
  return out + body;
}

std::string load(std::uint64_t start, std::uint64_t size, const std::string& name, std::size_t code = 64) {
  std::string body;
  put(body, std::uint32_t{7});
  put(body, std::uint32_t{7});
  for (const std::uint64_t word : {start + 0x100000, start, size, std::uint64_t{1}}) put(body, word);
  return record(0, body + name + '\0' + std::string(code, '\xcc'));
}

std::string moved(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
  std::string body;
  put(body, std::uint32_t{7});
  put(body, std::uint32_t{7});
  for (const std::uint64_t word : {to, from, to, size, std::uint64_t{1}}) put(body, word);
  return record(1, body);
}

// In pieces of at most `piece`, as a file may be read.
std::vector<PerfMapEntry> parsed(const std::string& bytes, std::size_t piece = SIZE_MAX) {
  return parse_jit_dump([&](std::uint64_t offset, std::span<char> out) -> std::size_t {
    if (offset >= bytes.size()) return 0;
    const std::size_t count = std::min({out.size(), piece, bytes.size() - static_cast<std::size_t>(offset)});
    std::memcpy(out.data(), bytes.data() + offset, count);
    return count;
  });
}

TEST(JitDump, NamesThatWereLoaded) {
  const std::string bytes = head() + load(0x1000, 0x20, "JS:*add /app/x.js:1:2") +
                            record(2, std::string(40, 'd')) + load(0x2000, 8, "f") + record(3, "");
  EXPECT_TRUE(is_jit_dump(bytes));
  const std::vector<PerfMapEntry> expected{{{0x1000}, 0x20, "JS:*add /app/x.js:1:2"}, {{0x2000}, 8, "f"}};
  EXPECT_EQ(parsed(bytes), expected);
  EXPECT_EQ(parsed(bytes, 3), expected) << "in small pieces";
}

TEST(JitDump, CodeThatMovedIsFoundWhereItIs) {
  EXPECT_EQ(parsed(head() + load(0x1000, 0x20, "f") + moved(0x1000, 0x5000, 0x20) + load(0x1000, 0x10, "g")),
            (std::vector<PerfMapEntry>{{{0x1000}, 0x10, "g"}, {{0x5000}, 0x20, "f"}}));
  EXPECT_TRUE(parsed(head() + moved(0x1000, 0x5000, 0x20)).empty());
  EXPECT_TRUE(parsed(head() + load(0x1000, 0x20, "f") + moved(0x1000, UINT64_MAX, 0x20)).empty());
}

TEST(JitDump, LaterCodeReplacesWhatItOverlaps) {
  EXPECT_EQ(parsed(head() + load(0x1000, 0x100, "freed") + load(0x1080, 0x100, "new")),
            (std::vector<PerfMapEntry>{{{0x1080}, 0x100, "new"}}));
}

// The code of a large function is longer than what is read at once.
TEST(JitDump, CodeIsNotRead) {
  EXPECT_EQ(parsed(head() + load(0x1000, 1 << 20, "large", 1 << 20) + load(0x900000, 8, "next")).size(), 2u);
}

TEST(JitDump, EveryPrefixIsReadAsFarAsItGoes) {
  const std::string bytes = head() + load(0x1000, 0x20, "first") + load(0x2000, 0x20, "second");
  std::size_t most = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::size_t count = parsed(bytes.substr(0, size)).size();
    EXPECT_GE(count, most);
    most = count;
  }
  EXPECT_EQ(most, 2u);
}

TEST(JitDump, RecordsThatCannotBeEndIt) {
  std::string bad = load(0x2000, 0x20, "bad");
  bad[4] = 3;  // shorter than its own head
  bad[5] = bad[6] = bad[7] = 0;
  EXPECT_EQ(parsed(head() + load(0x1000, 0x20, "good") + bad + load(0x3000, 8, "behind")).size(), 1u);
  EXPECT_TRUE(
      parsed(head() + load(0x1000, 0, "empty") + load(UINT64_MAX, 2, "around the end") + load(0x1000, 8, ""))
          .empty());
  std::string other = head();
  std::swap(other[0], other[3]);
  EXPECT_TRUE(parsed(other + load(0x1000, 8, "f")).empty());
}

TEST(JitDump, IsFoundByItsMapping) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("fathom-jit-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / ("jit-" + std::to_string(::getpid()) + ".dump");
  std::ofstream(path, std::ios::binary) << head() << load(0x1000, 0x20, "f") << std::string(4096, '\0');
  EXPECT_FALSE(read_perf_map(::getpid())) << "nobody said that this file is one";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto entries = read_perf_map(::getpid());
  ::munmap(mapped, 4096);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(*entries, (std::vector<PerfMapEntry>{{{0x1000}, 0x20, "f"}}));
}

}  // namespace
}  // namespace fathom::process
