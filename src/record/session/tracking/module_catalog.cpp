#include "record/session/tracking/module_catalog.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/arch/facts.h"
#include "base/text.h"
#include "linux/process/find.h"
#include "linux/process/perf_map.h"
#include "linux/process/status.h"

namespace fathom::session {
namespace {

std::string root_of(std::int32_t pid) {
  return fmt::format("/proc/{}/root", pid);
}

// The path by which the user knows the program of process `pid`, where the file is what a link of that name leads to: of
// redis-server, which is a link to redis-check-rdb. The name is that of the process, or the first word of what it calls itself.
std::string typed_path(std::int32_t pid, const process::MapEntry& mapping) {
  const auto info = process::read_process(pid);
  if (!info || info->executable != mapping.path || mapping.inode == 0) return mapping.path;
  std::vector<std::string> names{info->name};
  if (!info->arguments.empty()) {
    const std::string& first = info->arguments.front();
    names.emplace_back(base_name(first.substr(0, first.find_first_of(" :"))));
  }
  const std::string folder = mapping.path.substr(0, mapping.path.rfind('/') + 1);
  for (const std::string& name : names) {
    if (name.empty() || name.find('/') != name.npos || name == base_name(mapping.path)) continue;
    const std::string link = root_of(pid) + folder + name;
    struct stat own {
    }, file{};
    if (::lstat(link.c_str(), &own) == 0 && S_ISLNK(own.st_mode) && ::stat(link.c_str(), &file) == 0 &&
        file.st_ino == mapping.inode)
      return folder + name;
  }
  return mapping.path;
}

// Where the loader looks for a library by default. The exact rules (RPATH, ld.so.cache) do not matter here:
// what is not found is compiled when it is mapped.
constexpr std::size_t kMostMadeCode = 256;

// The processor's own folders come first.
std::vector<std::string> library_folders() {
  const std::string own(arch::kLibraryFolder);
  return {"/lib/" + own + "/", "/usr/lib/" + own + "/", "/lib64/", "/usr/lib64/", "/lib/",
          "/usr/lib/",         "/usr/local/lib/"};
}

}  // namespace

symbolize::ModuleSource source_of(const CodeModule& module, std::int32_t pid) {
  symbolize::ModuleSource source;
  source.kind = module.kind;
  source.path = module.file->elf().name();
  source.open_path = fmt::format("/proc/self/fd/{}", module.fd.get());
  source.root = fmt::format("/proc/{}/root", pid);
  source.identity = module.file->elf().identity();
  source.pid = pid;
  return source;
}

std::optional<std::uint64_t> CodeModule::bias(const process::MapEntry& mapping) const {
  if (!file) return std::nullopt;
  // The kernel maps whole pages, so the first page of the code may hold the end of the segment before it in
  // the file: the executable segment decides, not the one that holds the first byte.
  constexpr std::uint64_t kPageMask = ~std::uint64_t{0xfff};
  for (const elf::Segment& segment : file->elf().segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    const std::uint64_t first = segment.offset.value & kPageMask;
    if (mapping.offset.value < first || mapping.offset.value >= segment.offset.value + segment.file_size)
      continue;
    return mapping.start.value - ((segment.address.value & kPageMask) + (mapping.offset.value - first));
  }
  const auto address =
      file->elf().address_of(mapping.offset);  // code in a segment that is not marked as such
  if (!address) return std::nullopt;
  return mapping.start.value - address->value;
}

ModuleCatalog::ModuleCatalog(model::Builder& builder, symbolize::Worker& symbols, PlaceTable place,
                             bool keep_tables)
    : builder_(builder), symbols_(symbols), place_(std::move(place)), keep_tables_(keep_tables || !place_) {}

void ModuleCatalog::set_table(CodeModule& module, unwind::Table table) {
  if (place_) {
    module.slot = place_(table);
    if (!module.slot && !table.rows.empty()) ++without_room_;
  }
  if (keep_tables_) module.table = std::make_shared<const unwind::Table>(std::move(table));
}

std::vector<std::string> ModuleCatalog::take_notes() {
  return std::exchange(notes_, {});
}

// A program that generates code may map it twice from one memfd, to write and to run it, as Erlang does. A library that was loaded from
// a memfd is a file like others.
static bool is_made_code(std::int32_t pid, const process::MapEntry& mapping) {
  if (!mapping.path.starts_with("/memfd:")) return false;
  const Fd fd(::open(process::map_files_path(pid, mapping).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4> start{};
  constexpr std::string_view kElf =
      "\x7f"
      "ELF";
  return fd && (::pread(fd.get(), start.data(), start.size(), 0) != static_cast<ssize_t>(start.size()) ||
                std::string_view(start.data(), start.size()) != kElf);
}

CodeModule& ModuleCatalog::of_mapping(std::int32_t pid, const process::MapEntry& mapping) {
  if (mapping.path == "[vdso]") return of_vdso(mapping);
  if (mapping.is_file() && mapping.path.front() == '/' && !is_made_code(pid, mapping))
    return of_file(pid, mapping);
  return of_made_code(pid, mapping);
}

CodeModule& ModuleCatalog::of_file(std::int32_t pid, const process::MapEntry& mapping) {
  const FileKey key{mapping.device_major, mapping.device_minor, mapping.inode, mapping.path};
  if (const auto known = files_.find(key); known != files_.end()) return *known->second;
  auto& module = *(files_[key] = std::make_unique<CodeModule>());
  module.kind = model::ModuleKind::kFile;

  Fd fd(::open(process::map_files_path(pid, mapping).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    // Without the right to follow map_files, or the mapping is gone by now: by name, if that is still the
    // same file.
    fd = Fd(::open((root_of(pid) + mapping.path).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) fd = Fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC));  // the process is gone by now
    struct stat status {};
    if (fd && (::fstat(fd.get(), &status) != 0 || (mapping.inode != 0 && status.st_ino != mapping.inode)))
      fd = Fd();
  }
  load(module, std::move(fd), mapping.path, typed_path(pid, mapping), root_of(pid), pid);
  return module;
}

void ModuleCatalog::load(CodeModule& module, Fd fd, const std::string& path, const std::string& typed,
                         const std::string& root, std::int32_t pid) {
  model::Module row;
  row.kind = module.kind;
  row.path = builder_.string(path);
  row.name = builder_.string(base_name(typed));
  symbolize::ModuleSource source;
  source.kind = module.kind;
  source.path = typed;
  source.root = root;
  source.pid = pid;
  if (fd) {
    auto file = elf::ModuleFile::of_fd(fd.get(), path);
    if (file) {
      module.file.emplace(std::move(*file));
      row.build_id = builder_.string(module.file->elf().identity());
      source.identity = module.file->elf().identity();
      source.open_path = fmt::format("/proc/self/fd/{}", fd.get());
      module.fd = std::move(fd);
    } else {
      notes_.push_back(fmt::format("{}: no stacks through this file: {}", path, file.error().message));
    }
  } else {
    notes_.push_back(fmt::format("{}: cannot be opened, so it has neither names nor unwind rules", path));
  }
  module.id = builder_.module(row);
  if (!module.file) return;
  symbols_.submit(module.id, source);
  auto table = unwind::build_table(module.file->elf());
  if (!table) {
    notes_.push_back(fmt::format("{}: no unwind rules: {}", path, table.error().message));
    return;
  }
  if (table->guessed != 0)
    notes_.push_back(fmt::format("{}: carries no unwind rules for {} functions; they were made from its code",
                                 path, table->guessed));
  set_table(module, std::move(*table));
}

CodeModule& ModuleCatalog::of_vdso(const process::MapEntry& mapping) {
  if (vdso_) return *vdso_;
  vdso_ = std::make_unique<CodeModule>();
  vdso_->kind = model::ModuleKind::kVdso;
  model::Module row;
  row.kind = vdso_->kind;
  row.name = row.path = builder_.string("[vdso]");
  vdso_->id = builder_.module(row);
  // Every 64-bit process has the same image, ours too.
  const auto* image = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return *vdso_;
  auto file = elf::ModuleFile::of_memory({image, static_cast<std::size_t>(mapping.size())}, "[vdso]");
  if (!file) return *vdso_;
  vdso_->file.emplace(std::move(*file));
  symbolize::ModuleSource source;
  source.kind = vdso_->kind;
  source.path = "[vdso]";
  source.identity = vdso_->file->elf().identity();
  symbols_.submit(vdso_->id, source);
  auto table = unwind::build_table(vdso_->file->elf());
  if (table) set_table(*vdso_, std::move(*table));
  return *vdso_;
}

// The code that a process made is looked at in the rows of its own, until that were too many of them: the
// last one is for all others.
CodeModule& ModuleCatalog::of_made_code(std::int32_t pid, const process::MapEntry&) {
  CodeModule*& module = made_code_[pid];
  if (module != nullptr) return *module;
  if (all_made_code_.size() > kMostMadeCode) return *(module = all_made_code_.back().get());
  module = all_made_code_.emplace_back(std::make_unique<CodeModule>()).get();
  module->kind = model::ModuleKind::kAnonymous;
  model::Module row;
  if (all_made_code_.size() > kMostMadeCode) {
    module->is_collective = true;
    row.kind = module->kind;
    row.name = row.path = builder_.string("[jit of other processes]");
    module->id = builder_.module(row);
    return *module;
  }
  row.kind = module->kind;
  row.name = builder_.string("[jit]");
  row.path = builder_.string(fmt::format("[jit of process {}]", pid));
  module->id = builder_.module(row);
  symbolize::ModuleSource source;
  source.kind = module->kind;
  source.path = row.path.value != 0 ? fmt::format("[jit of process {}]", pid) : "";
  source.root = root_of(pid);
  source.pid = pid;
  if (auto map = process::open_perf_map(pid)) source.perf_map = std::make_shared<const Fd>(std::move(*map));
  symbols_.submit(module->id, source);
  return *module;
}

void ModuleCatalog::forget(std::int32_t pid) {
  made_code_.erase(pid);
}

CodeModule& ModuleCatalog::kernel() {
  if (kernel_) return *kernel_;
  kernel_ = std::make_unique<CodeModule>();
  kernel_->kind = model::ModuleKind::kKernel;
  model::Module row;
  row.kind = kernel_->kind;
  row.name = row.path = builder_.string("[kernel]");
  kernel_->id = builder_.module(row);
  symbolize::ModuleSource source;
  source.kind = kernel_->kind;
  source.path = "[kernel]";
  symbols_.submit(kernel_->id, source);
  return *kernel_;
}

CodeModule& ModuleCatalog::tracer() {
  if (tracer_) return *tracer_;
  tracer_ = std::make_unique<CodeModule>();
  tracer_->kind = model::ModuleKind::kNames;
  model::Module row;
  row.kind = tracer_->kind;
  row.name = row.path = builder_.string(kTracerModule);
  tracer_->id = builder_.module(row);
  return *tracer_;
}

void ModuleCatalog::prepare(const std::string& path) {
  prepare_file(path, 0);
}

void ModuleCatalog::prepare_file(const std::string& path, int depth) {
  char resolved[PATH_MAX];
  if (depth > 8 || ::realpath(path.c_str(), resolved) == nullptr) return;
  struct stat status {};
  if (::stat(resolved, &status) != 0) return;
  process::MapEntry mapping;
  mapping.path = resolved;
  mapping.device_major = major(status.st_dev);
  mapping.device_minor = minor(status.st_dev);
  mapping.inode = status.st_ino;
  const FileKey key{mapping.device_major, mapping.device_minor, mapping.inode, mapping.path};
  if (files_.contains(key)) return;
  auto& module = *(files_[key] = std::make_unique<CodeModule>());
  module.kind = model::ModuleKind::kFile;
  load(module, Fd(::open(resolved, O_RDONLY | O_CLOEXEC)), resolved, depth == 0 ? path : resolved, "", 0);
  if (!module.file) return;
  if (const std::string& loader = module.file->elf().interpreter(); !loader.empty())
    prepare_file(loader, depth + 1);
  const auto folders = library_folders();
  for (const std::string& library : module.file->elf().needed()) {
    for (const std::string& folder : folders) {
      const std::string candidate = folder + library;
      if (::access(candidate.c_str(), R_OK) != 0) continue;
      prepare_file(candidate, depth + 1);
      break;
    }
  }
}

}  // namespace fathom::session
