#include "cli/clean_kinds.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <string>

#include "cli/earlier_results.h"
#include "formats/jemalloc/file_name.h"

namespace fathom::cli {
namespace {

namespace fs = std::filesystem;

Result<std::vector<shelf::Recording>> recordings_in(const fs::path& folder, std::uint64_t) {
  return shelf::find_recordings(folder, is_earlier_result);
}

// By name and by what is in it: a program may call anything "x.heap".
std::optional<std::string> process_of_dump(const fs::path& path) {
  const auto name = formats::parse_dump_name(path.string());
  if (!name) return std::nullopt;
  std::string first(16, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  const bool is_dump = std::string_view(first).starts_with("heap_v2/") ||
                       std::string_view(first).starts_with("heap profile: ");
  if (!is_dump) return std::nullopt;
  return fmt::format("{}.{}", fs::path(name->prefix).filename().string(), name->pid);
}

Result<std::vector<shelf::Recording>> dumps_in(const fs::path& folder, std::uint64_t now_unix_ns) {
  return shelf::find_files(folder, process_of_dump, now_unix_ns);
}

}  // namespace

const std::array<CleanKind, kCleanKindCount>& clean_kinds() {
  static constexpr std::array<CleanKind, kCleanKindCount> kKinds = {{
      {"recordings", "recording", recordings_in},
      {"dumps", "heap dump", dumps_in},
  }};
  return kKinds;
}

}  // namespace fathom::cli
