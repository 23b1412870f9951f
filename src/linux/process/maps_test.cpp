#include "linux/process/maps.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace fathom::process {
namespace {

MapEntry only(std::string_view line) {
  auto entries = parse_maps(line);
  EXPECT_TRUE(entries.has_value()) << line;
  return entries && entries->size() == 1 ? entries->front() : MapEntry{};
}

TEST(Maps, AllFieldsOfAFileMapping) {
  const MapEntry entry = only(
      "55e7b1a00000-55e7b1c3f000 r-xp 0004a000 fe:12 1835213                    /usr/bin/redis-server\n");
  EXPECT_EQ(entry, (MapEntry{.start = {0x55e7b1a00000},
                             .end = {0x55e7b1c3f000},
                             .readable = true,
                             .writable = false,
                             .executable = true,
                             .shared = false,
                             .offset = {0x4a000},
                             .device_major = 0xfe,
                             .device_minor = 0x12,
                             .inode = 1835213,
                             .path = "/usr/bin/redis-server"}));
  EXPECT_TRUE(entry.is_file());
}

TEST(Maps, PathKeepsItsBlanks) {
  EXPECT_EQ(only("1000-2000 r--p 00000000 08:01 7     /opt/my app/lib  x.so").path, "/opt/my app/lib  x.so");
}

TEST(Maps, DeletedFileKeepsItsNameAndIsMarked) {
  const MapEntry entry = only("1000-2000 r-xp 00000000 08:01 7   /opt/a b.so (deleted)\n");
  EXPECT_EQ(entry.path, "/opt/a b.so");
  EXPECT_TRUE(entry.deleted);
}

TEST(Maps, NewlineInAPathIsTurnedBack) {
  EXPECT_EQ(only("1000-2000 r-xp 00000000 08:01 7   /opt/two\\012lines.so\n").path, "/opt/two\nlines.so");
}

TEST(Maps, PseudoMappingsAreNoFiles) {
  for (const char* name : {"[vdso]", "[heap]", "[stack]", "[vvar]", "[anon:jit code]", "[uprobes]"}) {
    const MapEntry entry =
        only("7ffc1000-7ffc3000 r-xp 00000000 00:00 0          " + std::string(name) + "\n");
    EXPECT_EQ(entry.path, name);
    EXPECT_FALSE(entry.is_file());
    EXPECT_FALSE(entry.deleted);
  }
}

TEST(Maps, MemfdIsAFileThatCanOnlyBeOpenedThroughMapFiles) {
  const MapEntry entry = only("7f00-8f00 rwxs 00001000 00:01 4242      /memfd:doublemapper (deleted)\n");
  EXPECT_EQ(entry.path, "/memfd:doublemapper");
  EXPECT_TRUE(entry.is_file() && entry.deleted && entry.shared);
  EXPECT_EQ(map_files_path(12, entry), "/proc/12/map_files/7f00-8f00");
}

TEST(Maps, AnonymousMappingHasNoPath) {
  EXPECT_EQ(only("7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n").path, "");
}

TEST(Maps, VsyscallAtTheTopOfTheAddressSpaceIsReadWhole) {
  EXPECT_EQ(only("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n").start.value,
            0xffffffffff600000u);
}

TEST(Maps, BadLineIsNamedByItsNumber) {
  const auto entries = parse_maps("1000-2000 r-xp 00000000 08:01 7 /a\n2000-1000 r-xp 00000000 08:01 7 /a\n");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().kind, ErrorKind::kMalformed);
  EXPECT_EQ(entries.error().message, "line 2 is not a mapping");
}

TEST(Maps, EveryPrefixOfALineIsReadOrRefused) {
  const std::string line = "1000-2000 r-xp 00000000 08:01 7 /a (deleted)\n";
  for (std::size_t n = 0; n <= line.size(); ++n) {
    const auto entries = parse_maps(std::string_view(line).substr(0, n));
    if (n == 0)
      EXPECT_TRUE(entries->empty());
    else if (n < 31)  // up to the inode
      EXPECT_FALSE(entries) << n;
    else
      EXPECT_EQ(entries->size(), 1u) << n;
  }
}

TEST(Maps, OwnProcessHasItsExecutableMapped) {
  const auto entries = read_maps(::getpid());
  ASSERT_TRUE(entries);
  EXPECT_TRUE(std::is_sorted(entries->begin(), entries->end(),
                             [](const auto& a, const auto& b) { return a.start < b.start; }));
  const auto self = reinterpret_cast<std::uint64_t>(&map_files_path);
  const auto found = std::find_if(entries->begin(), entries->end(), [&](const MapEntry& entry) {
    return entry.start.value <= self && self < entry.end.value;
  });
  ASSERT_NE(found, entries->end());
  EXPECT_TRUE(found->executable && found->is_file());
  EXPECT_TRUE(found->path.ends_with("linux_process_test")) << found->path;
}

TEST(Maps, ZombieHasNoMappingsAndAGoneProcessIsNotFound) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto zombie = read_maps(child);
  ASSERT_TRUE(zombie);
  EXPECT_TRUE(zombie->empty());
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto gone = read_maps(child);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::process
