#include "tools/oom/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analysis/core/words.h"
#include "model/profile.h"
#include "model/store/reader.h"

namespace fathom::oom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRecordings = 5;
constexpr std::size_t kMostFiles = 100'000;
constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;  // of what is read at a time

// Newest first: their names are times.
std::vector<std::string> recordings_of(const std::string& folder, const std::string& name) {
  std::vector<std::string> found;
  std::error_code error;
  for (auto program = fs::directory_iterator(folder, error); !error && program != fs::directory_iterator();
       program.increment(error)) {
    if (!program->path().filename().string().starts_with(name)) continue;
    std::error_code inner;
    for (auto file = fs::directory_iterator(program->path(), inner);
         !inner && file != fs::directory_iterator(); file.increment(inner))
      if (file->path().extension() == ".fathom" && found.size() < kMostFiles)
        found.push_back(file->path().string());
  }
  std::ranges::sort(found, std::greater{},
                    [](const std::string& path) { return fs::path(path).filename().string(); });
  if (found.size() > kMostRecordings) found.resize(kMostRecordings);
  return found;
}

}  // namespace

std::vector<Evidence> find_evidence(const std::string& folder, std::int64_t pid, const std::string& name) {
  std::vector<Evidence> all;
  if (name.empty()) return all;
  for (const std::string& path : recordings_of(folder, name)) {
    store::ReadOptions options;
    options.memory_limit_bytes = kMemory;
    const auto profile = store::read(path, options);
    if (!profile) continue;
    for (const model::Process& process : profile->processes) {
      if (process.pid != pid) continue;
      all.push_back(
          {path,
           fmt::format("pid {} was recorded{} for {}", pid, profile->heap.empty() ? "" : ", with its heap,",
                       analysis::seconds(static_cast<double>(profile->meta.end_ns - profile->meta.start_ns) *
                                         1e-9))});
      break;
    }
  }
  return all;
}

}  // namespace fathom::oom
