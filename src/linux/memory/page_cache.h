// The page cache of the files that a process maps, whichever process read them: a terabyte database is mapped
// as a whole, and its speed depends on which part is in memory, waits to be written, or was just evicted.
// Sources: cachestat(2) (Linux 6.5, call 451), which reads the file alone and not the process; before it
// mincore(2) on a mapping of our own, which reports cached pages only.
//
// The choice of files is pure. A file is opened for reading only, after a check that it is a regular one; the
// file system behind it may be the target's own (FUSE) and not answer, so the caller must expect to block.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/memory/memory_map.h"

namespace fathom::sources {

// "MDBX", "LMDB", "RocksDB", "LevelDB", "SQLite" by what their files are called; "" for others.
std::string_view database_of(std::string_view path);

// A file that is mapped, and what of it is mapped into RSS.
struct MappedFileUse {
  process::MapEntry entry;  // one of its mappings
  std::uint64_t mapped = 0, resident = 0;
  bool has_code = false;
};
// Databases first, then by size of what is mapped; at most `most` of them. Small ones (below 4 MiB) are left out, and
// memory that only looks like a file.
std::vector<MappedFileUse> files_worth_asking(std::span<const MemoryMapping> mappings, std::size_t most);

// Of those the databases: by their names, and whatever else is mapped as data and is large (64 MiB).
std::vector<MappedFileUse> databases_worth_asking(std::span<const MemoryMapping> mappings, std::size_t most);

enum class CacheWay : std::uint8_t { kCachestat, kMincore, kUnknown };
std::string_view to_string(CacheWay way);  // "cachestat", "mincore", "unknown"

// Bytes, whole pages.
struct CacheUse {
  CacheWay way = CacheWay::kUnknown;
  std::string reason;  // of kUnknown
  bool whole = true;   // else the time was used up: of the file's first `asked` bytes
  std::uint64_t asked = 0;
  std::uint64_t cached = 0;
  // Of kCachestat only.
  std::uint64_t dirty = 0, writeback = 0;
  // Thrown out of memory since it was last in, as far as the kernel remembers; and of that so lately that it would
  // count as pressure to read it again.
  std::uint64_t evicted = 0, recently_evicted = 0;
};
CacheUse read_cache_use(const Fd& file, std::uint64_t file_bytes, std::uint64_t until_ns,
                        bool by_mincore = false);

struct CachedFile {
  std::string path;      // of several (RocksDB's tables): their folder
  std::string database;  // "": none that is known
  std::uint64_t files = 1;
  std::uint64_t file_bytes = 0, mapped = 0, resident = 0;
  CacheUse cache;
};
// `until_ns` (CLOCK_MONOTONIC): no further call is begun after it.
std::vector<CachedFile> read_page_cache(std::int32_t pid, std::span<const MappedFileUse> files,
                                        std::uint64_t until_ns);

// Tables of one RocksDB or LevelDB are one row.
std::vector<CachedFile> join_tables(std::vector<CachedFile> files);

}  // namespace fathom::sources
