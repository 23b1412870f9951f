// fathom symbolize: names for a recording that was made without them, kept in it.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "analysis/core/functions.h"
#include "analysis/core/words.h"
#include "base/fd.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/save_recording.h"
#include "cli/selection_options.h"

namespace fathom::cli {
namespace {

struct SymbolizeArguments {
  std::string file, symbols, output;
  DumpInputs dumps;
  bool force = false;
};

std::uint64_t named_frames(const model::Profile& profile) {
  std::uint64_t named = 0;
  for (const model::Frame& frame : profile.frames) {
    if (frame.line_count == 0) continue;
    // The last of its lines is the function itself. One whose bounds alone are known is called by its address.
    const model::Line& line = profile.lines[frame.first_line + frame.line_count - 1];
    named += analysis::is_unnamed(profile.strings[profile.functions[line.function.value].name]) ? 0 : 1;
  }
  return named;
}

// The input is opened twice. What comes through a pipe is kept in memory, in the place of standard input, for the second time.
Result<> make_standard_input_seekable() {
  if (::lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0) return {};
  const Fd kept(::memfd_create("standard input", MFD_CLOEXEC));
  if (!kept) return system_error("standard input", errno);
  std::array<char, 1 << 16> piece;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("standard input", errno);
    if (count == 0) break;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written =
          ::write(kept.get(), piece.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error("standard input", errno);
      done += written;
    }
  }
  if (::lseek(kept.get(), 0, SEEK_SET) < 0 || ::dup2(kept.get(), STDIN_FILENO) < 0)
    return system_error("standard input", errno);
  return {};
}

Result<int> run_symbolize(const SymbolizeArguments& arguments) {
  off_t start = 0;
  if (arguments.file == "-") {
    if (const Result<> kept = make_standard_input_seekable(); !kept) return tl::unexpected(kept.error());
    start = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  }
  const auto opened = [&](const std::string& symbols) {
    return open_with_names(arguments.file, {}, symbols, arguments.dumps, {}, false, nullptr,
                           {.name = "", .all = true});
  };
  const Result<model::Profile> before = opened("");
  if (!before) return tl::unexpected(before.error());
  if (arguments.file == "-") (void)::lseek(STDIN_FILENO, start, SEEK_SET);
  const Result<model::Profile> after = opened(arguments.symbols);
  if (!after) return tl::unexpected(after.error());
  const std::uint64_t had = named_frames(*before), has = named_frames(*after);
  if (before->lines == after->lines && had == has)
    return fail(ErrorKind::kNotFound,
                fmt::format("{}: nothing in {} adds a missing name", arguments.file, arguments.symbols),
                "the unstripped twins or debug files of exactly the programs that were recorded");
  if (const Result<> saved = save_recording(*after, arguments.output, arguments.force); !saved)
    return tl::unexpected(saved.error());
  say("{}: {} of {} places have names, {} before\n", arguments.output,
      analysis::with_commas(static_cast<std::int64_t>(has)),
      analysis::with_commas(static_cast<std::int64_t>(after->frames.size())),
      analysis::with_commas(static_cast<std::int64_t>(had)));
  return kDone;
}

}  // namespace

Run add_symbolize(CLI::App& app) {
  auto arguments = std::make_shared<SymbolizeArguments>();
  app.add_option("file", arguments->file, "recording, or heap dump of jemalloc")
      ->required()
      ->type_name("FILE");
  begin_group(app, kOutputGroup);
  app.add_option("-o,--output", arguments->output, "recording to write, with names")
      ->required()
      ->type_name("OUT");
  add_symbols_option(app, arguments->symbols);
  app.get_option("--symbols")->required();
  app.add_flag("-f,--force", arguments->force, "-o may replace any regular file");
  return [arguments] { return run_symbolize(*arguments); };
}

}  // namespace fathom::cli
