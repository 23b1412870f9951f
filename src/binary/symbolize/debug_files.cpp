#include "binary/symbolize/debug_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTwins = 20'000;
constexpr int kDeepestFolder = 10;

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Where the code is. Nothing for a file without section headers: its segments hold more than code, and what
// strippers change.
struct Code {
  ElfAddress address;
  std::uint64_t size = 0;
};
Code code_of(const elf::ElfFile& file) {
  if (const auto* text = file.section(".text"); text != nullptr && text->type == SHT_PROGBITS)
    return {text->address, text->size};
  return {};
}

std::uint64_t hash_of(const elf::ElfFile& file, Code code) {
  const auto bytes = file.bytes_at(code.address, code.size);
  return bytes ? XXH3_64bits(bytes->data(), bytes->size()) : 0;
}

bool has_names(const elf::ElfFile& file) {
  return file.section(".symtab") != nullptr || file.section(".debug_info") != nullptr;
}

std::optional<DebugFile> open_file(const std::string& path) {
  // Opening a FIFO or a device by a name that the target chose would block, or worse. What is behind the name
  // may change.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto file = elf::ModuleFile::of_fd(fd.get(), path);
  if (!file) return std::nullopt;
  return DebugFile{path, std::move(fd), std::move(*file)};
}

}  // namespace

std::vector<std::string> debuginfod_caches() {
  const auto absolute = [](const char* variable) -> std::string {
    const char* value = std::getenv(variable);
    return value != nullptr && value[0] == '/' ? value : "";
  };
  if (std::string path = absolute("DEBUGINFOD_CACHE_PATH"); !path.empty()) return {path};
  std::vector<std::string> folders;
  const std::string home = absolute("HOME"), cache = absolute("XDG_CACHE_HOME");
  if (!home.empty()) folders.push_back(home + "/.debuginfod_client_cache");
  if (!cache.empty() || !home.empty())
    folders.push_back((cache.empty() ? home + "/.cache" : cache) + "/debuginfod_client");
  return folders;
}

std::optional<DebugFile> DebugFiles::find(const elf::ElfFile& module, const ModuleSource& source) {
  const std::string build_id = module.build_id();
  if (!build_id.empty()) {
    if (auto found = twin_by_build_id(build_id, source.path)) return found;
    if (auto found = by_build_id(build_id, source)) return found;
  }
  if (auto found = by_debug_link(module, build_id, source)) return found;
  if (auto found = in_debuginfod_caches(build_id)) return found;
  return twin_by_code(module, source.path);
}

std::optional<DebugFile> DebugFiles::by_build_id(const std::string& build_id,
                                                 const ModuleSource& source) const {
  if (build_id.size() < 3) return std::nullopt;
  const std::string name = "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
  std::set<std::string> roots = {source.root, ""};
  for (auto root = roots.rbegin(); root != roots.rend(); ++root)
    for (const auto& directory : options_.debug_directories)
      if (auto file = open_file(*root + directory + name); file && file->file.elf().build_id() == build_id)
        return file;
  return std::nullopt;
}

std::optional<DebugFile> DebugFiles::in_debuginfod_caches(const std::string& build_id) const {
  if (build_id.size() < 3) return std::nullopt;
  for (const std::string& folder : options_.debuginfod_caches)
    if (auto file = open_file(folder + "/" + build_id + "/debuginfo");
        file && file->file.elf().build_id() == build_id)
      return file;
  return std::nullopt;
}

std::optional<DebugFile> DebugFiles::by_debug_link(const elf::ElfFile& module, const std::string& build_id,
                                                   const ModuleSource& source) const {
  const auto link = module.debug_link();
  if (!link || link->file.empty() || link->file.find('/') != std::string::npos) return std::nullopt;
  const std::string directory = fs::path(source.path).parent_path().string();
  std::set<std::string> roots = {source.root, ""};
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
    std::vector<std::string> candidates = {directory + "/" + link->file, directory + "/.debug/" + link->file};
    for (const auto& debug : options_.debug_directories)
      candidates.push_back(debug + directory + "/" + link->file);
    for (const auto& candidate : candidates) {
      auto file = open_file(*root + candidate);
      if (!file || !has_names(file->file.elf())) continue;
      // Two equal build ids prove it without reading gigabytes for the checksum.
      const auto other_id = file->file.elf().build_id();
      const bool proved = !build_id.empty() && !other_id.empty()
                              ? build_id == other_id
                              : checksum(file->file.elf().bytes()) == link->crc;
      if (proved) return file;
    }
  }
  return std::nullopt;
}

void DebugFiles::scan_symbol_directory() {
  if (scanned_) return;
  scanned_ = true;
  if (options_.symbol_directory.empty()) return;
  std::error_code error;
  const auto add = [&](const std::string& path) {
    const auto file = elf::ModuleFile::open(path);
    if (!file || !has_names(file->elf())) return;
    const Code code = code_of(file->elf());
    twins_.push_back({path, file->elf().build_id(), code.address.value, code.size, {}});
  };
  if (fs::is_regular_file(options_.symbol_directory, error)) return add(options_.symbol_directory);
  for (fs::recursive_directory_iterator
           entry(options_.symbol_directory, fs::directory_options::skip_permission_denied, error),
       end;
       !error && entry != end && twins_.size() < kMostTwins; entry.increment(error)) {
    if (entry.depth() >= kDeepestFolder) entry.disable_recursion_pending();
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) add(entry->path().string());
  }
  // The order of a folder is chance; which of two twins is used must not be.
  std::sort(twins_.begin(), twins_.end(), [](const Twin& a, const Twin& b) { return a.path < b.path; });
}

std::optional<DebugFile> DebugFiles::twin_by_build_id(const std::string& build_id,
                                                      const std::string& module_path) {
  scan_symbol_directory();
  for (const auto& twin : twins_) {
    if (twin.build_id != build_id || twin.path == module_path) continue;
    if (auto file = open_file(twin.path)) return file;
  }
  return std::nullopt;
}

std::optional<DebugFile> DebugFiles::twin_by_code(const elf::ElfFile& module,
                                                  const std::string& module_path) {
  scan_symbol_directory();
  const Code code = code_of(module);
  if (code.size == 0) return std::nullopt;
  std::optional<std::uint64_t> hash;
  for (auto& twin : twins_) {
    if (twin.path == module_path || twin.code_address != code.address.value || twin.code_size != code.size)
      continue;
    auto file = open_file(twin.path);
    if (!file) continue;
    if (!hash) hash = hash_of(module, code);
    if (!twin.code_hash) twin.code_hash = hash_of(file->file.elf(), code);
    if (*hash != 0 && hash == twin.code_hash) return file;
  }
  return std::nullopt;
}

}  // namespace fathom::symbolize
