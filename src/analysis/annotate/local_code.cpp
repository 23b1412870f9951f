#include "analysis/annotate/local_code.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "binary/unwind/table.h"

namespace fathom::annotate {
namespace {

using Bounds = std::vector<std::pair<ElfAddress, std::uint64_t>>;

// A larger size is wrong, or too long to read.
constexpr std::uint64_t kMostCode = std::uint64_t{1} << 20;

// Not blocking: the path may lead to a FIFO by now.
Result<Fd> open_regular(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return system_error(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(ErrorKind::kUnsupported, path + ": not a regular file");
  return fd;
}

// A file of debug information only has the segments of the program, and not what is in them.
bool has_code(const elf::ElfFile& file) {
  const elf::Section* text = file.section(".text");
  return text == nullptr || text->type == SHT_PROGBITS;
}

std::optional<FunctionBounds> around(const Bounds& rows, ElfAddress address) {
  auto next = std::upper_bound(rows.begin(), rows.end(), address,
                               [](ElfAddress value, const auto& row) { return value < row.first; });
  // Symbols of assembler code may lie in one another.
  for (int i = 0; i < 4 && next != rows.begin(); ++i) {
    --next;
    if (address.value - next->first.value < next->second) return FunctionBounds{next->first, next->second};
  }
  return std::nullopt;
}

}  // namespace

LocalCode LocalCode::open(const model::Profile& profile, const model::Module& module,
                          const std::string& twin) {
  LocalCode code;
  const std::string identity(profile.strings[module.build_id]);
  const auto what_is = [](model::ModuleKind kind) {
    switch (kind) {
      case model::ModuleKind::kKernel:
        return "the kernel's code is in no file here";
      case model::ModuleKind::kVdso:
        return "the code of the vdso is in no file";
      case model::ModuleKind::kAnonymous:
        return "this code was made at run time, and is in no file";
      default:
        return "the recording does not say which file its code is in";
    }
  };
  if (module.kind != model::ModuleKind::kFile || module.path.value == 0) {
    code.problem_ = what_is(module.kind);
    return code;
  }
  for (const std::string& path : {std::string(profile.strings[module.path]), twin}) {
    if (path.empty()) continue;
    Result<Fd> fd = open_regular(path);
    Result<elf::ModuleFile> file =
        fd ? elf::ModuleFile::of_fd(fd->get(), path) : Result<elf::ModuleFile>(tl::unexpected(fd.error()));
    std::string problem;
    if (!file)
      problem = fd || fd.error().kind != ErrorKind::kNotFound ? file.error().message
                                                              : path + " is not on this machine";
    else if (!identity.empty() && file->elf().identity() != identity)
      problem = fmt::format("{} is another build than the one that was recorded (build id {}, recorded {})",
                            path, file->elf().identity(), identity);
    else if (!has_code(file->elf()))
      problem = path + " has debug information only";
    if (!problem.empty()) {
      if (code.problem_.empty()) code.problem_ = problem;
      continue;
    }
    code.problem_.clear();
    code.path_ = path;
    code.fd_ = std::move(*fd);
    code.file_ = std::move(*file);
    break;
  }
  return code;
}

void LocalCode::read_bounds() {
  if (std::exchange(read_, true)) return;
  for (const elf::SymbolTable table : {elf::SymbolTable::kSymtab, elf::SymbolTable::kDynsym})
    for (const elf::Symbol& symbol : file_->elf().symbols(table))
      if ((symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && symbol.section != SHN_UNDEF &&
          symbol.size != 0 && symbol.size <= kMostCode)
        symbols_.emplace_back(symbol.address, symbol.size);
  std::sort(symbols_.begin(), symbols_.end());
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end()), symbols_.end());
  frames_ = unwind::function_bounds(file_->elf());
}

std::optional<FunctionBounds> LocalCode::bounds_around(ElfAddress address) {
  if (!file_) return std::nullopt;
  read_bounds();
  std::optional<FunctionBounds> bounds = around(symbols_, address);
  if (!bounds) bounds = around(frames_, address);
  if (bounds && bounds->size > kMostCode) return std::nullopt;
  return bounds;
}

std::span<const std::byte> LocalCode::code(const FunctionBounds& bounds) const {
  if (!file_) return {};
  const auto bytes = file_->elf().bytes_from(bounds.start);
  return bytes.first(std::min<std::size_t>(bytes.size(), bounds.size));
}

}  // namespace fathom::annotate
