#include "cli/newest_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/shell_word.h"
#include "cli/notices.h"
#include "tools/shelf/recordings.h"

namespace fathom::cli {

Error no_recording_here() {
  const auto folder = shelf::folder_with_recordings(".");
  return {ErrorKind::kNotFound, "there is no recording in this folder",
          folder ? fmt::format("fathom list {}, where there are some", shell_word(folder->string()))
                 : "fathom record -- COMMAND"};
}

std::vector<std::string> recordings_here() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  const auto look = [&](const fs::path& folder) {
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      std::error_code problem;
      if (entry->path().extension() != ".fathom" || !entry->is_regular_file(problem)) continue;
      const fs::file_time_type written = entry->last_write_time(problem);
      if (!problem) found.emplace_back(written, entry->path().lexically_normal().string());
    }
  };
  look(".");
  std::vector<fs::path> folders;
  for (fs::directory_iterator entry("fathom-profiles", ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    folders.push_back(entry->path());
  for (const fs::path& folder : folders) look(folder);
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [written, name] : found) names.push_back(std::move(name));
  return names;
}

Result<std::string> newest_recording() {
  const std::vector<std::string> all = recordings_here();
  if (all.empty()) return tl::unexpected<Error>(no_recording_here());
  return all.back();
}

Result<> choose_input(std::string& file) {
  if (!file.empty()) return {};
  Result<std::string> newest = newest_recording();
  if (!newest) return tl::unexpected(newest.error());
  file = std::move(*newest);
  say("fathom: using {}, the newest recording here\n", file);
  return {};
}

}  // namespace fathom::cli
