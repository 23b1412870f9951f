#include "binary/symbolize/symbol_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "binary/elf/module_file.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestFolder = 10;

bool has_names(const elf::ElfFile& file) {
  return file.section(".symtab") != nullptr || file.section(".debug_info") != nullptr;
}

bool has_names_or_packed_ones(const elf::ElfFile& file) {
  return has_names(file) || file.section(".gnu_debugdata") != nullptr;
}

struct Folder {
  std::string path;
  int depth = 0;
};

// Entries of folders, nearest folders first.
class Walk {
 public:
  explicit Walk(std::size_t most_entries) : left_(most_entries) {}

  // The regular files of one folder; those below it wait in next(). An error: it cannot be read.
  std::error_code read(const Folder& folder, std::vector<std::string>& files) {
    std::error_code error;
    fs::directory_iterator entry(folder.path, error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
      if (left_ == 0) {
        cut_ = true;
        break;
      }
      --left_;
      std::error_code ignored;  // an entry that is gone by now is neither
      if (fs::is_directory(entry->symlink_status(ignored))) {
        if (folder.depth < kDeepestFolder)
          below_.push_back({entry->path().string(), folder.depth + 1});
        else
          ++too_deep_;
      } else if (entry->is_regular_file(ignored)) {
        files.push_back(entry->path().string());
      }
    }
    return error;
  }
  bool next(Folder& folder) {
    if (cut_ || below_.empty()) return false;
    folder = std::move(below_.front());
    below_.pop_front();
    return true;
  }
  bool cut() const { return cut_; }
  std::size_t too_deep() const { return too_deep_; }

 private:
  std::size_t left_;
  std::deque<Folder> below_;
  bool cut_ = false;
  std::size_t too_deep_ = 0;
};

}  // namespace

Result<SymbolFolder> SymbolFolder::scan(const std::string& path, std::size_t most_entries) {
  SymbolFolder folder;
  Walk walk(most_entries);
  std::vector<std::string> paths;
  std::error_code no_file;
  if (fs::is_regular_file(path, no_file)) {
    paths.push_back(path);
    folder.is_file_ = true;
  } else if (const std::error_code error = walk.read({path}, paths))
    return fail(error == std::errc::permission_denied ? ErrorKind::kPermission : ErrorKind::kNotFound,
                fmt::format("{}: {}", path, error.message()));
  std::size_t closed = 0;
  std::string a_closed_one;
  for (Folder below; walk.next(below);) {
    if (!walk.read(below, paths)) continue;
    if (closed++ == 0) a_closed_one = below.path;
  }
  // The order of a folder is chance; which of two files is used must not be.
  std::ranges::sort(paths);
  for (std::string& file_path : paths) {
    const auto file = elf::ModuleFile::open(file_path);
    if (!file || !has_names_or_packed_ones(file->elf())) {
      if (folder.is_file_)
        folder.gaps_.push_back(fmt::format("{} is not used: {}", file_path,
                                           file ? "it has neither a symbol table nor debug information"
                                                : "it is not an ELF file that can be read"));
      continue;
    }
    const auto row = static_cast<std::uint32_t>(folder.files_.size());
    folder.by_name_[fs::path(file_path).filename().string()].push_back(row);
    folder.by_build_id_[file->elf().build_id()].push_back(row);
    folder.files_.push_back({std::move(file_path), file->elf().build_id()});
  }
  if (walk.cut())
    folder.gaps_.push_back(fmt::format(
        "{} has more than {} files and folders, so fathom searched only those; give a deeper folder", path,
        most_entries));
  if (closed != 0)
    folder.gaps_.push_back(
        fmt::format("{} of the folders below {} cannot be read, such as {}", closed, path, a_closed_one));
  if (walk.too_deep() != 0)
    folder.gaps_.push_back(
        fmt::format("{} of the folders below {} are more than {} levels deep and were not searched",
                    walk.too_deep(), path, kDeepestFolder));
  return folder;
}

void SymbolFolder::append_rows(const Rows& rows, const std::string& key,
                               std::vector<const SymbolFile*>& files) const {
  const auto found = rows.find(key);
  if (found == rows.end()) return;
  for (const std::uint32_t row : found->second) files.push_back(&files_[row]);
}

std::vector<const SymbolFile*> SymbolFolder::of(const std::string& build_id) const {
  std::vector<const SymbolFile*> files;
  if (!build_id.empty() && !build_id.starts_with("x-")) append_rows(by_build_id_, build_id, files);
  return files;
}

std::string SymbolFolder::refusal(const std::vector<std::string>& build_ids) const {
  if (!is_file_ || files_.empty()) return "";
  const SymbolFile& file = files_.front();
  const bool by_code =
      std::ranges::any_of(build_ids, [](const std::string& id) { return id.starts_with("x-"); });
  if (file.build_id.empty())
    return by_code ? "" : fmt::format("{} is not used: it has no build id", file.path);
  if (std::ranges::find(build_ids, file.build_id) != build_ids.end()) return "";
  return fmt::format("{} is not used: its build id is {}, and no module of the recording has that", file.path,
                     file.build_id);
}

std::vector<const SymbolFile*> SymbolFolder::called(std::string_view module) const {
  std::vector<const SymbolFile*> files;
  append_rows(by_name_, std::string(module), files);
  append_rows(by_name_, std::string(module) + ".debug", files);
  std::ranges::sort(files);  // pointers into one array, which is by path
  return files;
}

std::vector<const SymbolFile*> SymbolFolder::without_build_id(std::string_view module) const {
  std::vector<const SymbolFile*> files;
  if (is_file_ && !files_.empty())
    files.push_back(&files_.front());
  else
    files = called(module);
  std::erase_if(files, [](const SymbolFile* file) { return !file->build_id.empty(); });
  return files;
}

}  // namespace fathom::symbolize
