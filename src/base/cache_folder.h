// A cache of expensive results between runs: one file each, in a folder of this account; when there are too
// many, the least used go. Nothing here fails: without a folder that is ours and writable, there is no
// cache.
//
// Ours means this account's (or root's): with sudo the cache is root's, and one in the home of the invoking
// user is not touched. Readers must check a file: it may be older, damaged, or about something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/safe_folder.h"

namespace fathom {

class CacheFolder {
 public:
  // Made when it is not there. "": no cache.
  CacheFolder(const std::string& path, std::uint64_t limit_bytes);

  // Names are lower-case letters, digits, '-' and '.', 210 at most; others are not there, and not written. What is larger than
  // `most` bytes is not there either.
  std::optional<std::string> load(const std::string& name, std::size_t most) const;
  // The file itself, for reading; -1: it is not there.
  Fd open(const std::string& name) const;
  // Then removes the files that were not used for longest until all fit in the limit.
  void save(const std::string& name, std::span<const std::byte> content);
  bool is_there() const { return folder_.has_value(); }
  // Why there is no cache; "" when there is one, or none was asked for.
  const std::string& refusal() const { return refusal_; }

 private:
  void evict() const;

  std::string path_;
  std::optional<SafeFolder> folder_;  // nullopt: no cache
  std::string refusal_;
  std::uint64_t limit_bytes_;
};

// ${XDG_CACHE_HOME:-~/.cache}/fathom/NAME, or "" if the environment names no absolute folder.
std::string default_cache_folder(std::string_view name);

}  // namespace fathom
