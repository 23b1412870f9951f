#include "formats/perf_data/code_files.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/text.h"

namespace fathom::formats {
namespace {

constexpr std::uint64_t kPageMask = ~std::uint64_t{0xfff};
constexpr std::size_t kMostMissing = 100;

bool is_made_code(std::string_view path) {
  return path.empty() || path.starts_with("//anon") || path.starts_with("[heap") ||
         path.starts_with("[stack") || path.starts_with("[anon") || path.starts_with("/memfd:") ||
         path.starts_with("/dev/zero") || path.starts_with("/SYSV") || path.starts_with("/anon_hugepage");
}

bool is_same_inode(const std::string& path, const PerfMapping& mapping) {
  struct stat status {};
  return mapping.inode != 0 && ::stat(path.c_str(), &status) == 0 && status.st_ino == mapping.inode &&
         major(status.st_dev) == mapping.major && minor(status.st_dev) == mapping.minor;
}

// The path comes from the file: opening a device may do something.
bool is_regular(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

std::uint64_t CodeFile::bias(std::uint64_t start, std::uint64_t offset) const {
  if (kind == model::ModuleKind::kAnonymous) return 0;
  if (file == nullptr) return start - offset;
  // The kernel maps whole pages, so the first page of the code may hold the end of the segment before it.
  for (const elf::Segment& segment : file->elf().segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    const std::uint64_t first = segment.offset.value & kPageMask;
    if (offset < first || offset >= segment.offset.value + segment.file_size) continue;
    return start - ((segment.address.value & kPageMask) + (offset - first));
  }
  const auto address = file->elf().address_of(FileOffset{offset});
  return start - (address ? address->value : offset);
}

const std::shared_ptr<const unwind::Table>& CodeFile::table_for_walks() {
  if (!table_asked && file != nullptr) {
    if (Result<unwind::Table> built = unwind::build_table(file->elf()))
      table = std::make_shared<const unwind::Table>(std::move(*built));
  }
  table_asked = true;
  return table;
}

void CodeFiles::find(CodeFile& code, const PerfMapping& mapping, std::string_view path,
                     const std::string& build_id) {
  std::vector<std::string> candidates;
  if (called_) candidates = called_(base_name(path));
  candidates.emplace_back(path);
  for (const std::string& candidate : candidates) {
    if (!is_regular(candidate)) continue;
    if (build_id.empty() && !is_same_inode(candidate, mapping)) continue;
    Result<elf::ModuleFile> file = elf::ModuleFile::open(candidate);
    if (!file || (!build_id.empty() && file->elf().build_id() != build_id)) continue;
    code.file = std::make_shared<const elf::ModuleFile>(std::move(*file));
    break;
  }
  model::Module row;
  row.kind = model::ModuleKind::kFile;
  row.name = import_.builder.string(base_name(path));
  row.path = import_.builder.string(path);
  row.build_id = import_.builder.string(code.file != nullptr ? code.file->elf().identity() : build_id);
  code.module = import_.builder.module(row);
  if (code.file == nullptr && missing_.size() < kMostMissing) missing_.emplace_back(path);
}

CodeFile* CodeFiles::of(const PerfMapping& mapping) {
  std::string_view path = mapping.path;
  if (constexpr std::string_view kDeleted = " (deleted)"; path.ends_with(kDeleted))
    path.remove_suffix(kDeleted.size());
  std::string build_id;
  for (const std::byte byte : mapping.build_id) build_id += fmt::format("{:02x}", std::to_integer<int>(byte));
  if (build_id.find_first_not_of('0') == std::string::npos) build_id.clear();
  if (build_id.empty())
    if (const auto known = build_ids_.find(path); known != build_ids_.end()) build_id = known->second;
  const bool made = is_made_code(path), vdso = path == "[vdso]" || path == "[vsyscall]";
  const std::string key =
      made ? ""
           : fmt::format("{}\n{}\n{}:{}:{}", path, build_id, mapping.major, mapping.minor, mapping.inode);
  const auto [row, added] = files_.try_emplace(key);
  if (!added) return row->second.get();
  row->second = std::make_unique<CodeFile>();
  CodeFile& code = *row->second;
  if (made || vdso || path.empty() || path.front() != '/') {
    code.kind = vdso ? model::ModuleKind::kVdso : model::ModuleKind::kAnonymous;
    model::Module module;
    module.kind = code.kind;
    module.name = import_.builder.string(made ? "[jit]" : path);
    code.module = import_.builder.module(module);
  } else {
    find(code, mapping, path, build_id);
  }
  return &code;
}

}  // namespace fathom::formats
