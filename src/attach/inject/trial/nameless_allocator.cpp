#include "attach/inject/trial/nameless_allocator.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/allocators/nameless/jemalloc_entries.h"
#include "attach/allocators/nameless/mimalloc_code.h"
#include "attach/allocators/nameless/tcmalloc_code.h"
#include "attach/allocators/operators.h"
#include "attach/allocators/versions.h"
#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/trial/at_work.h"
#include "attach/inject/trial/entry_trial.h"
#include "attach/inject/trial/finding_cache.h"
#include "attach/inject/trial/labelled_entries.h"
#include "attach/inject/trial/library_questions.h"
#include "attach/inject/trial/library_trial.h"
#include "attach/inject/trial/private_copy.h"
#include "attach/inject/trial/size_tables.h"

namespace fathom::inject {
namespace {

using allocators::nameless::JemallocEntries;
using allocators::nameless::name_of;
using allocators::nameless::Role;

tracer_shape shape_of(Role role) {
  switch (role) {
    case Role::kCalloc:
    case Role::kMallocn:
      return TRACER_CALLOC;
    case Role::kRealloc:
    case Role::kRallocx:
    case Role::kReallocAligned:
      return TRACER_REALLOC;
    case Role::kReallocarray:
      return TRACER_REALLOCARRAY;
    case Role::kSdallocx:
      return TRACER_FREE_SIZED;
    case Role::kFree:
      return TRACER_FREE;
    case Role::kPosixMemalign:
      return TRACER_POSIX;
    case Role::kAlignedAlloc:
      return TRACER_ALIGNED;
    case Role::kNew:
    case Role::kNewAligned:
      return TRACER_NEW;
    case Role::kXallocx:
      return TRACER_XALLOCX;
    case Role::kMalloc:
    case Role::kZalloc:
    case Role::kMallocAligned:
    case Role::kZallocAligned:
    case Role::kValloc:
    case Role::kMallocx:
    case Role::kUnknown:
      break;
  }
  return TRACER_MALLOC;
}

// Remaining names must not contradict, unless they belong to another allocator.
Result<> check_names(const elf::ElfFile& file, const EntryTrial& trial, const std::set<ElfAddress>& others) {
  for (const TriedEntry& each : trial.entries)
    if (others.contains(each.candidate.address))
      return fail(ErrorKind::kUnsupported,
                  fmt::format("its {} is another allocator's as well", name_of(each.role)));
  for (const elf::Symbol& symbol : file.symbols(elf::SymbolTable::kDynsym)) {
    if (symbol.section == SHN_UNDEF || others.contains(symbol.address)) continue;
    const auto name = symbol.name.substr(0, symbol.name.find('@'));
    const auto known = [&](Role role) { return name == name_of(role); };
    constexpr Role kNamed[] = {Role::kMalloc,        Role::kCalloc,       Role::kRealloc,
                               Role::kMallocx,       Role::kRallocx,      Role::kSdallocx,
                               Role::kPosixMemalign, Role::kAlignedAlloc, Role::kFree};
    const auto named = std::ranges::find_if(kNamed, known);
    if (named == std::end(kNamed)) continue;
    for (const TriedEntry& each : trial.entries)
      if (each.candidate.address == symbol.address && each.role != *named)
        return fail(ErrorKind::kUnsupported,
                    fmt::format("what is called {} behaves as {}", name, name_of(each.role)));
    if ((*named == Role::kFree || *named == Role::kRealloc) &&
        std::ranges::none_of(
            trial.entries, [&](const TriedEntry& each) { return each.candidate.address == symbol.address; }))
      return fail(ErrorKind::kUnsupported, fmt::format("what is called {} does not behave so", name));
  }
  return {};
}

// The code of the entries must equal the file's: another tool's hooks would be mistaken for it.
Result<> check_code(const NamelessProgram& program, const elf::ElfFile& file, const EntryTrial& trial,
                    const RemoteMemory& memory) {
  for (const TriedEntry& each : trial.entries) {
    const auto stored = file.bytes_at(each.candidate.address, each.candidate.size);
    std::vector<std::byte> lives(each.candidate.size);
    if (!stored) return fail(ErrorKind::kMalformed, "the file does not store its code");
    if (auto read = memory.read({each.candidate.address.value + program.bias}, lives); !read)
      return tl::unexpected<Error>(read.error());
    if (!std::ranges::equal(*stored, lives))
      return fail(ErrorKind::kUnsupported,
                  fmt::format("the code of its {} was changed in the process", name_of(each.role)));
  }
  return {};
}

// The library fills the tables when it starts; until then they are zeros.
Result<> check_tables(const NamelessProgram& program, const JemallocEntries& found,
                      const RemoteMemory& memory, bool& tables_agree) {
  bool empty = true;
  for (const allocators::CodeRange& pair : {allocators::CodeRange{found.tables[0], found.tables[1]},
                                            allocators::CodeRange{found.tables[1], found.tables[0]}}) {
    std::vector<std::byte> numbers(kNumberTableBytes), sizes(kSizeTableBytes);
    if (!memory.read({pair.start.value + program.bias}, numbers) ||
        !memory.read({pair.end.value + program.bias}, sizes))
      continue;
    tables_agree |= are_size_tables(numbers, sizes);
    empty &= std::ranges::all_of(sizes, [](std::byte each) { return each == std::byte{0}; });
  }
  if (!tables_agree && !empty)
    return fail(ErrorKind::kUnsupported, "its tables of sizes in the process are not those of jemalloc");
  return {};
}

// The prefix of its names: it is also in the name of the link with its settings, as in
// "/etc/_rjem_malloc.conf".
std::string prefix_of(const elf::ElfFile& file) {
  constexpr std::string_view kBegin("\0/etc/", 6), kEnd("malloc.conf\0", 12);
  constexpr std::size_t kLongest = 32;
  std::set<std::string, std::less<>> prefixes;
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    const auto bytes = file.bytes_from(segment.address);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (std::size_t at = text.find(kEnd); at != std::string_view::npos; at = text.find(kEnd, at + 1)) {
      const std::size_t near = at < kLongest ? 0 : at - kLongest;
      const std::size_t begin = text.substr(near, at - near).rfind(kBegin);
      if (begin == std::string_view::npos) continue;
      const std::string_view prefix = text.substr(near, at - near).substr(begin + kBegin.size());
      if (std::ranges::all_of(prefix, [](char each) {
            return each == '_' || (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
                   (each >= 'A' && each <= 'Z');
          }))
        prefixes.emplace(prefix);
    }
  }
  return prefixes.size() == 1 ? *prefixes.begin() : std::string();
}

// "; seen at work in the process ...".
Result<std::string> seen_at_work(const NamelessProgram& program, const elf::ElfFile& file,
                                 const EntryTrial& trial) {
  if (!program.at_work) return std::string();
  auto seen = look_at_work(program.pid, program.bias, file, trial);
  if (!seen) return seen;
  return "; " + *seen;
}

std::string list_of(const EntryTrial& trial) {
  std::map<std::string_view, int> counts;
  for (const TriedEntry& each : trial.entries) ++counts[name_of(each.role)];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", count > 1 ? fmt::format("{} ", count) : "", name);
  return text;
}

std::string unknown_of(const EntryTrial& trial) {
  return trial.unknown == 0
             ? std::string()
             : fmt::format("; {} more allocate in an unknown way, so their blocks are not counted",
                           trial.unknown);
}

// Named as in an unstripped program.
void add_functions(const EntryTrial& trial, std::optional<ElfAddress> malloc,
                   std::optional<ElfAddress> malloc_aligned, allocators::Allocator& allocator) {
  for (const TriedEntry& each : trial.entries) {
    const std::string name(name_of(each.role));
    const bool throws = each.role == Role::kNew || each.role == Role::kNewAligned;
    allocators::Function function{throws ? name : allocator.prefix + name, shape_of(each.role),
                                  each.candidate.address, each.candidate.size, std::nullopt};
    if (throws) function.partner = each.role == Role::kNew ? malloc : malloc_aligned;
    allocator.functions.push_back(std::move(function));
  }
}

// `untried`: why no copy of the program may be started; "": it may.
Result<NamelessAllocator> find_jemalloc(const NamelessProgram& program, const elf::ElfFile& file,
                                        const std::set<ElfAddress>& others, std::string untried) {
  FindingCache cache(program.cache_folder, file, "jemalloc");
  const auto found = find_or_recall_jemalloc(file, cache);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->tables.size() != 2)
    return fail(ErrorKind::kUnsupported, "which of its data are the tables of sizes is not known");
  auto trial = untried.empty() ? try_entries(program.fd, file, *found, program.pid)
                               : Result<EntryTrial>(fail(ErrorKind::kSystem, untried));
  if (!trial && trial.error().kind == ErrorKind::kSystem && program.at_work) {
    untried = trial.error().message;
    trial = labelled_entries(*found);
    if (!trial) return fail(ErrorKind::kUnsupported, untried + ", and " + trial.error().message);
  }
  if (!trial) return tl::unexpected<Error>(trial.error());
  if (auto named = check_names(file, *trial, others); !named) return tl::unexpected<Error>(named.error());
  const auto memory = RemoteMemory::open(program.pid);
  if (!memory) return tl::unexpected<Error>(memory.error());
  bool tables_agree = false;
  if (auto same = check_code(program, file, *trial, *memory); !same)
    return tl::unexpected<Error>(same.error());
  if (auto same = check_tables(program, *found, *memory, tables_agree); !same)
    return tl::unexpected<Error>(same.error());
  std::string how;
  if (untried.empty()) {
    const auto seen = seen_at_work(program, file, *trial);
    if (!seen) return tl::unexpected<Error>(seen.error());
    how = fmt::format(
        "each behaved so when it was called in a private copy of the program ({} copies), nothing speaks against it, {}{}{}",
        trial->copies,
        tables_agree ? "and their code and jemalloc's tables of sizes are the same in the process"
                     : "and their code is the same in the process, where jemalloc has not begun yet",
        unknown_of(*trial), *seen);
  } else {
    if (!tables_agree)
      return fail(ErrorKind::kUnsupported, untried + ", and jemalloc has not begun yet in the process");
    const auto seen = confirm_labels(program.pid, program.bias, file, *trial);
    if (!seen) return fail(ErrorKind::kUnsupported, fmt::format("{}, and {}", untried, seen.error().message));
    how = fmt::format(
        "their code and jemalloc's tables of sizes are the same in the process, and they were not tried ({}) but {}",
        untried, *seen);
  }

  NamelessAllocator result;
  allocators::Allocator& allocator = result.allocator;
  allocator.kind = allocators::Kind::kJemalloc;
  allocator.prefix = prefix_of(file);
  allocator.label = fmt::format("jemalloc{}{}", found->version.empty() ? "" : " ", found->version);
  if (!allocator.prefix.empty()) allocator.label += fmt::format(" ({})", allocator.prefix);
  allocator.own_code = found->own_code;
  std::optional<ElfAddress> malloc;
  for (const TriedEntry& each : trial->entries)
    if (each.role == Role::kMalloc && !malloc) malloc = each.candidate.address;
  add_functions(*trial, malloc, std::nullopt, allocator);
  allocators::find_wrappers(file, allocator);
  result.evidence = fmt::format(
      "found by its code: {} of {} ways into it are entries ({}): their shape and their callers say so, {}",
      trial->entries.size(), found->candidates.size(), list_of(*trial), how);
  return result;
}

// For mimalloc and tcmalloc. `prefix`: of its own names, if they are not malloc and the like.
struct Library {
  allocators::Kind kind;
  std::string label;
  std::string_view prefix;
  std::span<const Question> questions;
};

Result<NamelessAllocator> find_library(const NamelessProgram& program, const elf::ElfFile& file,
                                       allocators::nameless::LibraryCode& code, const Library& library,
                                       const std::set<ElfAddress>& others) {
  const auto found = try_library(program.fd, file, code, library.questions, program.pid);
  if (!found) return tl::unexpected<Error>(found.error());
  const EntryTrial& trial = found->trial;
  if (auto named = check_names(file, trial, others); !named) return tl::unexpected<Error>(named.error());
  const auto memory = RemoteMemory::open(program.pid);
  if (!memory) return tl::unexpected<Error>(memory.error());
  if (auto same = check_code(program, file, trial, *memory); !same)
    return tl::unexpected<Error>(same.error());

  // A throwing function is replaced by its non-throwing variant: the program contains it, whether it calls it
  // or not.
  for (const TriedEntry& each : trial.entries)
    if ((each.role == Role::kNew && !found->malloc) ||
        (each.role == Role::kNewAligned && !found->malloc_aligned))
      return fail(ErrorKind::kUnsupported, "its operator new has no variant here that does not throw");
  const auto seen = seen_at_work(program, file, trial);
  if (!seen) return tl::unexpected<Error>(seen.error());

  NamelessAllocator result;
  allocators::Allocator& allocator = result.allocator;
  allocator.kind = library.kind;
  allocator.label = library.label;
  allocator.own_code = found->own_code;
  const auto symbols = file.symbols(elf::SymbolTable::kDynsym);
  const bool overrides = std::ranges::any_of(symbols, [&](const elf::Symbol& each) {
    return each.section != SHN_UNDEF && each.name.substr(0, each.name.find('@')) == "malloc" &&
           std::ranges::any_of(trial.entries, [&](const TriedEntry& entry) {
             return entry.candidate.address == each.address;
           });
  });
  if (!overrides) allocator.prefix = library.prefix;
  add_functions(trial, found->malloc, found->malloc_aligned, allocator);
  allocators::leave_out_forwarding(file, allocator.functions);
  allocators::find_wrappers(file, allocator);
  result.evidence = fmt::format(
      "found by its code: {} of {} functions that lead into it are entries ({}): each behaved so when it was called in a private copy of the program ({} copies), the other functions that the program calls do not touch blocks, and their code is the same in the process{}{}",
      trial.entries.size(), found->candidates, list_of(trial), trial.copies, unknown_of(trial), *seen);
  return result;
}

template <class Code>
Result<std::unique_ptr<allocators::nameless::LibraryCode>> search_for(const elf::ElfFile& file) {
  auto code = Code::find(file);
  if (!code) return tl::unexpected<Error>(code.error());
  return std::make_unique<Code>(std::move(*code));
}

Result<NamelessAllocator> find_mimalloc(const NamelessProgram& program, const elf::ElfFile& file,
                                        const std::set<ElfAddress>& others) {
  FindingCache cache(program.cache_folder, file, "mimalloc");
  auto code = RecalledCode::find(file, search_for<allocators::nameless::MimallocCode>, cache);
  if (!code) return tl::unexpected<Error>(code.error());
  return find_library(program, file, *code,
                      {allocators::Kind::kMimalloc, "mimalloc", "mi_", mimalloc_questions()}, others);
}

Result<NamelessAllocator> find_tcmalloc(const NamelessProgram& program, const elf::ElfFile& file,
                                        const std::set<ElfAddress>& others) {
  FindingCache cache(program.cache_folder, file, "tcmalloc");
  auto code = RecalledCode::find(file, search_for<allocators::nameless::TcmallocCode>, cache);
  if (!code) return tl::unexpected<Error>(code.error());
  const std::string version = allocators::gperftools_version(file);
  return find_library(
      program, file, *code,
      {allocators::Kind::kTcmalloc, version.empty() ? std::string("tcmalloc") : "tcmalloc " + version, "tc_",
       tcmalloc_questions()},
      others);
}

bool is_found_by_code(allocators::Kind kind) {
  return kind == allocators::Kind::kJemalloc || kind == allocators::Kind::kMimalloc ||
         kind == allocators::Kind::kTcmalloc;
}

}  // namespace

Result<NamelessAllocator> find_nameless_allocator(allocators::Kind kind, const NamelessProgram& program,
                                                  const elf::ElfFile& file,
                                                  const std::set<ElfAddress>& others) {
  if (file.type() != ET_EXEC && file.interpreter().empty() && !file.needed().empty())
    return fail(ErrorKind::kUnsupported, "it is in a library, and fathom cannot start a copy of it");
  std::string untried;
  if (!program.may_probe)
    untried = "--no-trial forbids to try its functions in a private copy of the program";
  else if (auto allowed = check_private_copy(program.fd); !allowed)
    untried = allowed.error().message;
  // Only jemalloc's code shows enough for its functions to be recognized while running.
  if (!untried.empty() && (kind != allocators::Kind::kJemalloc || !program.at_work))
    return fail(ErrorKind::kUnsupported, untried);
  switch (kind) {
    case allocators::Kind::kMimalloc:
      return find_mimalloc(program, file, others);
    case allocators::Kind::kTcmalloc:
      return find_tcmalloc(program, file, others);
    default:
      return find_jemalloc(program, file, others, std::move(untried));
  }
}

std::vector<std::string> find_by_code(const NamelessProgram& program, const elf::ElfFile& file,
                                      allocators::Found& found) {
  if (file.section(".symtab") != nullptr) return {};
  std::vector<std::string> evidence;
  std::set<ElfAddress> sure;
  std::map<allocators::Kind, std::string> refused;  // with the reason
  // Remaining names may contradict an allocator until they are known to be another's: then it is tried again.
  for (bool again = true; again;) {
    again = false;
    for (auto unseen = found.unseen.begin(); unseen != found.unseen.end();) {
      if (!is_found_by_code(unseen->kind) || (refused.contains(unseen->kind) && sure.empty())) {
        ++unseen;
        continue;
      }
      auto nameless = find_nameless_allocator(unseen->kind, program, file, sure);
      if (!nameless) {
        refused[unseen->kind] = nameless.error().message;
        ++unseen;
        continue;
      }
      refused.erase(unseen->kind);
      again = !refused.empty();
      unseen = found.unseen.erase(unseen);
      for (const allocators::Function& each : nameless->allocator.functions) sure.insert(each.address);
      found.allocators.push_back(std::move(nameless->allocator));
      evidence.push_back(std::move(nameless->evidence));
    }
  }
  for (allocators::Unseen& each : found.unseen)
    if (const auto why = refused.find(each.kind); why != refused.end())
      each.why += fmt::format(", and its code does not identify them: {}", why->second);
  return evidence;
}

}  // namespace fathom::inject
