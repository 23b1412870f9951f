#include "cli/newest_recording.h"

#include <fmt/format.h>

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

Result<std::string> newest_recording() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path newest;
  fs::file_time_type at;
  const auto look = [&](const fs::path& folder) {
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      std::error_code problem;
      if (entry->path().extension() != ".fathom" || !entry->is_regular_file(problem)) continue;
      const fs::file_time_type written = entry->last_write_time(problem);
      if (problem || (!newest.empty() && written <= at)) continue;
      newest = entry->path();
      at = written;
    }
  };
  look(".");
  std::vector<fs::path> folders;
  for (fs::directory_iterator entry("fathom-profiles", ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    folders.push_back(entry->path());
  for (const fs::path& folder : folders) look(folder);
  if (newest.empty()) return tl::unexpected<Error>(no_recording_here());
  return newest.lexically_normal().string();
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
