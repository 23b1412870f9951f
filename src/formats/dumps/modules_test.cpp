#include "formats/dumps/modules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/files.h"

namespace fathom::dumps {
namespace {

using testing::HasSubstr;

// Uses this test program as the mapped file: its maps are those that a dump of it would contain.
class FilesOfDumps : public testing::Test {
 protected:
  FilesOfDumps()
      : self_(std::filesystem::read_symlink("/proc/self/exe")),
        maps_(read_file("/proc/self/maps").value()),
        file_(elf::ModuleFile::open(self_).value()) {
    const std::vector<process::MapEntry> all = process::parse_maps(maps_).value();
    for (const process::MapEntry& entry : all)
      if (entry.path == self_) mappings_.push_back(entry);
    std::filesystem::create_directories(folder_);
  }
  ~FilesOfDumps() override { std::filesystem::remove_all(folder_); }

  // A return address of this function: a call certainly comes before it.
  [[gnu::noinline]] static std::uint64_t here() {
    return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  }

  std::string self_, maps_;
  elf::ModuleFile file_;
  std::vector<process::MapEntry> mappings_;
  std::string folder_ = testing::TempDir() + "fathom-dumps-" + std::to_string(::getpid());
};

TEST_F(FilesOfDumps, TheRightFileMatches) {
  const std::uint64_t addresses[] = {here()};
  EXPECT_EQ(misfit(file_.elf(), mappings_, addresses), std::nullopt);
}

TEST_F(FilesOfDumps, AFileWithCodeOfAnotherSizeDoesNotMatch) {
  auto longer = mappings_;
  for (process::MapEntry& entry : longer)
    if (entry.executable) entry.end.value += 1 << 20;
  EXPECT_THAT(misfit(file_.elf(), longer, {}).value_or(""), HasSubstr("another size"));
}

TEST_F(FilesOfDumps, AFileWithoutCallsBeforeTheReturnAddressesDoesNotMatch) {
  // Simulates a rebuild that moved the code: of consecutive addresses, not all come after a call.
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 1; i <= 64; ++i) addresses.push_back(here() + i);
  EXPECT_THAT(misfit(file_.elf(), mappings_, addresses).value_or(""), HasSubstr("behind calls"));
}

TEST_F(FilesOfDumps, AddressesAreFileAddressesOneByteInsideTheCall) {
  model::Profile profile;
  model::Builder builder(profile);
  Modules modules(builder, {});
  const std::uint64_t address = here();
  const std::uint64_t addresses[] = {address};
  modules.use(maps_, addresses);
  const model::Frame frame = profile.frames[modules.frame(address).value];
  const model::Module& module = profile.modules[frame.module.value];
  EXPECT_EQ(profile.strings[module.path], self_);
  EXPECT_EQ(profile.strings[module.build_id], file_.elf().identity());
  const auto map = std::ranges::find_if(mappings_, [&](const auto& entry) {
    return entry.executable && entry.start.value <= address && address < entry.end.value;
  });
  const std::uint64_t offset = address - 1 - map->start.value + map->offset.value;
  EXPECT_EQ(frame.address, file_.elf().address_of(FileOffset{offset}).value());
  EXPECT_EQ(modules.program(), self_);
}

TEST_F(FilesOfDumps, AFileIsFoundByNameInTheFolderAndAWrongOneIsRejected) {
  const std::string name = std::filesystem::path(self_).filename();
  std::string elsewhere = maps_;
  for (std::size_t at; (at = elsewhere.find(self_)) != std::string::npos;)
    elsewhere.replace(at, self_.size(), "/nowhere/" + name);
  const std::uint64_t addresses[] = {here()};
  std::filesystem::create_directories(folder_ + "/deep");
  const auto open = [&] {
    auto profile = std::make_unique<model::Profile>();
    model::Builder builder(*profile);
    Modules modules(builder, FilesByName::scan(folder_).value());
    modules.use(elsewhere, addresses);
    const model::Frame frame = profile->frames[modules.frame(addresses[0]).value];
    return std::pair(std::string(profile->strings[profile->modules[frame.module.value].build_id]),
                     modules.notes());
  };
  std::filesystem::copy_file("/proc/self/exe", folder_ + "/deep/" + name);
  EXPECT_EQ(open().first, file_.elf().identity());

  std::filesystem::copy_file("/bin/sh", folder_ + "/deep/" + name,
                             std::filesystem::copy_options::overwrite_existing);
  const auto [identity, notes] = open();
  EXPECT_EQ(identity, "");
  EXPECT_THAT(notes, testing::Contains(HasSubstr("is not used: ")));
}

// As jeprof takes its PROGRAM: a copy with names is seldom called as the one that ran.
TEST_F(FilesOfDumps, ASingleFileIsTheProgramWhateverItsName) {
  std::string elsewhere = maps_;
  for (std::size_t at; (at = elsewhere.find(self_)) != std::string::npos;)
    elsewhere.replace(at, self_.size(), "/nowhere/server");
  const std::uint64_t addresses[] = {here()};
  const std::string copy = folder_ + "/server.unstripped";
  std::filesystem::copy_file("/proc/self/exe", copy);
  model::Profile profile;
  model::Builder builder(profile);
  const FilesByName files = FilesByName::scan(copy).value();
  EXPECT_EQ(files.called("server.unstripped").size(), 1u);
  EXPECT_TRUE(files.called("server").empty());
  Modules modules(builder, files);
  modules.use(elsewhere, addresses);
  const model::Frame frame = profile.frames[modules.frame(addresses[0]).value];
  EXPECT_EQ(profile.strings[profile.modules[frame.module.value].build_id], file_.elf().identity());
}

TEST_F(FilesOfDumps, AMissingFolderIsAnError) {
  EXPECT_EQ(FilesByName::scan(folder_ + "/nothing").error().kind, ErrorKind::kNotFound);
}

// A dump names its files itself. Opening a device may rewind a tape, and opening a named pipe wakes its
// writer.
TEST_F(FilesOfDumps, APathThatIsNotARegularFileIsNotOpened) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Fd opened(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(opened.get(), pipe.c_str(), IN_OPEN), 0);
  model::Profile profile;
  model::Builder builder(profile);
  Modules modules(builder, {});
  const std::uint64_t addresses[] = {0x1500};
  modules.use("1000-2000 r-xp 00000000 08:02 1 " + pipe + "\n", addresses);
  EXPECT_THAT(modules.notes(), testing::Contains(HasSubstr("is not on this machine")));
  std::array<char, 4096> events;
  EXPECT_EQ(::read(opened.get(), events.data(), events.size()), -1) << "it was opened";
}

// fathom looks up each address once, not once per mapping, which would take minutes.
TEST_F(FilesOfDumps, ManyMappingsAndManyAddressesTakeLinearTime) {
  std::string maps;
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    maps += fmt::format("{0:x}-{1:x} r-xp {0:08x} 08:02 1 /nowhere/x\n", 0x1000 * (2 * i + 1),
                        0x1000 * (2 * i + 2));
    addresses.push_back(0x1000 * (2 * i + 1) + 1);
  }
  model::Profile profile;
  model::Builder builder(profile);
  Modules modules(builder, {});
  modules.use(maps, addresses);
  EXPECT_NE(modules.module_of(addresses.back()), model::ModuleId{0});
  EXPECT_EQ(modules.module_of(addresses.back() + 0x1000), model::ModuleId{0});
}

TEST_F(FilesOfDumps, AddressesWithoutAMappingHaveNoModule) {
  model::Profile profile;
  model::Builder builder(profile);
  Modules modules(builder, {});
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    modules.use("", {});
    EXPECT_EQ(profile.frames[modules.frame(address).value].module, model::ModuleId{0});
  }
  modules.use("this is no line of maps\n1000-2000 r-xp 00000000 08:02 1 /nowhere/x\n", {});
  EXPECT_NE(profile.frames[modules.frame(0x1500).value].module, model::ModuleId{0});
}

}  // namespace
}  // namespace fathom::dumps
