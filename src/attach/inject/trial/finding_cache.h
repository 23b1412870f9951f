// Caches the result of the search through a file's code between recordings: the second start for a large
// program does not search again. Stored under the module's identity, and only used if every byte of the file
// is the same, because a stripped file has the build id of its unstripped twin, and only by the same build of
// fathom, because its rules found it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/nameless/kept_findings.h"
#include "attach/allocators/nameless/library_code.h"
#include "base/cache_folder.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

class FindingCache {
 public:
  // `folder` as in CacheFolder; `allocator`: which one was searched for, "jemalloc". `file` outlives it.
  FindingCache(const std::string& folder, const elf::ElfFile& file, std::string_view allocator);

  std::optional<allocators::nameless::Findings> load();
  void save(const allocators::nameless::Findings& findings);

 private:
  const std::string& stamp();

  CacheFolder folder_;
  const elf::ElfFile& file_;
  std::string allocator_, name_, stamp_;
};

// Like find_jemalloc_entries().
Result<allocators::nameless::JemallocEntries> find_or_recall_jemalloc(const elf::ElfFile& file,
                                                                      FindingCache& cache);

// The code of a library; only searches for what the cache does not contain.
class RecalledCode : public allocators::nameless::LibraryCode {
 public:
  using Search = Result<std::unique_ptr<allocators::nameless::LibraryCode>> (*)(const elf::ElfFile& file);
  // Like `search`. `file` and `cache` outlive it.
  static Result<RecalledCode> find(const elf::ElfFile& file, Search search, FindingCache& cache);

  std::vector<allocators::nameless::Candidate> candidates() override { return findings_.candidates; }
  Result<WaysIn> ways_in(std::span<const ElfAddress> doors) override;

 private:
  RecalledCode(const elf::ElfFile& file, Search search, FindingCache& cache)
      : file_(file), search_(search), cache_(cache) {}

  const elf::ElfFile& file_;
  Search search_;
  FindingCache& cache_;
  allocators::nameless::LibraryFindings findings_;
  std::unique_ptr<allocators::nameless::LibraryCode> code_;  // null: not searched yet
};

}  // namespace fathom::inject
