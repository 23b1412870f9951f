#include "formats/open/open_profile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "attach/allocators/statistics/statistics.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/mapping.h"
#include "base/packed/unpacker.h"
#include "base/shell_word.h"
#include "binary/symbolize/late_names.h"
#include "binary/symbolize/symbol_cache.h"
#include "formats/dumps/trim.h"
#include "formats/folded/folded.h"
#include "formats/open/block_choice.h"
#include "formats/open/inputs.h"
#include "formats/open/interrupt_wakers.h"
#include "formats/open/kernel_functions.h"
#include "formats/open/short_names.h"
#include "formats/open/strangers.h"
#include "formats/perf_data/perf_data.h"
#include "formats/readers.h"
#include "model/event_samples.h"

namespace fathom::open {
namespace {

constexpr std::size_t kMostText = std::size_t{4} << 30;
// For a packed file that is read piece by piece: a few bytes can expand to any size, and that is unknown
// until they are unpacked.
constexpr std::uint64_t kMostUnpacked = std::uint64_t{64} << 30;

std::string spoken(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A pipe or a device may never end, so its beginning decides: a format that no reader knows by then has none.
constexpr std::size_t kMostUnknown = std::size_t{4} << 20;
// A log in a file has an end, and jemalloc's statistics may stand anywhere in it. If it is packed, its size is unknown.
constexpr std::size_t kMostUnknownUnpacked = std::size_t{256} << 20;

bool is_known(std::string_view beginning) {
  return store::is_recording(bytes_of(beginning)) || formats::is_heap_dump(beginning) ||
         formats::reader_of(beginning) != nullptr || allocators::holds_statistics(beginning);
}

std::string beginning_of(std::string_view content, std::size_t most) {
  return packed::is_packed(content) ? packed::first_unpacked(content.substr(0, packed::kFirstPacked), most)
                                    : std::string(content.substr(0, most));
}

// "prof:true" of a log with "<jemalloc>: Invalid conf pair: prof:true"; empty: jemalloc rejected nothing.
std::string_view rejected_setting(std::string_view log) {
  constexpr std::string_view kComplaint = "<jemalloc>: Invalid conf ";
  const std::size_t at = log.find(kComplaint);
  if (at == log.npos) return {};
  std::string_view line = log.substr(at + kComplaint.size());
  line = line.substr(0, line.find_first_of("\r\n"));
  const std::size_t colon = line.find(": ");
  return colon == line.npos ? line : line.substr(colon + 2);
}

// The error names the nearest format.
tl::unexpected<Error> unknown_format(std::string_view beginning, const std::string& path) {
  const std::string name = spoken(path);
  if (const std::string_view setting = rejected_setting(beginning); !setting.empty())
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("{}: a log in which jemalloc rejects the setting {}", name, shell_word(setting)),
        fmt::format(
            "fathom doctor --malloc-conf {} -p PID, which says why; fathom record --heap needs no setting of jemalloc",
            shell_word(setting)));
  if (const auto stranger = stranger_of(beginning)) return refused(*stranger, path, name);
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: not a fathom recording, and not a format fathom can read", name),
              std::string(kFormatsThatAreRead));
}

// `content`: the part already read. `has_end`: as a regular file.
Result<std::string> read_all(int fd, std::size_t expected, bool has_end, const std::string& path,
                             std::string content) {
  const std::string name = spoken(path);
  content.reserve(std::min(expected, kMostText));  // otherwise the largest text would be copied as it grows
  std::array<char, 1 << 16> buffer;
  bool is_undecided = !has_end;
  for (;;) {
    if (is_undecided && content.size() >= kMostUnknown) {
      const std::string beginning = beginning_of(content, kMostUnknown);
      if (!packed::is_packed(beginning) && !is_known(beginning)) return unknown_format(beginning, path);
      is_undecided = false;
    }
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

// A profile without a target name is named after its file.
Result<model::Profile> called_after(Result<model::Profile> profile, const std::string& name) {
  if (profile && profile->meta.target.empty()) {
    const std::size_t slash = name.rfind('/');
    profile->meta.target = slash == std::string::npos ? name : name.substr(slash + 1);
  }
  return profile;
}

Result<model::Profile> read_text(const std::string& text, const std::string& path, const std::string& name,
                                 std::string* statistics) {
  if (text.empty()) return fail(ErrorKind::kMalformed, fmt::format("{}: the file is empty", name));
  const formats::Reader* reader = formats::reader_of(text);
  const bool is_folded = reader != nullptr && reader->recognises == formats::is_folded;
  if (reader != nullptr && !is_folded) return called_after(reader->read(text, name), name);
  if (!is_folded && allocators::holds_statistics(text)) {
    if (statistics != nullptr) *statistics = text;
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: these are statistics that jemalloc prints of itself, without stacks", name),
                "fathom report " + shell_word(path));
  }
  // Tables of other tools may look like stacks with counts.
  if (!is_folded || stranger_of(text)) return unknown_format(text, path);
  return called_after(reader->read(text, name), name);
}

Result<> take_names_from_folder(model::Profile& recording, const symbolize::Options& options,
                                const NameOptions& names) {
  const auto found = symbolize::name_from_folder(recording, options);
  if (!found) return tl::unexpected(found.error());
  if (!names.tell) return {};
  for (const std::string& refused : found->refused) names.tell(refused);
  for (const std::string& gap : found->gaps) names.tell(gap);
  if (found->used.empty())
    names.tell(fmt::format("no file {}in {} has the build id of a module that lacks names",
                           found->gaps.empty() ? "" : "that was looked at ", options.symbol_directory));
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
  if (!names.long_names) shorten_nameless_functions(*recording);
  drop_interrupt_wakers(*recording);
  if (names.event.all) return recording;
  if (const Result<> chosen = model::choose_events(*recording, names.event.name); !chosen)
    return tl::unexpected(chosen.error());
  return recording;
}

// Profiles of Go and dumps of heaptrack are packed themselves, and a script may pack all that it keeps once more.
Result<std::string> unpacked(std::string content, const std::string& path) {
  constexpr int kMostLayers = 3;
  for (int layer = 0; layer < kMostLayers && packed::is_packed(content); ++layer) {
    const std::string beginning = beginning_of(content, kMostUnknown);
    const bool known = packed::is_packed(beginning) || is_known(beginning);
    Result<std::string> text =
        packed::unpacked(content, spoken(path), known ? kMostText : kMostUnknownUnpacked);
    if (!text && !known && text.error().kind == ErrorKind::kUnsupported)
      return unknown_format(beginning, path);
    if (!text) return text;
    content = std::move(*text);
  }
  return content;
}

// A file that is read as a whole.
struct Content {
  std::string text;
  std::uint64_t modified_unix_ns = 0;  // 0: unknown
};

Result<Content> read_content(const Fd& fd, const std::string& path, std::string begun = {}) {
  const std::string name = spoken(path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(name, errno);
  const bool is_file = S_ISREG(status.st_mode);
  Result<std::string> text = read_all(fd.get(), is_file ? static_cast<std::size_t>(status.st_size) : 0,
                                      is_file, path, std::move(begun));
  if (!text) return tl::unexpected(text.error());
  text = unpacked(std::move(*text), path);
  if (!text) return tl::unexpected(text.error());
  Content content{std::move(*text), 0};
  if (S_ISREG(status.st_mode))
    content.modified_unix_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                               static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return content;
}

Result<Fd> open_input(const std::string& path, const std::string& name) {
  Fd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() >= 0) return fd;
  tl::unexpected<Error> error = system_error(name, errno);
  if (error.value().kind == ErrorKind::kNotFound)
    error.value().remedy = dumps::parse_merge(path)
                               ? fmt::format("the folder with the dumps, and --merge {}", path)
                               : "another path; fathom list shows the recordings here";
  return error;
}

// Text is read piece by piece if its reader can: it is many times as large as the profile in it.
constexpr std::size_t kBeginning = 64 * 1024;

// Null: text that begins like this is read as a whole.
std::unique_ptr<formats::StreamReader> stream_of(std::string_view beginning, const std::string& name) {
  const formats::Reader* reader = formats::reader_of(beginning);
  if (reader == nullptr || reader->stream == nullptr || formats::is_heap_dump(beginning)) return nullptr;
  // Tables of other tools may look like stacks with counts.
  if (reader->recognises == formats::is_folded && stranger_of(beginning)) return nullptr;
  return reader->stream(name);
}

// nullopt: it is something else, and nothing was read from it.
std::optional<Result<model::Profile>> streamed_file(const Fd& fd, const std::string& name) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  if (::lseek(fd.get(), 0, SEEK_CUR) != 0) return std::nullopt;
  const Result<Mapping> mapping = Mapping::of_fd(fd.get(), name);
  if (!mapping) return std::nullopt;
  const std::string_view bytes(static_cast<const char*>(mapping->data()), mapping->size());
  const bool packed = packed::is_packed(bytes);
  const auto reader =
      stream_of(packed ? packed::first_unpacked(bytes.substr(0, packed::kFirstPacked), kBeginning)
                       : bytes.substr(0, kBeginning),
                name);
  if (reader == nullptr) return std::nullopt;
  if (packed) {
    const Result<> unpacked =
        packed::unpack(bytes, name, kMostUnpacked, [&](std::string_view piece) { reader->add(piece); });
    if (!unpacked) return Result<model::Profile>(tl::unexpected(unpacked.error()));
    return reader->finish();
  }
  constexpr std::size_t kBehind = 8 * kPiece;  // a reader may still be at what it was handed before
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    reader->add_lasting(bytes.substr(at, kPiece));
    if (at >= kBehind)
      (void)::madvise(static_cast<char*>(mapping->data()) + (at - kBehind), kPiece, MADV_DONTNEED);
  }
  return reader->finish();
}

// A pipe may never end. Text in which nothing makes sense for so long is no profile.
constexpr std::uint64_t kMostWithoutSample = std::uint64_t{256} << 20;

// From a pipe. nullopt: it is something else, and begins with `begun`.
std::optional<Result<model::Profile>> streamed_pipe(const Fd& fd, const std::string& name,
                                                    std::string& begun) {
  std::string piece(kBeginning, '\0');
  const auto read_piece = [&]() -> Result<std::string_view> {
    for (;;) {
      const ssize_t count = ::read(fd.get(), piece.data(), piece.size());
      if (count >= 0) return std::string_view(piece).substr(0, static_cast<std::size_t>(count));
      if (errno != EINTR) return system_error(name, errno);
    }
  };
  for (bool ended = false; !ended && begun.size() < kBeginning;) {
    const auto read = read_piece();
    if (!read) return Result<model::Profile>(tl::unexpected(read.error()));
    ended = read->empty();
    begun.append(*read);
  }
  const auto reader = packed::is_packed(begun) ? nullptr : stream_of(begun, name);
  if (reader == nullptr) return std::nullopt;
  reader->add(std::exchange(begun, {}));
  std::uint64_t samples = 0, bytes_without = 0;
  for (;;) {
    const auto read = read_piece();
    if (!read) return Result<model::Profile>(tl::unexpected(read.error()));
    if (read->empty()) return reader->finish();
    reader->add(*read);
    bytes_without =
        reader->samples() == std::exchange(samples, reader->samples()) ? bytes_without + read->size() : 0;
    if (bytes_without > kMostWithoutSample)
      return Result<model::Profile>(fail(
          ErrorKind::kMalformed,
          fmt::format("{}: no sample in {} MiB after the first {}", name, kMostWithoutSample >> 20, samples),
          "the output of the profiler alone, without other text"));
  }
}

Result<dumps::DumpFile> dump_of(const Content& content, const std::string& path) {
  Result<formats::HeapDump> dump = formats::read_heap_dump(content.text, spoken(path));
  if (!dump) return tl::unexpected(dump.error());
  return dumps::DumpFile{path, formats::parse_dump_name(path), content.modified_unix_ns, std::move(*dump)};
}

Result<model::Profile> profile_of_dumps(const std::vector<dumps::DumpFile>& files, const NameOptions& names,
                                        const DumpOptions& options) {
  Result<dumps::FilesByName> binaries = dumps::FilesByName::scan(names.symbol_directory);
  if (!binaries) return tl::unexpected(binaries.error());
  Result<model::Profile> profile =
      completed(dumps::merge_dumps(files, options.merge, options.pid, std::move(*binaries)), names);
  if (profile) dumps::trim_allocator_frames(*profile);
  return profile;
}

// `release`: drops pages that were already read, if they can be read again.
Result<model::Profile> profile_of_perf_data(std::string_view bytes, const std::string& name,
                                            const NameOptions& names, std::function<void()> release) {
  Result<dumps::FilesByName> binaries = dumps::FilesByName::scan(names.symbol_directory);
  if (!binaries) return tl::unexpected(binaries.error());
  formats::PerfDataOptions options;
  options.called = [&](std::string_view file) { return binaries->called(file); };
  options.release = std::move(release);
  options.kernel = [](const formats::PerfKernel& kernel) { return functions_of_kernel(kernel); };
  return completed(called_after(formats::read_perf_data(bytes, name, options), name), names);
}

// Copies of stacks make files large, and little of them is used: never keep the whole file in memory.
Result<model::Profile> profile_of_perf_data(const Fd& fd, const std::string& name, const NameOptions& names) {
  const Result<Mapping> mapping = Mapping::of_fd(fd.get(), name);
  if (!mapping) return tl::unexpected(mapping.error());
  const std::string_view bytes(static_cast<const char*>(mapping->data()), mapping->size());
  return profile_of_perf_data(bytes, name, names,
                              [&] { (void)::madvise(mapping->data(), mapping->size(), MADV_DONTNEED); });
}

Result<model::Profile> with_choice(Result<model::Profile> profile, const store::ReadOptions& options) {
  if (profile && options.blocks) tell_block_choice(*options.blocks, *profile);
  return profile;
}

// Only recordings keep the lifetime of every block. Callers that ask for blocks "if recorded", such as the
// page, do without.
bool needs_blocks(const store::ReadOptions& options) {
  return options.blocks && !options.blocks->if_recorded;
}

tl::unexpected<Error> no_blocks(const std::string& name) {
  return fail(ErrorKind::kNotFound, name + ": blocks of the heap are chosen, and this is not a recording",
              "fathom record --heap=exact --each-block");
}

tl::unexpected<Error> no_addresses(const std::string& name) {
  return fail(ErrorKind::kUsage, name + ": --symbols needs addresses, and this file has names only",
              "without --symbols");
}

Result<model::Profile> open_one(const std::string& path, const store::ReadOptions& options,
                                const NameOptions& names, const DumpOptions& dump_options) {
  const bool is_stdin = path == "-";
  const std::string name = spoken(path);
  const Result<Fd> fd = open_input(path, name);
  if (!fd) return tl::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return system_error(name, errno);
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorKind::kUsage, fmt::format("{}: this is a folder", name),
                "a file of it, such as the newest *.fathom");
  }
  // A recording in a file is read in parts. A pipe can be read only once, so it is read whole.
  if (!is_stdin && S_ISREG(status.st_mode)) {
    std::array<std::byte, 8> first{};
    const ssize_t count = ::pread(fd->get(), first.data(), first.size(), 0);
    if (count > 0 && store::is_recording(std::span(first.data(), static_cast<std::size_t>(count))))
      return completed(with_choice(store::read(path, options), options), names);
    const std::string_view start(reinterpret_cast<const char*>(first.data()),
                                 count > 0 ? static_cast<std::size_t>(count) : 0);
    if (formats::is_perf_data(start)) {
      if (needs_blocks(options)) return no_blocks(name);
      return profile_of_perf_data(*fd, name, names);
    }
  }
  std::string begun;
  if (auto text = S_ISREG(status.st_mode) ? streamed_file(*fd, name) : streamed_pipe(*fd, name, begun)) {
    if (*text && needs_blocks(options)) return no_blocks(name);
    if (*text && !names.symbol_directory.empty()) return no_addresses(name);
    return called_after(std::move(*text), name);
  }
  const Result<Content> content = read_content(*fd, path, std::move(begun));
  if (!content) return tl::unexpected(content.error());
  if (store::is_recording(bytes_of(content->text)))
    return completed(with_choice(store::read_bytes(bytes_of(content->text), name, options), options), names);
  if (needs_blocks(options)) return no_blocks(name);
  if (formats::is_perf_data(content->text)) return profile_of_perf_data(content->text, name, names, {});
  if (formats::is_heap_dump(content->text)) {
    Result<dumps::DumpFile> dump = dump_of(*content, path);
    if (!dump) return tl::unexpected(dump.error());
    std::vector<dumps::DumpFile> one;
    one.push_back(std::move(*dump));
    return profile_of_dumps(one, names, dump_options);
  }
  Result<model::Profile> profile = read_text(content->text, path, name, names.statistics);
  if (!profile) return profile;
  // Some tools leave symbolization for later. If no frame has an address, nothing can be named, whatever a
  // folder contains.
  const bool has_addresses = std::ranges::any_of(profile->frames, [&](const model::Frame& frame) {
    return profile->modules[frame.module.value].kind == model::ModuleKind::kFile && frame.address.value != 0;
  });
  if (has_addresses) return completed(std::move(profile), names);
  if (!names.symbol_directory.empty()) return no_addresses(name);
  return profile;
}

}  // namespace

Result<model::Profile> open_profile(const std::string& path, const NameOptions& names,
                                    const store::ReadOptions& options) {
  return open_profiles({path}, options, names, {});
}

Result<model::Profile> open_profiles(const std::vector<std::string>& inputs,
                                     const store::ReadOptions& options, const NameOptions& names,
                                     const DumpOptions& dump_options) {
  const Result<std::vector<std::string>> files = files_of_inputs(inputs);
  if (!files) return tl::unexpected(files.error());
  if (files->size() == 1) return open_one(files->front(), options, names, dump_options);
  std::vector<dumps::DumpFile> all;
  std::vector<std::string>
      empty;  // a sentence for each: one dump that was being written must not cost the others
  std::uint64_t bytes = 0;
  for (const std::string& path : *files) {
    const std::string name = spoken(path);
    const Result<Fd> fd = open_input(path, name);
    if (!fd) return tl::unexpected(fd.error());
    const Result<Content> content = read_content(*fd, path);
    if (!content) return tl::unexpected(content.error());
    if (content->text.empty()) {
      empty.push_back(
          fmt::format("{}: the file is empty: a dump that was never finished; it is left out.", name));
      continue;
    }
    bytes += content->text.size();
    if (bytes > dump_options.most_bytes)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{} is the dump by which these {} files are more than {} MiB of text", name,
                              files->size(), dump_options.most_bytes >> 20),
                  "fewer of them, as every tenth");
    if (!formats::is_heap_dump(content->text))
      return fail(ErrorKind::kUsage,
                  fmt::format("{}: no heap dump, and only of these several are taken together", name),
                  "one file, or fathom diff BASE NEW");
    Result<dumps::DumpFile> dump = dump_of(*content, path);
    if (!dump) return tl::unexpected(dump.error());
    all.push_back(std::move(*dump));
  }
  if (all.empty())
    return fail(ErrorKind::kMalformed, "all of these dumps are empty",
                "another copy of the files, or write them again with the tool that made them");
  Result<model::Profile> profile = profile_of_dumps(all, names, dump_options);
  if (profile) std::ranges::move(empty, std::back_inserter(profile->quality.notes));
  return profile;
}

}  // namespace fathom::open
