#include "tools/stacks/core/core_threads.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "analysis/stacks/describe.h"
#include "analysis/stacks/holders.h"
#include "analysis/stacks/take_names.h"
#include "analysis/stacks/verdict.h"
#include "base/arch/core_registers.h"
#include "base/arch/facts.h"
#include "base/packed/unpacker.h"
#include "base/shell_word.h"
#include "binary/unwind/memory_walk.h"
#include "binary/unwind/table.h"
#include "tools/stacks/core/root_files.h"

namespace fathom::stacks {
namespace {

constexpr std::uint64_t kMostUnpacked = std::uint64_t{64} << 30;
constexpr std::chrono::seconds kNames(60);
constexpr std::string_view kLz4 = "\x04\x22\x4d\x18";
constexpr const char* kVdso = "[vdso]";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The mapping shows a part of an executable segment of the file.
bool holds_code(const elf::ElfFile& file, const process::MapEntry& mapping) {
  constexpr std::uint64_t kPageMask = ~(arch::kPageBytes - 1);
  return std::ranges::any_of(file.segments(), [&](const elf::Segment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_X) != 0 &&
           mapping.offset.value >= (segment.offset.value & kPageMask) &&
           mapping.offset.value < segment.offset.value + segment.file_size;
  });
}

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

CoreThreads::CoreThreads(CoreOptions options) : options_(std::move(options)), symbols_(options_.symbols) {}

bool CoreThreads::recognize(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string first(packed::kFirstPacked, '\0');
  const ssize_t size = fd ? ::pread(fd.get(), first.data(), first.size(), 0) : -1;
  if (size <= 0) return false;
  first.resize(static_cast<std::size_t>(size));
  if (packed::is_packed(first)) first = packed::first_unpacked(first);
  return CoreFile::recognize(std::as_bytes(std::span(first)));
}

Result<std::unique_ptr<CoreThreads>> CoreThreads::open(const std::string& path, CoreOptions options) {
  std::unique_ptr<CoreThreads> threads(new CoreThreads(std::move(options)));
  auto mapping = Mapping::of_file(path);
  if (!mapping) return tl::unexpected<Error>(mapping.error());
  threads->mapping_ = std::move(*mapping);
  std::span<const std::byte> bytes = threads->mapping_.bytes();
  if (packed::is_packed(text_of(bytes))) {
    auto unpacked = packed::unpacked(text_of(bytes), path, kMostUnpacked);
    if (!unpacked) return tl::unexpected<Error>(unpacked.error());
    threads->unpacked_ = std::move(*unpacked);
    bytes = std::as_bytes(std::span(threads->unpacked_));
  }
  if (text_of(bytes).starts_with(kLz4))
    return fail(ErrorKind::kUnsupported, path + ": packed with lz4, which fathom does not unpack",
                fmt::format("lz4 -d {}, and then fathom stacks with its output", shell_word(path)));
  auto core = CoreFile::parse(bytes, path);
  if (!core) return tl::unexpected<Error>(core.error());
  if (core->whole_bytes() > bytes.size())
    threads->notes_.push_back(fmt::format(
        "the core file is cut short: it has {} of {} bytes, so stacks whose memory is in the rest end early",
        bytes.size(), core->whole_bytes()));
  threads->core_.emplace(std::move(*core));
  threads->load_modules();
  return threads;
}

// The file of that build id: below the root of the other machine, here, or among the files with symbols. Where the core does not
// hold the id, its path has to do.
Fd CoreThreads::open_file(const std::string& path, const std::string& build_id) {
  std::vector<std::pair<std::string, std::string>> candidates;  // root and path
  for (const std::string& same : same_paths(path)) candidates.emplace_back(options_.sysroot, same);
  if (const std::string& folder = options_.symbols.symbol_directory; !folder.empty())
    for (const std::string& name : {path, "/" + last_name(path)}) candidates.emplace_back("", folder + name);
  if (!options_.sysroot.empty() && !build_id.empty()) candidates.emplace_back("", path);
  bool other = false;
  for (const auto& [root, name] : candidates) {
    Fd fd = open_below(root, name);
    if (!fd) continue;
    const auto file = elf::ModuleFile::of_fd(fd.get(), name);
    if (!file) continue;
    if (build_id.empty() || file->elf().build_id() == build_id) return fd;
    other = true;
  }
  notes_.push_back(
      other ? fmt::format("{}: the file here has another build id than the one in the core: no names", path)
            : fmt::format("{}: the file is not here, so it has neither names nor unwind rules", path));
  return Fd();
}

session::CodeModule& CoreThreads::load_file(const process::MapEntry& mapping, const std::string& build_id) {
  std::unique_ptr<session::CodeModule>& known = modules_[mapping.path];
  if (known) return *known;
  known = std::make_unique<session::CodeModule>();
  session::CodeModule& module = *known;
  model::Module row;
  module.kind = row.kind = mapping.path == kVdso ? model::ModuleKind::kVdso : model::ModuleKind::kFile;
  row.path = builder_.string(mapping.path);
  row.name = builder_.string(last_name(mapping.path));
  symbolize::ModuleSource source;
  source.kind = module.kind;
  source.path = mapping.path;
  source.root = options_.sysroot;
  if (module.kind == model::ModuleKind::kVdso) {
    // The image is in the core. It has no names but those of its own table, which a reader of files cannot see.
    if (auto image = elf::ModuleFile::of_memory(core_->memory(mapping.start.value), kVdso))
      module.file.emplace(std::move(*image));
  } else if (Fd fd = open_file(mapping.path, build_id); fd) {
    if (auto file = elf::ModuleFile::of_fd(fd.get(), mapping.path)) module.file.emplace(std::move(*file));
    module.fd = std::move(fd);
    source.open_path = fmt::format("/proc/self/fd/{}", module.fd.get());
  }
  if (module.file) {
    source.identity = module.file->elf().identity();
    row.build_id = builder_.string(source.identity);
    if (auto table = unwind::build_table(module.file->elf()))
      module.table = std::make_shared<const unwind::Table>(std::move(*table));
  }
  module.id = builder_.module(row);
  if (module.file && module.kind == model::ModuleKind::kFile) symbols_.submit(module.id, source);
  return module;
}

void CoreThreads::load_modules() {
  std::vector<process::MapEntry> mappings = core_->mappings();
  if (core_->vdso() != 0) {
    process::MapEntry vdso;
    vdso.start.value = core_->vdso();
    vdso.end.value = core_->vdso() + core_->memory(core_->vdso()).size();
    vdso.executable = true;
    vdso.path = kVdso;
    if (vdso.start < vdso.end) mappings.push_back(std::move(vdso));
  }
  std::map<std::string, std::string> build_ids;  // of ELF files: cores hold their first page
  for (const process::MapEntry& mapping : mappings) {
    const auto head = core_->memory(mapping.start.value);
    if (mapping.offset.value == 0 && head.size() > SELFMAG && std::memcmp(head.data(), ELFMAG, SELFMAG) == 0)
      build_ids.try_emplace(mapping.path, core_->build_id(mapping.start.value));
  }
  // Code made at run time has no rules: walks go by its frame pointers. The files replace what is theirs.
  for (const auto& [start, end] : core_->executable_ranges())
    space_.add(ProcessAddress{start}, ProcessAddress{end}, 0, nullptr);
  for (const process::MapEntry& mapping : mappings) {
    const bool is_left_out = !core_->lists(mapping.start.value);
    if (!mapping.executable && !is_left_out) continue;
    // Of a database that was mapped, the path says enough: it is not opened.
    if (is_left_out && !build_ids.contains(mapping.path)) continue;
    session::CodeModule& module = load_file(mapping, build_ids[mapping.path]);
    if (is_left_out && !(module.file && holds_code(module.file->elf(), mapping))) continue;
    const std::uint64_t bias =
        module.kind == model::ModuleKind::kVdso
            ? mapping.start.value
            : module.bias(mapping).value_or(mapping.start.value - mapping.offset.value);
    code_.push_back({mapping.start.value, mapping.end.value, bias, &module});
    space_.add(mapping.start, mapping.end, bias, module.table);
  }
  std::ranges::sort(code_, {}, &CodeRange::start);
}

const CoreThreads::CodeRange* CoreThreads::find_code(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(code_, address, {}, &CodeRange::start);
  if (after == code_.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

model::ModuleId CoreThreads::made_code() {
  if (made_code_.value == 0) {
    model::Module row;
    row.kind = model::ModuleKind::kAnonymous;
    row.name = builder_.string("[jit]");
    made_code_ = builder_.module(row);
  }
  return made_code_;
}

// Pages that only repeat a file are in most cores left out.
bool CoreThreads::read(std::uint64_t address, std::span<std::byte> bytes) const {
  if (const auto memory = core_->memory(address); memory.size() >= bytes.size()) {
    std::ranges::copy(memory.first(bytes.size()), bytes.begin());
    return true;
  }
  const CodeRange* code = find_code(address);
  if (code == nullptr || !code->module->file) return false;
  const auto stored = code->module->file->elf().bytes_at(ElfAddress{address - code->bias}, bytes.size());
  if (!stored) return false;
  std::ranges::copy(*stored, bytes.begin());
  return true;
}

model::StackId CoreThreads::stack_of(const CoreThread& thread, model::WalkEnd& end) {
  unwind::RegisterValues registers;
  registers.values = arch::by_dwarf_number(thread.registers);
  registers.known = (1u << registers.values.size()) - 1;
  unwind::UnwindInput input;
  input.pc = arch::pc(thread.registers);
  input.sp = arch::sp(thread.registers);
  input.fp = arch::fp(thread.registers);
  input.registers = &registers;
  input.stack_start = ProcessAddress{input.sp};
  input.stack = core_->memory(input.sp);
  const auto memory = [this](ProcessAddress address) -> std::optional<std::uint64_t> {
    std::uint64_t word;
    if (!read(address.value, std::as_writable_bytes(std::span(&word, 1)))) return std::nullopt;
    return word;
  };
  std::vector<FrameAddress> frames;
  end = static_cast<model::WalkEnd>(unwind::walk_memory(space_, input, memory, frames));
  model::StackId stack;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::uint64_t lookup = frame->for_lookup().value;
    const CodeRange* code = find_code(lookup);
    const model::ModuleId module = code != nullptr                ? code->module->id
                                   : core_->is_executable(lookup) ? made_code()
                                                                  : model::ModuleId();
    const ElfAddress address{code == nullptr ? lookup : lookup - code->bias};
    const std::size_t known = profile_.frames.size();
    const model::FrameId id = builder_.frame(module, address);
    if (profile_.frames.size() != known && code != nullptr) symbols_.submit(module, id, address);
    stack = builder_.stack(stack, id);
  }
  return stack;
}

void CoreThreads::add_thread(const CoreThread& thread, model::ProcessId process, Look& look) {
  ThreadLook row;
  row.pid = core_->pid();
  row.tid = thread.tid;
  row.signal = thread.signal;
  row.stack = stack_of(thread, row.end);
  row.state = State::kRuns;
  const auto values = arch::by_dwarf_number(thread.registers);
  for (std::size_t i = 0; i < values.size(); ++i)
    row.registers.emplace_back(arch::kRegisterNames[i], values[i]);
  model::Thread thread_row;
  thread_row.process = process;
  thread_row.tid = thread.tid;
  const model::ThreadId id{static_cast<std::uint32_t>(profile_.threads.size())};
  profile_.threads.push_back(thread_row);
  if (const auto call = arch::call_in_progress(thread.registers)) {
    row.state = State::kWaits;
    row.arguments = call->arguments;
    model::Wait wait;
    wait.thread = id;
    wait.stack = row.stack;
    wait.system_call = call->number;
    wait.state = model::WaitState::kInterruptible;
    wait.began_before = wait.unfinished = true;
    row.wait = static_cast<std::uint32_t>(profile_.waits.size());
    profile_.waits.push_back(wait);
  }
  look.threads.push_back(std::move(row));
}

Look CoreThreads::look() {
  Look look;
  look.core_signal = core_->signal();
  look.is_core = true;
  look.targets.push_back({core_->pid(), core_->program(), false, 0});
  model::Process process;
  process.pid = core_->pid();
  process.name = builder_.string(core_->program());
  if (const auto& files = core_->mappings(); !files.empty()) {
    // The program is the file that is called as the process, else the first that has code.
    const auto main = std::ranges::find_if(files, [this](const process::MapEntry& file) {
      return !core_->program().empty() && last_name(file.path).starts_with(core_->program());
    });
    if (main != files.end())
      process.executable = builder_.string(main->path);
    else if (!code_.empty())
      process.executable = profile_.modules[code_.front().module->id.value].path;
  }
  const model::ProcessId id{static_cast<std::uint32_t>(profile_.processes.size())};
  profile_.processes.push_back(process);
  for (const CoreThread& thread : core_->threads()) add_thread(thread, id, look);
  if (!symbols_.drain(kNames)) look.notes.emplace_back("some names are missing: reading them took too long");
  const auto found = symbols_.poll();
  for (const auto& frame : found.frames) name_frame(builder_, frame.frame, frame.names);
  for (const auto& health : found.modules)
    if (!health.problem.empty()) look.notes.push_back(health.problem);
  const ProcessMemory memory = [this](std::int32_t, std::uint64_t address, std::span<std::byte> bytes) {
    return read(address, bytes);
  };
  Numbers numbers;
  // A thread is numbered as the process's own namespace has it, which may differ from the words of its locks.
  numbers.outer = [&look](std::int32_t, std::int32_t inner) -> std::optional<std::int32_t> {
    const auto row = std::ranges::find(look.threads, inner, &ThreadLook::tid);
    return row == look.threads.end() ? std::nullopt : std::optional(inner);
  };
  numbers.stranger = [](std::int32_t) { return std::nullopt; };
  numbers.file_lock = [](const ThreadLook&) { return std::nullopt; };
  numbers.has_one_thread = [&look](std::int32_t) { return look.threads.size() == 1; };
  describe(profile_, memory, look);
  find_holders(memory, numbers, look);
  look.verdicts = find_verdicts(profile_, look);
  look.notes.insert(look.notes.end(), notes_.begin(), notes_.end());
  return look;
}

}  // namespace fathom::stacks
