#include "linux/memory/page_cache.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/files.h"
#include "base/stable_sort.h"
#include "linux/memory/mapped_file.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLeastMapped = std::uint64_t{4} << 20;
// Asked in pieces, so that the time is looked at: 10 ns for each cached page.
constexpr std::uint64_t kPiece = std::uint64_t{4} << 30, kMincorePiece = std::uint64_t{1} << 28;

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

struct CachestatRange {
  std::uint64_t start, size;
};
struct CachestatPages {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

int cachestat(int fd, CachestatRange range, CachestatPages& pages) {
  constexpr long kCachestat = 451;
  return static_cast<int>(::syscall(kCachestat, fd, &range, &pages, 0u));
}

// The pages are those of the file below it: a mapping leads there, and the file itself has none.
bool is_overlay(const Fd& file) {
  constexpr long kMagic = 0x794c7630;  // OVERLAYFS_SUPER_MAGIC
  struct statfs of {};
  return ::fstatfs(file.get(), &of) == 0 && of.f_type == kMagic;
}

CacheUse unknown(std::string reason) {
  CacheUse use;
  use.reason = std::move(reason);
  return use;
}

// For other users mincore reports everything as in memory.
bool may_ask_mincore(const Fd& file) {
  struct stat of {};
  return ::geteuid() == 0 || (::fstat(file.get(), &of) == 0 && of.st_uid == ::geteuid());
}

CacheUse read_by_mincore(const Fd& file, std::uint64_t file_bytes, std::uint64_t until_ns) {
  if (!may_ask_mincore(file)) return unknown("only its owner and root may ask");
  CacheUse use;
  use.way = CacheWay::kMincore;
  std::vector<unsigned char> pages;
  for (; use.asked < file_bytes; use.asked = std::min(file_bytes, use.asked + kMincorePiece)) {
    if (monotonic_ns() >= until_ns) {
      use.whole = false;
      break;
    }
    const std::uint64_t size = std::min(kMincorePiece, file_bytes - use.asked);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(use.asked));
    if (mapped == MAP_FAILED) return unknown(system_error("mapping it", errno).value().message);
    pages.assign((size + kPage - 1) / kPage, 0);
    const int result = ::mincore(mapped, size, pages.data());
    const int error = errno;
    ::munmap(mapped, size);
    if (result != 0) return unknown(system_error("asking for its pages", error).value().message);
    use.cached += kPage * static_cast<std::uint64_t>(std::count_if(pages.begin(), pages.end(),
                                                                   [](unsigned char c) { return c & 1; }));
  }
  return use;
}

}  // namespace

std::string_view database_of(std::string_view path) {
  const std::string_view name = last_part(path);
  if (name == "mdbx.dat") return "MDBX";
  if (name == "data.mdb") return "LMDB";  // and of MDBX where the program named it so
  if (name.ends_with(".sst")) return "RocksDB";
  if (name.ends_with(".ldb")) return "LevelDB";
  if (name.ends_with(".sqlite") || name.ends_with(".sqlite3")) return "SQLite";
  return "";
}

std::string_view to_string(CacheWay way) {
  switch (way) {
    case CacheWay::kCachestat:
      return "cachestat";
    case CacheWay::kMincore:
      return "mincore";
    case CacheWay::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<MappedFileUse> files_worth_asking(std::span<const MemoryMapping> mappings, std::size_t most) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string_view>;
  std::map<Key, MappedFileUse> by_file;
  for (const MemoryMapping& mapping : mappings) {
    const process::MapEntry& entry = mapping.entry;
    if (!entry.is_file() || !entry.path.starts_with('/') || entry.path.starts_with("/memfd:") ||
        entry.path.starts_with("/SYSV") || entry.path == "/anon_hugepage" || mapping.huge_file != 0 ||
        (entry.path == "/dev/zero" && entry.deleted))
      continue;
    MappedFileUse& use = by_file[{entry.device_major, entry.device_minor, entry.inode, entry.path}];
    if (use.mapped == 0) use.entry = entry;
    use.mapped += entry.size();
    use.has_code = use.has_code || entry.executable;
    use.resident += mapping.rss - std::min(mapping.rss, mapping.anonymous);
  }
  std::vector<MappedFileUse> files;
  for (auto& [key, use] : by_file)
    if (use.mapped >= kLeastMapped || !database_of(use.entry.path).empty()) files.push_back(std::move(use));
  stable_sort_rows(files.begin(), files.end(), [](const MappedFileUse& a, const MappedFileUse& b) {
    const bool a_database = !database_of(a.entry.path).empty(),
               b_database = !database_of(b.entry.path).empty();
    return a_database != b_database ? a_database : a.mapped > b.mapped;
  });
  if (files.size() > most) files.resize(most);
  return files;
}

std::vector<MappedFileUse> databases_worth_asking(std::span<const MemoryMapping> mappings, std::size_t most) {
  constexpr std::uint64_t kLarge = std::uint64_t{64} << 20;
  auto files = files_worth_asking(mappings, SIZE_MAX);
  std::erase_if(files, [](const MappedFileUse& use) {
    return database_of(use.entry.path).empty() && (use.has_code || use.mapped < kLarge);
  });
  if (files.size() > most) files.resize(most);
  return files;
}

CacheUse read_cache_use(const Fd& file, std::uint64_t file_bytes, std::uint64_t until_ns, bool by_mincore) {
  if (by_mincore) return read_by_mincore(file, file_bytes, until_ns);
  CacheUse use;
  use.way = CacheWay::kCachestat;
  for (; use.asked < file_bytes; use.asked = std::min(file_bytes, use.asked + kPiece)) {
    if (monotonic_ns() >= until_ns) {
      use.whole = false;
      break;
    }
    CachestatPages pages{};
    if (cachestat(file.get(), {use.asked, std::min(kPiece, file_bytes - use.asked)}, pages) != 0) {
      if (errno == EINTR) continue;
      if (errno == ENOSYS) return read_by_mincore(file, file_bytes, until_ns);
      if (errno == EPERM) return unknown("only its owner and root may ask");
      return unknown(system_error("asking for its pages", errno).value().message);
    }
    use.cached += pages.cached * kPage;
    use.dirty += pages.dirty * kPage;
    use.writeback += pages.writeback * kPage;
    use.evicted += pages.evicted * kPage;
    use.recently_evicted += pages.recently_evicted * kPage;
  }
  return use;
}

std::vector<CachedFile> read_page_cache(std::int32_t pid, std::span<const MappedFileUse> files,
                                        std::uint64_t until_ns) {
  std::vector<CachedFile> all;
  for (const MappedFileUse& use : files) {
    CachedFile file;
    file.path = use.entry.path;
    file.database = database_of(use.entry.path);
    file.mapped = use.mapped;
    file.resident = use.resident;
    if (const auto mapped = open_mapped_file(pid, use.entry)) {
      file.file_bytes = static_cast<std::uint64_t>(std::max<off_t>(mapped->of.st_size, 0));
      file.cache = read_cache_use(mapped->fd, file.file_bytes, until_ns, is_overlay(mapped->fd));
    } else {
      file.cache = unknown(mapped.error().message);
    }
    all.push_back(std::move(file));
  }
  return all;
}

std::vector<CachedFile> join_tables(std::vector<CachedFile> files) {
  std::vector<CachedFile> joined;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (CachedFile& file : files) {
    if (file.database != "RocksDB" && file.database != "LevelDB") {
      joined.push_back(std::move(file));
      continue;
    }
    file.path.resize(file.path.rfind('/') == std::string::npos ? 0 : file.path.rfind('/') + 1);
    const auto [place, first] = places.try_emplace({file.database, file.path}, joined.size());
    if (first) {
      joined.push_back(std::move(file));
      continue;
    }
    CachedFile& to = joined[place->second];
    to.files += file.files;
    to.file_bytes += file.file_bytes;
    to.mapped += file.mapped;
    to.resident += file.resident;
    // Of one that is not known the sum is a part.
    if (file.cache.way == CacheWay::kUnknown || to.cache.way == CacheWay::kUnknown) {
      if (to.cache.way == CacheWay::kUnknown) std::swap(to.cache, file.cache);
      to.cache.whole = false;
      continue;
    }
    to.cache.whole = to.cache.whole && file.cache.whole;
    to.cache.asked += file.cache.asked;
    to.cache.cached += file.cache.cached;
    to.cache.dirty += file.cache.dirty;
    to.cache.writeback += file.cache.writeback;
    to.cache.evicted += file.cache.evicted;
    to.cache.recently_evicted += file.cache.recently_evicted;
  }
  return joined;
}

}  // namespace fathom::sources
