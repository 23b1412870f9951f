// The files that mappings of perf.data name: their rows, where they are on this machine as they were recorded, and their tables
// for walks of stacks. A file is believed by its build id, and where none was recorded by its device and inode.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binary/elf/module_file.h"
#include "binary/unwind/table.h"
#include "formats/import/import.h"
#include "formats/perf_data/records.h"

namespace fathom::formats {

struct CodeFile {
  model::ModuleId module;
  model::ModuleKind kind = model::ModuleKind::kFile;
  std::shared_ptr<const elf::ModuleFile> file;  // null: not on this machine, or another one by now
  std::shared_ptr<const unwind::Table> table;   // null: none, or not asked for yet
  bool table_asked = false;

  // Process address minus ELF address of a mapping; without the file, ELF addresses are taken for places in it.
  std::uint64_t bias(std::uint64_t start, std::uint64_t offset) const;
  // Reads it at the first call.
  const std::shared_ptr<const unwind::Table>& table_for_walks();
};

class CodeFiles {
 public:
  using Called = std::function<std::vector<std::string>(std::string_view)>;
  // Both outlive it. `called`: paths of files of this name that the user named; may be empty.
  CodeFiles(Import& import, const std::map<std::string, std::string, std::less<>>& build_ids, Called called)
      : import_(import), build_ids_(build_ids), called_(std::move(called)) {}

  // Never null.
  CodeFile* of(const PerfMapping& mapping);
  // Files with code that were not found as they were recorded.
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void find(CodeFile& code, const PerfMapping& mapping, std::string_view path, const std::string& build_id);

  Import& import_;
  const std::map<std::string, std::string, std::less<>>& build_ids_;
  Called called_;
  std::map<std::string, std::unique_ptr<CodeFile>, std::less<>> files_;  // by path, build id and inode
  std::vector<std::string> missing_;
};

}  // namespace fathom::formats
