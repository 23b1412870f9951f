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

// The names of one module by address. One thread at a time. After many recordings a library has hundreds of thousands of addresses,
// and a recorder holds them until its end: what came from a file is a table of 16 bytes each, and addresses of one line share it.
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
  std::size_t size() const { return loaded_.size() + added_.size(); }
  std::size_t lines() const { return lines_.size(); }  // that are held, for all addresses

 private:
  struct Line {
    std::uint32_t function, file, line;  // the first two in texts_
    bool operator==(const Line&) const = default;
  };
  struct Chain {
    std::uint32_t first = 0, count = 0;  // in lines_
  };
  struct Row {
    std::uint64_t address;
    Chain chain;
  };
  std::uint32_t intern(const std::string& text);
  const Chain* chain_of(ElfAddress address) const;
  // Of the lines from `first` on, which were just put there: they go if those of the chain before are the same.
  Chain shared(std::size_t first);

  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> text_ids_;
  std::vector<Line> lines_;
  Chain last_;
  std::vector<Row> loaded_;  // by address
  std::unordered_map<std::uint64_t, Chain> added_;
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
