#include "tools/shelf/recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "model/profile.h"
#include "model/store/writer.h"

namespace fathom::shelf {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// Stands for what fathom wrote.
bool is_svg(const fs::path& path) {
  return path.extension() == ".svg";
}

class Shelf : public testing::Test {
 protected:
  Shelf() : folder_(testing::TempDir() + "fathom-shelf-XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~Shelf() override { fs::remove_all(folder_); }

  std::string place(const std::string& name) {
    const fs::path path = fs::path(folder_) / name;
    fs::create_directories(path.parent_path());
    return path.string();
  }

  // A recording of /usr/bin/PROGRAM that began at `start` and lasted two seconds, with 1.5 s of CPU time.
  // `file`: what its executable is called, if not PROGRAM.
  void record(const std::string& name, const std::string& program, std::uint64_t start_unix_ns,
              bool ends = true, const std::string& file = "") {
    model::Profile profile;
    profile.meta.target = program + " (pid 7)";
    profile.meta.start_ns = 1'000'000'000;
    profile.meta.end_ns = 3'000'000'000;
    profile.meta.start_unix_ns = start_unix_ns;
    const model::StringId path = profile.strings.intern("/usr/bin/" + (file.empty() ? program : file));
    model::Module module;
    module.name = profile.strings.intern(program);
    module.path = path;
    module.build_id = profile.strings.intern("abcdef0123456789");
    profile.modules.push_back(module);
    model::Process process;
    process.pid = 7;
    process.name = profile.strings.intern(program);
    process.executable = path;
    profile.processes.push_back(process);
    if (!tags_.empty()) profile.meta.facts["tags"] = tags_;
    if (with_heap_) profile.heap.heaps.emplace_back();
    model::Thread thread;
    thread.tid = 7;
    thread.cpu_ns = 1'500'000'000;
    profile.threads.push_back(thread);
    auto writer = store::Writer::create(place(name));
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->append(profile));
    if (ends) {
      ASSERT_TRUE(writer->finish(profile));
    }
  }
  void write(const std::string& name, const std::string& content) { std::ofstream(place(name)) << content; }

  std::string folder_;
  std::string tags_;
  bool with_heap_ = false;
};

TEST_F(Shelf, ListsTheFolderAndTheFoldersInItOldestFirst) {
  record("new.fathom", "redis-server", 30);
  record("neard/old.fathom", "neard", 10);
  record("reth/middle.fathom", "reth", 20);
  record("reth/deeper/ignored.fathom", "reth", 5);
  const auto found = find_recordings(folder_, is_svg);
  ASSERT_TRUE(found) << found.error().message;
  std::vector<std::string> programs;
  for (const Recording& row : *found) programs.push_back(row.program);
  EXPECT_THAT(programs, ElementsAre("neard", "reth", "redis-server"));
}

TEST_F(Shelf, WithoutAFolderItListsThisOneAndThatOfRecordingsWithoutAName) {
  record("here.fathom", "postgres", 30);
  record("fathom-profiles/reth.fathom", "reth", 20);
  record("fathom-profiles/old/neard.fathom", "neard", 10);
  record("elsewhere/redis.fathom", "redis-server", 5);
  const auto found = find_recordings_here(folder_, is_svg);
  ASSERT_TRUE(found) << found.error().message;
  std::vector<std::string> programs;
  for (const Recording& row : *found) programs.push_back(row.program);
  EXPECT_THAT(programs, ElementsAre("neard", "reth", "postgres"));
}

TEST_F(Shelf, KnowsTheFolderInWhichThereAreSome) {
  EXPECT_EQ(folder_with_recordings(folder_), std::nullopt);
  EXPECT_TRUE(find_recordings_here(folder_, is_svg)->empty());
  write("notes/notes.txt", "");
  record("runs/x.fathom", "reth", 10);
  EXPECT_EQ(folder_with_recordings(folder_), folder_ + "/runs");
  record("fathom-store/reth/x.fathom", "reth", 10);
  EXPECT_EQ(folder_with_recordings(folder_), folder_ + "/fathom-store") << "the store of fathom serve";
}

TEST_F(Shelf, ARecordingSaysWhatItIs) {
  record("x.fathom", "redis-server", 30);
  write("x.svg", "<svg/>");
  write("x.json", "not ours");
  write("x.c", "the user's own file");
  write("y.svg", "of something else");
  const auto found = find_recordings(folder_, is_svg);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  const Recording& row = found->front();
  EXPECT_EQ(row.target, "redis-server (pid 7)");
  EXPECT_EQ(row.build_id, "abcdef0123456789");
  EXPECT_EQ(row.start_unix_ns, 30u);
  EXPECT_EQ(row.duration_ns, 2'000'000'000u);
  EXPECT_EQ(row.cpu_ns, 1'500'000'000u);
  EXPECT_FALSE(row.waits);
  EXPECT_FALSE(row.heap);
  EXPECT_FALSE(row.cut);
  EXPECT_THAT(row.companions, ElementsAre(fs::path(folder_) / "x.svg"));
  EXPECT_EQ(row.bytes, fs::file_size(row.path) + 6);
}

TEST_F(Shelf, AProgramIsCalledAsInItsTargetAndNotAsTheFileThatALinkLeadsTo) {
  record("a.fathom", "redis-server", 10, true, "redis-check-rdb");
  record("b.fathom", "a-program-with-", 20, true, "a-program-with-a-long-name");
  const auto found = find_recordings(folder_, is_svg);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).program, "redis-server");
  EXPECT_EQ(found->at(1).program, "a-program-with-a-long-name");
}

TEST_F(Shelf, TagsAreThoseOfTheRecording) {
  tags_ = "v1.2, before the change";
  record("x.fathom", "reth", 30);
  const Recording row = find_recordings(folder_, is_svg).value().at(0);
  EXPECT_THAT(row.tags, ElementsAre("v1.2", "before the change"));
  EXPECT_TRUE(has_tag(row, "v1.2"));
  EXPECT_FALSE(has_tag(row, "v1"));
}

TEST_F(Shelf, ARecordingOfTheHeapIsListedAsOne) {
  record("cpu.fathom", "reth", 10);
  with_heap_ = true;
  record("heap.fathom", "reth", 20);
  record("killed.fathom", "reth", 30, false);
  const auto found = find_recordings(folder_, is_svg).value();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_FALSE(found[0].heap);
  EXPECT_TRUE(found[1].heap);
  EXPECT_TRUE(found[2].heap);
}

TEST_F(Shelf, OneThatWasKilledIsCutShort) {
  record("x.fathom", "reth", 30, false);
  const auto found = find_recordings(folder_, is_svg);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_TRUE(found->front().cut);
  EXPECT_EQ(found->front().program, "reth");
}

TEST_F(Shelf, AFileThatCannotBeReadIsListedWithTheReason) {
  write("bad.fathom", "no recording at all");
  const auto found = find_recordings(folder_, is_svg);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_NE(found->front().problem, "");
}

// Cleaning by age would take it for one of 1970 otherwise.
TEST_F(Shelf, OneThatDoesNotSayWhenItBeganIsAsOldAsItsFile) {
  record("x.fathom", "reth", 0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double age = std::chrono::duration<double>(now).count() -
                     static_cast<double>(find_recordings(folder_, is_svg).value().at(0).start_unix_ns) / 1e9;
  EXPECT_LT(std::abs(age), 3600);
}

TEST_F(Shelf, LinksAreNotFollowed) {
  record("real/x.fathom", "reth", 30);
  fs::create_directory_symlink(fs::path(folder_) / "real", fs::path(folder_) / "again");
  fs::create_symlink(fs::path(folder_) / "real/x.fathom", fs::path(folder_) / "link.fathom");
  fs::create_symlink("/etc/hostname", fs::path(folder_) / "real/x.svg");
  const auto found = find_recordings(folder_, is_svg);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_TRUE(found->front().companions.empty());
}

TEST_F(Shelf, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(find_recordings(folder_ + "/none", is_svg).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::shelf
