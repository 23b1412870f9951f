// Expensive names, cached between recordings: one file for each module identity, addresses -> names. For
// modules with DWARF, where the first lookup costs hundreds of milliseconds; a symbol table is as fast as the
// cache.
//
// File: magic, version, XXH3 of all that follows; identity, stamp, texts, and for each address in ascending
// order its chain of names, all as varints. A file that is older, damaged or from other sources counts as
// missing, and is rewritten.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/cache_folder.h"
#include "base/result.h"
#include "base/varint.h"
#include "binary/symbolize/options.h"

namespace fathom::symbolize {

// The names of one module by address. One thread at a time.
class CachedNames {
 public:
  // Untrusted bytes. kMalformed: not what encode() wrote; kUnsupported: other version, identity or stamp.
  static Result<CachedNames> decode(std::span<const std::byte> bytes, std::string_view identity,
                                    std::string_view stamp);
  Bytes encode(std::string_view identity, std::string_view stamp) const;

  // nullopt: never asked; an empty chain: asked, and there is no name.
  std::optional<std::vector<Name>> find(ElfAddress address) const;
  void add(ElfAddress address,
           const std::vector<Name>& names);  // ignored if it is there, or the cache is full
  std::size_t size() const { return chains_.size(); }

 private:
  struct Line {
    std::uint32_t function, file, line;  // the first two in texts_
  };
  struct Chain {
    std::uint32_t first = 0, count = 0;  // in lines_
  };
  std::uint32_t intern(const std::string& text);

  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> text_ids_;
  std::vector<Line> lines_;
  std::unordered_map<std::uint64_t, Chain> chains_;
};

// The folder with the files (base/cache_folder.h).
class CacheDirectory {
 public:
  CacheDirectory(const std::string& path, std::uint64_t limit_bytes);

  std::optional<CachedNames> load(const std::string& identity, std::string_view stamp) const;
  // Then removes the files that were not used for longest until all fit in the limit.
  void save(const std::string& identity, std::string_view stamp, const CachedNames& names);
  // Why there is no cache; "" when there is one, or none was asked for.
  const std::string& refusal() const { return folder_.refusal(); }

 private:
  static std::string file_of(const std::string& identity);

  CacheFolder folder_;
};

// ${XDG_CACHE_HOME:-~/.cache}/fathom/symbols, or "" if the environment names no absolute folder.
std::string default_cache_directory();

}  // namespace fathom::symbolize
