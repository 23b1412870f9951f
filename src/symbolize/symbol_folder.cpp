#include "symbolize/symbol_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "elf/module_file.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000;
constexpr int kDeepestFolder = 10;

bool has_names(const elf::ElfFile& file) {
  return file.section(".symtab") != nullptr || file.section(".debug_info") != nullptr;
}

}  // namespace

Result<SymbolFolder> SymbolFolder::scan(const std::string& path) {
  std::error_code error;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error);
  if (error) return fail(ErrorKind::kNotFound, fmt::format("{}: {}", path, error.message()));
  SymbolFolder folder;
  for (const fs::recursive_directory_iterator end;
       !error && entry != end && folder.files_.size() < kMostFiles; entry.increment(error)) {
    if (entry.depth() >= kDeepestFolder) entry.disable_recursion_pending();
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const auto file = elf::ModuleFile::open(entry->path().string());
    if (file && has_names(file->elf()))
      folder.files_.push_back({entry->path().string(), file->elf().build_id()});
  }
  // The order of a folder is chance; which of two files is used must not be.
  std::ranges::sort(folder.files_, {}, &SymbolFile::path);
  return folder;
}

std::vector<const SymbolFile*> SymbolFolder::of(const std::string& build_id) const {
  std::vector<const SymbolFile*> files;
  if (build_id.empty() || build_id.starts_with("x-")) return files;
  for (const SymbolFile& file : files_)
    if (file.build_id == build_id) files.push_back(&file);
  return files;
}

std::vector<const SymbolFile*> SymbolFolder::called(std::string_view module) const {
  std::vector<const SymbolFile*> files;
  for (const SymbolFile& file : files_) {
    const std::string name = fs::path(file.path).filename().string();
    if (name == module || name == std::string(module) + ".debug") files.push_back(&file);
  }
  return files;
}

}  // namespace fathom::symbolize
