// The recordings below a folder, as `fathom list` shows them. What a file says of itself is untrusted: a file that is no recording
// is left out, one that cannot be read is listed with the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::shelf {

struct Recording {
  std::filesystem::path path;
  std::uint64_t bytes = 0;  // of the file and of what lies with it
  std::vector<std::filesystem::path>
      companions;  // files of the same name with another ending that fathom writes: .svg, .html ...

  std::string problem;   // why the file could not be read; what follows is then empty
  std::string target;    // as record named it: "redis-server (pid 12)"
  std::string program;   // name of its first process
  std::string build_id;  // of that process's executable; empty: not known
  std::uint64_t start_unix_ns =
      0;  // of a file that does not say it, such as a merged one: when it was written
  std::uint64_t duration_ns = 0;
  std::uint64_t cpu_ns = 0;       // measured, of all threads
  std::vector<std::string> tags;  // of record --tag
  bool waits = false, heap = false;
  bool being_written = false;
  bool cut = false;  // ended by a kill or a full disk; what was written by then is readable
};

bool has_tag(const Recording& recording, std::string_view tag);

// Those of `folder` and of the folders in it, oldest first. Links are not followed. `is_ours`: whether fathom wrote a file; a user's
// own picture or notes of the same name are no companions. kNotFound: there is no such folder.
Result<std::vector<Recording>> find_recordings(
    const std::filesystem::path& folder, const std::function<bool(const std::filesystem::path&)>& is_ours);

// Where no folder was named: the recordings of `here`, and of its fathom-profiles, where record puts those without a name, with the
// folders in it. Oldest first; empty: there are none.
Result<std::vector<Recording>> find_recordings_here(
    const std::filesystem::path& here, const std::function<bool(const std::filesystem::path&)>& is_ours);

// Where find_recordings_here() found nothing: a folder in `here` in which find_recordings() does, as the store of fathom serve. nullopt:
// there is none.
std::optional<std::filesystem::path> folder_with_recordings(const std::filesystem::path& here);

// Other files of `folder` and of the folders in it, by the time when they were written: heap dumps, pictures. `series_of`: which files
// belong together, as the dumps of one process do, becomes Recording::program; nothing for a file that is not wanted. One that was written
// in the last minute counts as being written. Links are not followed. kNotFound: there is no such folder.
Result<std::vector<Recording>> find_files(
    const std::filesystem::path& folder,
    const std::function<std::optional<std::string>(const std::filesystem::path&)>& series_of,
    std::uint64_t now_unix_ns);

}  // namespace fathom::shelf
