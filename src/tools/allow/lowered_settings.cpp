#include "tools/allow/lowered_settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace fathom::allow {
namespace {

constexpr std::size_t kMostChanges = 4, kLongestPath = 255;

struct Message {
  bool end = false;
  std::size_t count = 0;
  struct {
    std::array<char, kLongestPath + 1> file;
    int before, lowered;
  } changes[kMostChanges] = {};
};

Result<int> read_setting(const std::string& file) {
  const Result<std::string> text = read_file(file, 64);
  if (!text) return tl::unexpected<Error>(text.error());
  int value = 0;
  if (std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{})
    return fail(ErrorKind::kMalformed, file + ": no number");
  return value;
}

Result<> write_setting(const std::string& file, int value) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == EROFS)  // as in containers without all privileges
    return fail(ErrorKind::kPermission, file + " may not be changed from this container",
                "run it on the host: containers share its kernel, and the setting with it");
  if (!fd) return system_error(file, errno);
  const std::string text = fmt::format("{}\n", value);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return system_error(file, errno);
  return {};
}

// A setting that still has the lowered value. false: it has another one by now, which stays.
Result<bool> put_back(const Change& change) {
  const Result<int> now = read_setting(change.file);
  if (!now) return tl::unexpected<Error>(now.error());
  if (*now != change.lowered) return false;
  if (auto written = write_setting(change.file, change.before); !written)
    return tl::unexpected<Error>(written.error());
  return true;
}

Result<std::vector<Change>> needed_changes(const std::string& settings, bool kernel) {
  const std::pair<const char*, int> wanted[] = {{"/kernel/perf_event_paranoid", kernel ? 1 : 2},
                                                {"/kernel/kptr_restrict", 0}};
  std::vector<Change> changes;
  for (const auto& [name, lowered] : std::span(wanted).first(kernel ? 2 : 1)) {
    const Result<int> now = read_setting(settings + name);
    if (!now) return tl::unexpected<Error>(now.error());
    if (*now > lowered) changes.push_back({settings + name, *now, lowered});
  }
  return changes;
}

[[noreturn]] void guard() {
  Message message, last;
  while (process::GuardianProcess::hear(message)) {
    if (message.end) ::_exit(0);
    last = message;
  }
  for (std::size_t i = 0; i < last.count; ++i)
    (void)put_back({last.changes[i].file.data(), last.changes[i].before, last.changes[i].lowered});
  ::_exit(0);
}

Result<Message> message_of(const std::vector<Change>& changes) {
  Message message;
  if (changes.size() > kMostChanges) return fail(ErrorKind::kUnsupported, "too many settings");
  for (const Change& change : changes) {
    if (change.file.size() > kLongestPath)
      return fail(ErrorKind::kUnsupported, change.file + ": too long a path");
    auto& row = message.changes[message.count++];
    std::memcpy(row.file.data(), change.file.data(), change.file.size());
    row.before = change.before;
    row.lowered = change.lowered;
  }
  return message;
}

// A line for each change: FILE BEFORE LOWERED.
std::vector<Change> parse_journal(const std::string& text) {
  std::vector<Change> changes;
  std::istringstream lines(text);
  Change change;
  while (lines >> change.file >> change.before >> change.lowered) changes.push_back(change);
  return changes;
}

Result<> write_journal(int fd, const std::string& path, const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes)
    text += fmt::format("{} {} {}\n", change.file, change.before, change.lowered);
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return system_error(path, errno);
  return {};
}

// Open and locked; nullopt: a living process holds it. What another user could have written is not believed.
Result<std::optional<Fd>> lock_journal(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!fd) return system_error(path, errno);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return system_error(path, errno);
  if (!S_ISREG(about.st_mode) || about.st_uid != ::geteuid() || (about.st_mode & 0077) != 0)
    return fail(ErrorKind::kPermission, path + ": other users may write this file",
                "remove it, and try again");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<Fd>();
    return system_error(path, errno);
  }
  // Its owner has ended and removed it after we opened it.
  if (::fstat(fd.get(), &about) != 0 || about.st_nlink == 0) return std::optional<Fd>();
  return std::optional<Fd>(std::move(fd));
}

Result<int> put_back_all(int fd, const std::string& path) {
  const Result<std::string> text = read_file(path, 1 << 16);
  if (!text) return tl::unexpected<Error>(text.error());
  int count = 0;
  for (const Change& change : parse_journal(*text)) {
    const Result<bool> done = put_back(change);
    if (!done) return tl::unexpected<Error>(done.error());
    count += *done ? 1 : 0;
  }
  if (auto written = write_journal(fd, path, {}); !written) return tl::unexpected<Error>(written.error());
  return count;
}

}  // namespace

std::string setting_name(const Change& change) {
  constexpr std::string_view kFolder = "/kernel/";
  const std::size_t at = change.file.rfind(kFolder);
  return at == std::string::npos ? change.file : "kernel." + change.file.substr(at + kFolder.size());
}

Result<LoweredSettings> LoweredSettings::lower(const std::string& settings, bool kernel,
                                               const std::string& journal) {
  Result<std::optional<Fd>> locked = lock_journal(journal, O_CREAT);
  if (!locked) return tl::unexpected<Error>(locked.error());
  if (!*locked)
    return fail(ErrorKind::kSystem, "another fathom allow is running",
                "end it first: it puts back what it lowered");
  if (auto left = put_back_all((*locked)->get(), journal); !left) return tl::unexpected<Error>(left.error());
  const Result<std::vector<Change>> changes = needed_changes(settings, kernel);
  if (!changes) return tl::unexpected<Error>(changes.error());
  const Result<Message> message = message_of(*changes);
  if (!message) return tl::unexpected<Error>(message.error());
  auto guardian = process::GuardianProcess::start("the kernel's settings", guard);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  LoweredSettings lowered(std::move(*guardian), std::move(**locked), journal);
  // Both know what is to be put back before anything is changed.
  if (auto written = write_journal(lowered.journal_.get(), journal, *changes); !written)
    return tl::unexpected<Error>(written.error());
  if (!lowered.guardian_.tell(*message))
    return fail(ErrorKind::kSystem, "the guardian of the kernel's settings is gone");
  lowered.lowered_ = *changes;
  for (const Change& change : *changes)
    if (auto written = write_setting(change.file, change.lowered); !written)
      return tl::unexpected<Error>(written.error());
  return lowered;
}

LoweredSettings::~LoweredSettings() {
  if (journal_) (void)give_back();
}

Result<std::vector<Change>> LoweredSettings::give_back() {
  std::vector<Change> of_others;
  std::optional<Error> problem;
  for (const Change& change : std::exchange(lowered_, {})) {
    const Result<bool> done = put_back(change);
    if (!done) problem = done.error();
    if (done && !*done) of_others.push_back(change);
  }
  guardian_.dismiss(Message{.end = true});
  if (!problem) {
    if (auto written = write_journal(journal_.get(), journal_path_, {}); !written) problem = written.error();
    ::unlink(journal_path_.c_str());
  }
  journal_ = Fd();
  if (problem) return tl::unexpected<Error>(*problem);
  return of_others;
}

Result<int> put_back_leftovers(const std::string& journal) {
  Result<std::optional<Fd>> locked = lock_journal(journal, 0);
  if (!locked) {
    if (locked.error().kind == ErrorKind::kNotFound) return 0;
    return tl::unexpected<Error>(locked.error());
  }
  if (!*locked) return 0;
  Result<int> count = put_back_all((*locked)->get(), journal);
  if (count) ::unlink(journal.c_str());
  return count;
}

}  // namespace fathom::allow
