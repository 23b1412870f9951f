#include "cli/span_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>

#include "analysis/core/words.h"
#include "analysis/spans/keep_spans.h"
#include "base/files.h"
#include "base/packed/unpacker.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/seconds_word.h"
#include "formats/spans/add_spans.h"
#include "model/store/reader.h"

namespace fathom::cli {
namespace {

namespace filesystem = std::filesystem;

constexpr std::size_t kMostSpanFiles = 10'000;
constexpr std::uint64_t kMostSpanBytes = std::uint64_t{1} << 30;

bool is_a_recording(const std::string& path) {
  std::error_code ignored;
  if (!filesystem::is_regular_file(path, ignored)) return false;
  std::string first(64, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  return store::is_recording(std::as_bytes(std::span(first)));
}

// A folder stands for the marker files in it and below, where samply's library puts one folder per process.
Result<std::vector<std::string>> span_paths(const std::string& path) {
  std::error_code error;
  if (!filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> paths;
  for (auto at = filesystem::recursive_directory_iterator(
           path, filesystem::directory_options::skip_permission_denied, error);
       !error && at != filesystem::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("marker") && name.ends_with(".txt") && at->is_regular_file(error))
      paths.push_back(at->path().string());
    if (paths.size() == kMostSpanFiles) break;
  }
  if (paths.empty())
    return fail(ErrorKind::kNotFound, "--spans: no marker files in " + path,
                "files named marker-PID-TID.txt");
  std::ranges::sort(paths);
  return paths;
}

Result<formats::SpanFile> read_span_file(const std::string& path) {
  Result<std::string> text = read_file(path, kMostSpanBytes);
  if (text && packed::is_packed(*text)) text = packed::unpacked(*text, path, kMostSpanBytes);
  if (!text) return within("--spans", text.error());
  auto file = formats::read_spans(*text, path);
  if (!file) return within("--spans", file.error());
  return file;
}

}  // namespace

void add_span_options(CLI::App& app, SpanOptions& options) {
  app.add_option_function<std::vector<std::string>>(
         "--spans",
         [&options](const std::vector<std::string>& files) {
           options.asked = true;
           for (const std::string& file : files)
             if (!file.empty()) options.files.push_back(file);
         },
         "spans: how long, and where their time goes; FILE: marker files, a folder of them, Chrome traces, OTLP or Jaeger JSON")
      ->type_name("FILE")
      ->expected(0, static_cast<int>(kMostSpanFiles));
  app.add_option("--span", options.name, "only the time of this kind of span, in every view")
      ->type_name("NAME");
  app.add_option("--slower-than", options.slower_s, "with --span: only spans that took at least TIME")
      ->type_name("TIME")
      ->transform(seconds_word())
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--faster-than", options.faster_s, "with --span: only spans that took less than TIME")
      ->type_name("TIME")
      ->transform(seconds_word())
      ->check(CLI::Range(0.0, 1e9));
}

void take_recording(SpanOptions& options, std::string& input) {
  if (!input.empty()) return;
  const auto found = std::ranges::find_if(options.files, is_a_recording);
  if (found == options.files.end()) return;
  input = *found;
  options.files.erase(found);
}

void say_placement(const formats::SpanFile& file, const formats::AddedSpans& added) {
  const std::string name = analysis::printable(file.path);
  if (added.placement == formats::SpanPlacement::kUnknown)
    say("fathom: {}: its clock does not fit the recording's, so fathom uses only the lengths of its spans\n",
        name);
  if (added.placement == formats::SpanPlacement::kProcessStart)
    say("fathom: {}: its times count from an unnamed start; fathom assumes the start of the process\n", name);
  if (added.known != 0)
    say("fathom: {}: {} in the recording already; fathom counts them once\n", name,
        analysis::counted(added.known, "span is", "spans are"));
  if (added.added == 0 && added.outside != 0)
    say("fathom: {}: all {} are outside of the recording\n", name, analysis::counted(added.outside, "span"));
  if (added.without_thread != 0)
    say("fathom: {}: {} of {} spans ran on threads that fathom did not record or cannot identify\n", name,
        added.without_thread, added.added);
  if (file.is_cut && file.source != model::SpanSource::kMarkerFile)
    say("fathom: {}: it ends in the middle of an event; fathom uses those before\n", name);
  if (file.left_out != 0)
    say("fathom: {}: {} left out: damaged, without an end, or more than fathom reads\n", name,
        analysis::counted(file.left_out, "line or event", "lines or events"));
}

Result<std::vector<formats::SpanFile>> read_span_files(const std::vector<std::string>& paths) {
  std::vector<formats::SpanFile> files;
  std::size_t left = formats::kMostSpans;
  for (const std::string& named : paths) {
    const auto all = span_paths(named);
    if (!all) return tl::unexpected(all.error());
    std::size_t read = 0;
    std::optional<Error> wrong;
    for (const std::string& path : *all) {
      auto file = read_span_file(path);
      if (!file) {
        // The program may still write to one of its files; the others are whole.
        if (path != named)
          say("fathom: {}; the file is left out\n", analysis::printable(file.error().message));
        wrong = file.error();
        continue;
      }
      ++read;
      const std::size_t spans = std::min(left, file->spans.size());
      file->left_out += file->spans.size() - spans;
      file->spans.resize(spans);
      file->spans.shrink_to_fit();
      left -= spans;
      files.push_back(std::move(*file));
    }
    if (read == 0 && wrong) return tl::unexpected(*wrong);
  }
  return files;
}

Result<> apply_spans(model::Profile& profile, const SpanOptions& options) {
  if ((options.slower_s || options.faster_s) && options.name.empty())
    return fail(ErrorKind::kUsage, "--slower-than and --faster-than choose among the spans of --span",
                "--span NAME --slower-than 100ms");
  if (options.slower_s && options.faster_s && *options.faster_s <= *options.slower_s)
    return fail(ErrorKind::kUsage, "no span takes at least --slower-than and less than --faster-than",
                "--slower-than 20ms --faster-than 100ms");
  if (!options.files.empty()) {
    const auto files = read_span_files(options.files);
    if (!files) return tl::unexpected(files.error());
    const auto asleep = formats::asleep_times(profile);
    for (const formats::SpanFile& file : *files)
      say_placement(file, formats::add_spans(profile, file, asleep));
  }
  if (options.name.empty()) return {};
  analysis::SpanChoice choice;
  choice.name = options.name;
  if (options.slower_s) choice.slower_than_ns = static_cast<std::uint64_t>(*options.slower_s * 1e9);
  if (options.faster_s) choice.faster_than_ns = static_cast<std::uint64_t>(*options.faster_s * 1e9);
  const auto kept = analysis::keep_spans(profile, choice);
  if (!kept) return tl::unexpected(kept.error());
  say("fathom: --span: {} of {} of {}, {}\n", analysis::with_commas(static_cast<std::int64_t>(kept->spans)),
      analysis::counted(kept->of, "span"), analysis::printable(kept->name),
      analysis::seconds(kept->time_ns * 1e-9));
  return {};
}

}  // namespace fathom::cli
