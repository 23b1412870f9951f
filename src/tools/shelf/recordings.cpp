#include "tools/shelf/recordings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "model/facts.h"
#include "model/still_recorded.h"
#include "model/store/reader.h"

namespace fathom::shelf {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kCompanions = {".svg",   ".html",         ".json",    ".json.gz",
                                                         ".pb.gz", ".timeline.svg", ".perfetto"};

constexpr std::string_view kNamelessFolder = "fathom-profiles";
constexpr std::string_view kStoreFolder = "fathom-store";

using IsOurs = std::function<bool(const fs::path&)>;

std::uint64_t size_of(const fs::path& path) {
  std::error_code problem;
  const std::uintmax_t size = fs::file_size(path, problem);
  return problem ? 0 : size;
}

std::uint64_t written_at(const fs::path& path) {
  std::error_code problem;
  const auto time = fs::last_write_time(path, problem);
  if (problem) return 0;
  const auto unix = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(unix).count());
}

bool is_regular(const fs::path& path) {
  std::error_code problem;
  return fs::symlink_status(path, problem).type() == fs::file_type::regular;
}

bool is_recording(const fs::path& path) {
  return path.extension() == ".fathom" && is_regular(path);
}

// The name that record and report use. That of the file is longer than the kernel's 15 bytes, but a file may be several programs:
// redis-server is a link to redis-check-rdb.
std::string program_of(std::string_view target, std::string_view name, std::string_view executable) {
  const std::string_view file = base_name(executable);
  const bool is_called_so = !name.empty() && target.starts_with(name) &&
                            (target.size() == name.size() || target[name.size()] == ' ');
  return std::string(file.empty() || (is_called_so && !file.starts_with(name)) ? name : file);
}

void take_facts(const model::Profile& profile, Recording& row) {
  row.target = profile.meta.target;
  row.start_unix_ns = profile.meta.start_unix_ns;
  row.duration_ns =
      profile.meta.end_ns > profile.meta.start_ns ? profile.meta.end_ns - profile.meta.start_ns : 0;
  for (const model::Thread& thread : profile.threads) row.cpu_ns += thread.cpu_ns;
  row.waits = profile.quality.waits != 0;
  row.heap = !profile.heap.heaps.empty();
  const std::string all_tags = model::facts_of<model::OriginFacts>(profile.meta).tags;
  for (std::string_view tags = all_tags; !tags.empty();) {
    const std::size_t end = std::min(tags.find(", "), tags.size());
    if (end != 0) row.tags.emplace_back(tags.substr(0, end));
    tags.remove_prefix(std::min(end + 2, tags.size()));
  }
  row.being_written = profile.meta.facts.contains(model::kStillRecordedFact);
  row.cut = profile.quality.truncated && !row.being_written;
  if (profile.processes.empty()) return;
  const std::string_view executable = profile.strings[profile.processes.front().executable];
  row.program = program_of(row.target, profile.strings[profile.processes.front().name], executable);
  for (const model::Module& module : profile.modules)
    if (!executable.empty() && profile.strings[module.path] == executable)
      row.build_id = profile.strings[module.build_id];
}

// The path stands in the row already.
std::string without_path(const std::string& message, const fs::path& path) {
  const std::string before = path.string() + ": ";
  return message.starts_with(before) ? message.substr(before.size()) : message;
}

Recording look_at(const fs::path& path, const IsOurs& is_ours) {
  Recording row;
  row.path = path;
  row.bytes = size_of(path);
  store::ReadOptions options;
  options.facts_only = true;
  const Result<model::Profile> profile = store::read(path.string(), options);
  if (profile)
    take_facts(*profile, row);
  else
    row.problem = without_path(profile.error().message, path);
  if (row.start_unix_ns == 0) row.start_unix_ns = written_at(path);
  for (const std::string_view ending : kCompanions) {
    fs::path with = path;
    with.replace_extension(ending);
    if (!is_regular(with) || !is_ours(with)) continue;
    row.bytes += size_of(with);
    row.companions.push_back(std::move(with));
  }
  return row;
}

// What keeps the folder from being read to its end; none.
std::error_code look_through(const fs::path& folder, const IsOurs& is_ours, std::vector<Recording>& found) {
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    if (!is_recording(entry->path())) continue;
    found.push_back(look_at(entry->path(), is_ours));
  }
  return problem;
}

bool holds_recordings(const fs::path& folder) {
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
    if (is_recording(entry->path())) return true;
  return false;
}

Result<> check_folder(const fs::path& folder, const std::string& remedy) {
  std::error_code problem;
  if (fs::is_directory(folder, problem)) return {};
  if (fs::exists(folder, problem))
    return fail(ErrorKind::kUsage, folder.string() + ": this is not a folder",
                "the folder that the file is in");
  return fail(ErrorKind::kNotFound, folder.string() + ": there is no such folder", remedy);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
    if (fs::symlink_status(entry->path(), problem).type() == fs::file_type::directory)
      folders.push_back(entry->path());
  return folders;
}

void sort_by_time(std::vector<Recording>& found) {
  std::ranges::sort(found, [](const Recording& a, const Recording& b) {
    return std::tie(a.start_unix_ns, a.path) < std::tie(b.start_unix_ns, b.path);
  });
}

}  // namespace

bool has_tag(const Recording& recording, std::string_view tag) {
  return std::ranges::find(recording.tags, tag) != recording.tags.end();
}

Result<std::vector<Recording>> find_recordings(const fs::path& folder, const IsOurs& is_ours) {
  if (auto is_one = check_folder(folder, "the folder that the recordings are in"); !is_one)
    return tl::unexpected<Error>(is_one.error());
  std::vector<Recording> found;
  if (const std::error_code unread = look_through(folder, is_ours, found); unread)
    return system_error(folder.string(), unread.value());
  for (const fs::path& each : folders_in(folder)) {
    const std::error_code unread = look_through(each, is_ours, found);
    if (!unread || unread == std::errc::no_such_file_or_directory) continue;
    Recording row;  // "no recordings" would not be true
    row.path = each;
    row.problem = unread.message();
    found.push_back(std::move(row));
  }
  sort_by_time(found);
  return found;
}

Result<std::vector<Recording>> find_recordings_here(const fs::path& here, const IsOurs& is_ours) {
  std::vector<Recording> found;
  if (const std::error_code unread = look_through(here, is_ours, found); unread)
    return system_error(here.string(), unread.value());
  const fs::path nameless = here / kNamelessFolder;
  if (std::error_code problem; fs::is_directory(nameless, problem)) {
    Result<std::vector<Recording>> more = find_recordings(nameless, is_ours);
    if (!more) return more;
    std::ranges::move(*more, std::back_inserter(found));
  }
  for (Recording& row : found) {
    row.path = row.path.lexically_normal();
    for (fs::path& companion : row.companions) companion = companion.lexically_normal();
  }
  sort_by_time(found);
  return found;
}

std::optional<fs::path> folder_with_recordings(const fs::path& here) {
  const fs::path store = here / kStoreFolder;
  if (std::ranges::any_of(folders_in(store), holds_recordings)) return store.lexically_normal();
  // Not the folders in these: here may be a home, or the root of all.
  std::vector<fs::path> folders = folders_in(here);
  std::ranges::sort(folders);
  const auto found = std::ranges::find_if(folders, holds_recordings);
  return found == folders.end() ? std::nullopt : std::optional(found->lexically_normal());
}

Result<std::vector<Recording>> find_files(
    const fs::path& folder, const std::function<std::optional<std::string>(const fs::path&)>& series_of,
    std::uint64_t now_unix_ns) {
  constexpr std::uint64_t kMinute = 60'000'000'000;
  if (auto is_one = check_folder(folder, "the folder that the files are in"); !is_one)
    return tl::unexpected<Error>(is_one.error());
  std::vector<fs::path> folders = folders_in(folder);
  folders.insert(folders.begin(), folder);
  std::vector<Recording> found;
  for (const fs::path& each : folders) {
    std::error_code problem;
    for (fs::directory_iterator entry(each, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      if (!is_regular(entry->path())) continue;
      auto series = series_of(entry->path());
      if (!series) continue;
      Recording row;
      row.path = entry->path();
      row.bytes = size_of(row.path);
      row.program = std::move(*series);
      row.start_unix_ns = written_at(row.path);
      row.being_written = row.start_unix_ns + kMinute > now_unix_ns;
      found.push_back(std::move(row));
    }
    if (problem && each == folder) return system_error(folder.string(), problem.value());
  }
  sort_by_time(found);
  return found;
}

}  // namespace fathom::shelf
