#include "attach/inject/trial/finding_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "binary/elf/module_file.h"

namespace fathom::inject {
namespace {

using allocators::nameless::Findings;
using allocators::nameless::JemallocEntries;

constexpr std::uint64_t kLimit = 16 << 20;  // bytes of all files
constexpr std::size_t kLargestFile = 1 << 20;

// If an address is not in the file, another program wrote this entry.
bool is_of(const elf::ElfFile& file, const std::vector<allocators::nameless::Candidate>& candidates) {
  return std::ranges::all_of(
      candidates, [&](const auto& each) { return file.bytes_at(each.address, each.size).has_value(); });
}

}  // namespace

FindingCache::FindingCache(const std::string& folder, const elf::ElfFile& file, std::string_view allocator)
    : folder_(folder, kLimit),
      file_(file),
      allocator_(allocator),
      name_(fmt::format("{}.{}", file.identity(), allocator)) {}

const std::string& FindingCache::stamp() {
  if (!stamp_.empty()) return stamp_;
  const auto bytes = file_.bytes();
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  const auto own = elf::ModuleFile::open("/proc/self/exe");
  stamp_ = fmt::format("{} {:016x}{:016x} {} by {}", allocator_, hash.high64, hash.low64, bytes.size(),
                       own ? own->elf().identity() : std::string());
  return stamp_;
}

std::optional<Findings> FindingCache::load() {
  const auto content = folder_.load(name_, kLargestFile);
  if (!content) return std::nullopt;
  auto findings = allocators::nameless::decode(std::as_bytes(std::span(*content)), stamp());
  if (findings && findings->jemalloc && !is_of(file_, findings->jemalloc->candidates)) return std::nullopt;
  if (findings && findings->library && !is_of(file_, findings->library->candidates)) return std::nullopt;
  return findings;
}

void FindingCache::save(const Findings& findings) {
  if (!folder_.is_there()) return;
  const Bytes content = allocators::nameless::encode(findings, stamp());
  if (content.size() <= kLargestFile) folder_.save(name_, content);
}

Result<JemallocEntries> find_or_recall_jemalloc(const elf::ElfFile& file, FindingCache& cache) {
  if (auto kept = cache.load()) {
    if (kept->jemalloc) return std::move(*kept->jemalloc);
    if (!kept->refusal.empty()) return fail(ErrorKind::kUnsupported, kept->refusal);
  }
  auto found = allocators::nameless::find_jemalloc_entries(file);
  if (found)
    cache.save({.refusal = {}, .jemalloc = *found, .library = std::nullopt});
  else if (found.error().kind == ErrorKind::kUnsupported)
    cache.save({.refusal = found.error().message, .jemalloc = std::nullopt, .library = std::nullopt});
  return found;
}

Result<RecalledCode> RecalledCode::find(const elf::ElfFile& file, Search search, FindingCache& cache) {
  RecalledCode code(file, search, cache);
  if (auto kept = cache.load()) {
    if (!kept->refusal.empty()) return fail(ErrorKind::kUnsupported, kept->refusal);
    if (kept->library) {
      code.findings_ = std::move(*kept->library);
      return code;
    }
  }
  auto found = search(file);
  if (!found) {
    if (found.error().kind == ErrorKind::kUnsupported)
      cache.save({.refusal = found.error().message, .jemalloc = std::nullopt, .library = std::nullopt});
    return tl::unexpected<Error>(found.error());
  }
  code.code_ = std::move(*found);
  code.findings_.candidates = code.code_->candidates();
  return code;
}

Result<RecalledCode::WaysIn> RecalledCode::ways_in(std::span<const ElfAddress> doors) {
  if (!code_) {
    if (std::ranges::equal(findings_.doors, doors)) return findings_.ways;
    auto found = search_(file_);
    if (!found) return tl::unexpected<Error>(found.error());
    code_ = std::move(*found);
  }
  auto ways = code_->ways_in(doors);
  if (!ways) return ways;
  findings_.doors.assign(doors.begin(), doors.end());
  findings_.ways = *ways;
  cache_.save({.refusal = {}, .jemalloc = std::nullopt, .library = findings_});
  return ways;
}

}  // namespace fathom::inject
