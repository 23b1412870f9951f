#include "open/open_profile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"
#include "formats/readers.h"
#include "open/interrupt_wakers.h"
#include "open/short_names.h"
#include "symbolize/late_names.h"
#include "symbolize/symbol_cache.h"

namespace fathom::open {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMostText = std::size_t{4} << 30;

// Files that people have lying around beside recordings.
struct Stranger {
  std::string_view magic;
  std::string_view what;
  std::string_view remedy;  // "{}": the file
};
constexpr Stranger kStrangers[] = {
    {"PERFILE2"sv, "the binary perf.data", "perf script -F +pid -i {} | fathom report -"},
    {"\x1f\x8b"sv, "compressed with gzip", "zcat {} | fathom report -"},
    {"\x28\xb5\x2f\xfd"sv, "compressed with zstd", "zstdcat {} | fathom report -"},
    {"\xfd"
     "7zXZ"sv,
     "compressed with xz", "xzcat {} | fathom report -"},
    {"\x7f"
     "ELF"sv,
     "a program", "fathom record -- {}"},
    {"<?xml"sv, "a picture or another XML file", "the recording that it was made from"},
    {"<svg"sv, "a picture", "the recording that it was made from"},
    {"<!DOCTYPE"sv, "an HTML page", "the recording that it was made from"},
    {"{"sv, "JSON", "the recording that it was made from"},
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Result<std::string> read_all(int fd, const std::string& name) {
  std::string content;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(name, errno);
    if (count == 0) return content;
    if (content.size() + static_cast<std::size_t>(count) > kMostText) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: more than {} GiB of text", name, kMostText >> 30));
    }
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Result<model::Profile> read_text(std::string_view text, const std::string& path, const std::string& name) {
  if (text.empty()) return fail(ErrorKind::kMalformed, fmt::format("{}: the file is empty", name));
  for (const Stranger& stranger : kStrangers) {
    if (!text.starts_with(stranger.magic)) continue;
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: this is {}, which is not read", name, stranger.what),
                fmt::format(fmt::runtime(stranger.remedy), path));
  }
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kUnsupported, fmt::format("{}: neither a recording nor text", name),
                "a file of fathom record, folded stacks, or the output of perf script");
  }
  Result<model::Profile> profile = formats::reader_of(text).read(text, name);
  if (profile && profile->meta.target.empty()) {
    const std::size_t slash = name.rfind('/');
    profile->meta.target = slash == std::string::npos ? name : name.substr(slash + 1);
  }
  return profile;
}

Result<> take_names_from_folder(model::Profile& recording, const symbolize::Options& options,
                                const NameOptions& names) {
  const auto found = symbolize::name_from_folder(recording, options);
  if (!found) return tl::unexpected(found.error());
  if (!names.tell) return {};
  for (const std::string& refused : found->refused) names.tell(refused);
  if (found->used.empty())
    names.tell(
        fmt::format("no file in {} has the build id of a module that lacks names", options.symbol_directory));
  return {};
}

Result<model::Profile> completed(Result<model::Profile> recording, const NameOptions& names) {
  if (!recording) return recording;
  symbolize::Options options;
  options.cache_directory = symbolize::default_cache_directory();
  options.reader.program = names.reader;
  options.symbol_directory = names.symbol_directory;
  if (!names.symbol_directory.empty())
    if (const Result<> taken = take_names_from_folder(*recording, options, names); !taken)
      return tl::unexpected(taken.error());
  options.symbol_directory.clear();
  symbolize::name_unnamed_frames(*recording, options);
  shorten_nameless_functions(*recording);
  drop_interrupt_wakers(*recording);
  return recording;
}

}  // namespace

Result<model::Profile> open_profile(const std::string& path, const store::ReadOptions& options,
                                    const NameOptions& names) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : path;
  const Fd fd(is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return system_error(name, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(name, errno);
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorKind::kUsage, fmt::format("{}: this is a folder", name),
                "a file of it, such as the newest *.fathom");
  }
  // A recording in a file is read in parts. What comes through a pipe can be read once only, so it is taken
  // whole.
  if (!is_stdin && S_ISREG(status.st_mode)) {
    std::array<std::byte, 8> first{};
    const ssize_t count = ::pread(fd.get(), first.data(), first.size(), 0);
    if (count > 0 && store::is_recording(std::span(first.data(), static_cast<std::size_t>(count))))
      return completed(store::read(path, options), names);
  }
  const Result<std::string> content = read_all(fd.get(), name);
  if (!content) return tl::unexpected(content.error());
  if (store::is_recording(bytes_of(*content)))
    return completed(store::read_bytes(bytes_of(*content), name, options), names);
  if (options.blocks)
    return fail(ErrorKind::kNotFound, name + ": blocks of the heap are chosen, and this is no recording",
                "fathom record --heap=exact --events");
  if (!names.symbol_directory.empty())
    return fail(ErrorKind::kUsage, name + ": --symbols needs a recording: this text has no build ids",
                "without --symbols");
  return read_text(*content, path, name);
}

}  // namespace fathom::open
