// A folder of debug files and unstripped binaries, indexed by build id. Reads the heads of files; their names
// are read elsewhere. Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace fathom::symbolize {

struct SymbolFile {
  std::string path;
  std::string build_id;  // empty: it has none
};

class SymbolFolder {
 public:
  // The limit of the search: a folder of this size takes some seconds, and a user who passes / by mistake
  // gets an error instead of waiting.
  static constexpr std::size_t kMostEntries = 100'000;

  // All regular ELF files below `path` that have names, or that file itself, nearest folders first, 10 folders deep and `most_entries` files and
  // folders at most. kNotFound or kPermission where the folder itself cannot be read.
  static Result<SymbolFolder> scan(const std::string& path, std::size_t most_entries = kMostEntries);

  // By path. None for an empty build id, or a hash in the place of one ("x-...").
  std::vector<const SymbolFile*> of(const std::string& build_id) const;
  // Files that one would take for those of the module "sqlite3": sqlite3, sqlite3.debug. By path.
  std::vector<const SymbolFile*> called(std::string_view module) const;

  // Files that may belong to a module recorded without a build id; the caller compares the code: the file
  // itself if one was given, else those with the module's name.
  std::vector<const SymbolFile*> without_build_id(std::string_view module) const;
  bool is_file() const { return is_file_; }

  // What was scanned is a file itself: its sentence where none of these modules is its own, "" where one is, or where one has no build id either.
  std::string refusal(const std::vector<std::string>& build_ids) const;

  // A sentence for each reason for which files below the folder were not looked at. Empty: all were.
  const std::vector<std::string>& gaps() const { return gaps_; }

 private:
  using Rows = std::unordered_map<std::string, std::vector<std::uint32_t>>;  // of files_, ascending

  void append_rows(const Rows& rows, const std::string& key, std::vector<const SymbolFile*>& files) const;

  std::vector<SymbolFile> files_;  // by path
  bool is_file_ = false;
  Rows by_build_id_, by_name_;
  std::vector<std::string> gaps_;
};

}  // namespace fathom::symbolize
