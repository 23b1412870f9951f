#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/files.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;

constexpr Account kNobody{65534, 65534};

bool is_picture(std::string_view first) {
  return first.starts_with("<svg");
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

// What `act` finds out as another user; false when it cannot be one.
bool holds_as(const Account& account, const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed = ::setresgid(account.gid, account.gid, account.gid) == 0 &&
                         ::setresuid(account.uid, account.uid, account.uid) == 0;
    ::_exit(changed && act() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Output : public testing::Test {
 protected:
  Output() {
    std::string name = testing::TempDir() + "fathom-output-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    EXPECT_EQ(::chmod(folder_.c_str(), 0755), 0);
  }
  ~Output() override { fs::remove_all(folder_); }

  std::string put(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
    return folder_ + "/" + name;
  }
  static Result<> write(const std::string& path, std::string_view content,
                        const OutputOptions& options = {}) {
    auto file = OutputFile::open(path, options);
    if (!file) return tl::unexpected<Error>(file.error());
    if (auto written = file->write(content); !written) return written;
    return file->publish();
  }
  // The words of the refusal; what stands there is not touched.
  std::string refusal(const std::string& path, const OutputOptions& options = {}) const {
    const auto file = OutputFile::open(path, options);
    EXPECT_FALSE(file) << path;
    if (file) return "";
    EXPECT_FALSE(file.error().remedy.empty()) << file.error().message;
    return file.error().message;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(Output, AFileAppearsWholeWhenItIsPublished) {
  for (const bool unnamed : {true, false}) {
    const std::string path = folder_ + (unnamed ? "/a" : "/b");
    {
      auto file = OutputFile::open(path, {.unnamed = unnamed});
      ASSERT_TRUE(file) << file.error().message;
      ASSERT_TRUE(file->write("one "));
      ASSERT_TRUE(file->write("two"));
      EXPECT_FALSE(fs::exists(path));
      ASSERT_TRUE(file->publish());
      EXPECT_EQ(read_file(path).value(), "one two");
      ASSERT_TRUE(file->write(" three"));  // a recording grows after it has its name
    }
    EXPECT_EQ(read_file(path).value(), "one two three");
    fs::remove(path);
    EXPECT_EQ(entries(), 0u);
  }
}

TEST_F(Output, WhatIsNotPublishedLeavesNothing) {
  const std::string old = put("old", "precious");
  for (const bool unnamed : {true, false}) {
    ASSERT_TRUE(OutputFile::open(folder_ + "/x/y/z", {.unnamed = unnamed}));
    ASSERT_TRUE(OutputFile::open(old, {.force = true, .unnamed = unnamed})->write("half of it"));
    EXPECT_EQ(entries(), 1u);
    EXPECT_EQ(read_file(old).value(), "precious");
  }
}

TEST_F(Output, ATemporaryNameThatIsTakenIsNotWrittenInto) {
  const OutputOptions options{.unnamed = false, .temporary = "guessed"};
  const std::string theirs = put("theirs", "precious"), guessed = put("guessed", "precious, too");
  EXPECT_FALSE(write(folder_ + "/x", "mine", options));
  EXPECT_EQ(read_file(guessed).value(), "precious, too");
  fs::remove(guessed);
  for (const char* target : {"theirs", "nowhere"}) {
    fs::create_symlink(target, guessed);
    EXPECT_FALSE(write(folder_ + "/x", "mine", options)) << target;
    fs::remove(guessed);
  }
  EXPECT_EQ(read_file(theirs).value(), "precious");
  EXPECT_EQ(entries(), 1u) << "nothing was made at the end of the link";
  EXPECT_TRUE(write(folder_ + "/x", "mine", options));
}

// Where a file needs a name from the start, a writer that is killed leaves one.
TEST_F(Output, WhatAKilledWriterLeftIsRemovedByTheNextOne) {
  const std::string dead = put(".fathom-" + std::string(32, 'a'), "half of it"),
                    young = put(".fathom-" + std::string(32, 'b'), "of a moment ago"),
                    other = put(".fathom-notes", "not ours");
  const timespec old[2] = {{::time(nullptr) - 3600, 0}, {::time(nullptr) - 3600, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, dead.c_str(), old, 0), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, other.c_str(), old, 0), 0);
  ASSERT_TRUE(write(folder_ + "/a", "x", {.unnamed = false}));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(Output, AWriterThatLivesKeepsItsFile) {
  const std::string path = folder_ + "/a";
  auto living = OutputFile::open(path, {.unnamed = false});
  ASSERT_TRUE(living);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const timespec old[2] = {{::time(nullptr) - 3600, 0}, {::time(nullptr) - 3600, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), old, 0), 0);
  }
  ASSERT_TRUE(write(folder_ + "/b", "x", {.unnamed = false}));
  EXPECT_TRUE(living->publish());
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(Output, FoldersThatHoldSomethingStay) {
  const auto file = OutputFile::open(folder_ + "/x/y/z");
  put("x/beside", "");
  { const auto gone = OutputFile::open(folder_ + "/x/q/z"); }
  EXPECT_TRUE(fs::exists(folder_ + "/x/beside"));
  EXPECT_FALSE(fs::exists(folder_ + "/x/q"));
}

TEST_F(Output, FilesAndFoldersArePrivateForAnyUmask) {
  for (const mode_t mask : {0u, 022u, 0777u}) {
    const mode_t before = ::umask(mask);
    const std::string folder = folder_ + "/mask-" + std::to_string(mask);
    for (const bool unnamed : {true, false}) {
      const std::string path = folder + (unnamed ? "/a" : "/b");
      const auto written = write(path, "x", {.unnamed = unnamed});
      EXPECT_TRUE(written) << written.error().message;
      EXPECT_EQ(status_of(path).st_mode & 07777, 0600u);
    }
    EXPECT_EQ(status_of(folder).st_mode & 07777, 0700u);
    ::umask(before);
  }
}

TEST_F(Output, AnExistingFileIsReplacedWhenItIsEmptyOrOfTheSameKindOrWithForce) {
  const std::string text = put("text", "precious"), picture = put("picture", "<svg>old</svg>"),
                    empty = put("empty", "");
  ::chmod(picture.c_str(), 0644);
  EXPECT_EQ(
      refusal(text, {.replaceable = is_picture}),
      text + ": a file with this name exists, and it is not recognised as an earlier result of this kind");
  refusal(picture);
  for (const bool unnamed : {true, false}) {
    EXPECT_TRUE(write(picture, "<svg>new</svg>", {.replaceable = is_picture, .unnamed = unnamed}));
    EXPECT_EQ(read_file(picture).value(), "<svg>new</svg>");
    EXPECT_EQ(status_of(picture).st_mode & 07777, 0600u) << "a new file, and not the old one";
  }
  EXPECT_TRUE(write(empty, "full"));
  EXPECT_TRUE(write(text, "new", {.force = true}));
  EXPECT_EQ(read_file(text).value(), "new");
  EXPECT_EQ(refusal(picture, {.replaceable = is_picture, .keep_existing = true}),
            picture + ": there is a file of this name");
  EXPECT_EQ(entries(), 3u);
}

TEST_F(Output, AFileThatTookTheNameMeanwhileKeepsIt) {
  const std::string there = put("there", ""), fresh = folder_ + "/fresh";
  for (const bool unnamed : {true, false}) {
    for (const std::string& path : {there, fresh}) {
      auto file = OutputFile::open(path, {.force = true, .unnamed = unnamed});
      ASSERT_TRUE(file);
      fs::remove(path);
      fs::create_symlink("elsewhere", path);
      EXPECT_FALSE(file->publish());
      EXPECT_EQ(fs::read_symlink(path), "elsewhere");
      fs::remove(path);
      if (path == there) put("there", "");
    }
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, WhatBecameOfAFileSinceItWasPublishedIsSeen) {
  for (const bool unnamed : {true, false}) {
    const std::string path = folder_ + "/in/x";
    auto file = OutputFile::open(path, {.unnamed = unnamed});
    ASSERT_TRUE(file && file->write("all of it") && file->publish());
    EXPECT_EQ(file->place(), OutputFile::Place::kThere);
    fs::rename(path, folder_ + "/moved");
    EXPECT_EQ(file->place(), OutputFile::Place::kGone);
    put("in/x", "all of it");
    EXPECT_EQ(file->place(), OutputFile::Place::kTaken) << "the same text in another file";
    fs::remove(path);
    fs::create_symlink(folder_ + "/moved", path);
    EXPECT_EQ(file->place(), OutputFile::Place::kTaken) << "a link to it";
    fs::remove_all(folder_ + "/in");
    fs::remove(folder_ + "/moved");
    EXPECT_EQ(file->place(), OutputFile::Place::kGone);
    ASSERT_TRUE(file->copy_to(path))
        << "from a file that has no name any more, into a folder that is made again";
    EXPECT_EQ(read_file(path).value(), "all of it");
    fs::remove_all(folder_ + "/in");
  }
}

TEST_F(Output, LinksFoldersAndSocketsAreRefusedInWords) {
  put("file", "<svg>");
  fs::create_symlink("file", folder_ + "/link");
  fs::create_symlink("nowhere", folder_ + "/dangling");
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (folder_ + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const bool force : {false, true}) {
    const OutputOptions options{.replaceable = is_picture, .force = force, .streams = true};
    for (const char* name : {"/link", "/dangling"})
      EXPECT_EQ(refusal(folder_ + name, options),
                folder_ + name + ": this is a symbolic link, which is not followed");
    EXPECT_EQ(refusal(folder_, options), folder_ + ": this is a folder");
    EXPECT_EQ(refusal(folder_ + "/", options), "'" + folder_ + "/': this names a folder");
    EXPECT_EQ(refusal(folder_ + "/socket", options),
              folder_ + "/socket: this is a disk or a socket, not a regular file");
  }
  EXPECT_EQ(read_file(folder_ + "/file").value(), "<svg>");
  EXPECT_FALSE(fs::exists(folder_ + "/nowhere"));
}

TEST_F(Output, AFolderThatCannotBeMadeHasARemedy) {
  const auto file = OutputFile::open("/proc/no-such-folder/x", {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().remedy, "another path, in a folder where you can make files");
}

TEST_F(Output, APipeIsWrittenIntoAndNeverReplacedNorWaitedFor) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path, {.streams = true}), path + ": no process reads from this pipe");
  const Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(refusal(path, {.force = true}), path + ": this is a pipe, not a regular file");
  EXPECT_TRUE(write(path, "through", {.force = true, .streams = true}));
  char text[16] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  EXPECT_TRUE(S_ISFIFO(status_of(path).st_mode));
}

TEST_F(Output, ADeviceIsWrittenIntoAndNeverReplaced) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes device nodes";
  const std::string null = folder_ + "/null", disk = folder_ + "/disk";
  ASSERT_EQ(::mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  ASSERT_EQ(::mknod(disk.c_str(), S_IFBLK | 0600, makedev(7, 200)), 0);
  EXPECT_EQ(refusal(null, {.force = true}), null + ": this is a device, not a regular file");
  if (const Fd may_open(::open(null.c_str(), O_WRONLY | O_CLOEXEC)); may_open) {  // else it is mounted nodev
    EXPECT_TRUE(write(null, "away", {.force = true, .streams = true}));
  }
  EXPECT_TRUE(S_ISCHR(status_of(null).st_mode));
  EXPECT_EQ(refusal(disk, {.force = true, .streams = true}),
            disk + ": this is a disk or a socket, not a regular file");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Output, AFolderThatIsALinkIsRefusedAndALinkOfOursOnTheWayIsNot) {
  fs::create_directories(folder_ + "/real/inner");
  fs::create_directory_symlink("real", folder_ + "/link");
  EXPECT_EQ(refusal(folder_ + "/link/x"), folder_ + "/link: the folder is a symbolic link to real");
  EXPECT_TRUE(write(folder_ + "/link/inner/x", "x"));
  fs::create_directory_symlink(folder_ + "/link", folder_ + "/absolute");
  EXPECT_TRUE(write(folder_ + "/absolute/inner/y", "y"));
  EXPECT_EQ(read_file(folder_ + "/real/inner/y").value(), "y");
  fs::create_directory_symlink("loop", folder_ + "/loop");
  EXPECT_FALSE(write(folder_ + "/loop/inner/y", "y"));
}

TEST_F(Output, AFolderThatEverybodyMayChangeIsRefusedUnlessItIsSticky) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_EQ(refusal(folder_ + "/x"), folder_ + ": everybody can change files in this folder");
  EXPECT_EQ(refusal(folder_ + "/new/x"), folder_ + ": everybody can change files in this folder");
  EXPECT_TRUE(write(folder_ + "/forced", "x", {.force = true}));
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  EXPECT_TRUE(write(folder_ + "/x", "x"));
}

TEST_F(Output, AnotherUsersFolderIsRejected) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of somebody else";
  const std::string theirs = folder_ + "/theirs";
  fs::create_directory(theirs);
  ASSERT_EQ(::chown(theirs.c_str(), kNobody.uid, kNobody.gid), 0);
  const OutputOptions as_root{.owner = std::nullopt};
  EXPECT_EQ(refusal(theirs + "/x", as_root),
            theirs + ": the folder belongs to user 65534, who could change the output");
  EXPECT_EQ(refusal(theirs + "/new/x", as_root),
            theirs + ": the folder belongs to user 65534, who could change the output");
  EXPECT_TRUE(write(theirs + "/x", "x", {.force = true, .owner = std::nullopt}));
  EXPECT_TRUE(write(theirs + "/y", "y", {.owner = kNobody})) << "with sudo it is theirs who asked";
  EXPECT_TRUE(holds_as(kNobody, [&] { return write(theirs + "/z", "z").has_value(); }));
  EXPECT_TRUE(holds_as({1, 1}, [&] { return !write(theirs + "/q", "q"); }));
  EXPECT_TRUE(holds_as(kNobody, [&] { return !write(folder_ + "/q", "q"); }))
      << "root's, and not to be written";

  // Their link on the way leads to where they may not write.
  fs::create_directories(folder_ + "/secret/inner");
  fs::create_directory_symlink(folder_ + "/secret", theirs + "/way");
  ASSERT_EQ(::lchown((theirs + "/way").c_str(), kNobody.uid, kNobody.gid), 0);
  EXPECT_EQ(refusal(theirs + "/way/inner/x", as_root),
            theirs + "/way: a symbolic link of user 65534 to " + folder_ + "/secret");
  EXPECT_TRUE(fs::is_empty(folder_ + "/secret/inner"));
}

TEST_F(Output, WithSudoItBelongsToTheUserWhoAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  for (const bool unnamed : {true, false}) {
    const std::string path = folder_ + (unnamed ? "/a/" : "/b/") + "c/d";
    ASSERT_TRUE(write(path, "mine", {.unnamed = unnamed, .owner = kNobody}));
    for (fs::path part = path; part != folder_; part = part.parent_path()) {
      EXPECT_EQ(status_of(part).st_uid, kNobody.uid) << part;
      EXPECT_EQ(status_of(part).st_gid, kNobody.gid) << part;
    }
    EXPECT_TRUE(holds_as(kNobody, [&] { return read_file(path).value_or("") == "mine"; }));
  }
}

class SudoUser : public testing::Test {
 protected:
  static std::optional<Account> asked(const char* uid, const char* gid) {
    uid == nullptr ? ::unsetenv("SUDO_UID") : ::setenv("SUDO_UID", uid, 1);
    gid == nullptr ? ::unsetenv("SUDO_GID") : ::setenv("SUDO_GID", gid, 1);
    return sudo_user();
  }
  ~SudoUser() override { asked(nullptr, nullptr); }
};

TEST_F(SudoUser, IsTheAccountThatTheVariablesName) {
  if (::geteuid() != 0) GTEST_SKIP() << "sudo makes root";
  const auto account = asked("65534", "65534");
  ASSERT_TRUE(account);
  EXPECT_EQ(account->uid, 65534u);
  EXPECT_EQ(account->gid, 65534u);
}

TEST_F(SudoUser, IsUnsetIfTheVariablesAreNotPlausible) {
  EXPECT_FALSE(asked(nullptr, nullptr));
  EXPECT_FALSE(asked("65534", nullptr));
  EXPECT_FALSE(asked("0", "0")) << "root asked";
  EXPECT_FALSE(asked("65534", "0")) << "not a group of that account";
  for (const char* uid : {"", " 65534", "65534x", "-2", "4294967296", "0x10", "54321"})
    EXPECT_FALSE(asked(uid, "65534"));
  if (::geteuid() != 0) return;
  EXPECT_TRUE(asked("65534", "65534"));
  EXPECT_TRUE(holds_as(kNobody, [] { return !sudo_user(); })) << "not root: nothing to give away";
}

}  // namespace
}  // namespace fathom
