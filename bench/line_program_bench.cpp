// Should libdw run the line programs of DWARF? Asks libdw and fathom's own code for the files and lines of
// the same addresses, each in its own process, and compares their answers.
//
//   line_program_bench FILE...          with .debug_line: ELF files or debug files
//
// "first": 1,000 addresses of functions all over the file, nothing read before. "later": 10,000 more, in ten
// batches, as they arrive while recording a program. CPU time; memory is the growth of the anonymous resident
// set. The unit's entry for an address, which both need, is looked up before.
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/dies.h"
#include "binary/symbolize/line_program.h"
#include "linux/process/status.h"

namespace {

using namespace fathom;
using namespace fathom::symbolize;

constexpr std::size_t kBatch = 1'000, kBatches = 11, kRounds = 5;

struct Question {
  std::uint64_t address;
  Dwarf_Off unit;
};
using Batch = std::vector<Question>;  // by unit, then by address
using Answers = std::vector<std::string>;

struct Opened {
  explicit Opened(const std::string& path) : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    dwarf = dwarf_begin(fd, DWARF_C_READ);
  }
  ~Opened() {
    dwarf_end(dwarf);
    ::close(fd);
  }
  int fd;
  Dwarf* dwarf;
};

std::vector<Batch> batches_of(const std::string& path, const elf::ElfFile& file) {
  const Opened opened(path);
  std::map<std::uint64_t, std::pair<std::uint64_t, Dwarf_Off>> units;  // start -> end, unit
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  while (dwarf_get_units(opened.dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0)
    if (dwarf_hasattr(&die, DW_AT_stmt_list) != 0 && type == DW_UT_compile)
      for (const auto& range : ranges_of(die, 1 << 20))
        if (range.start != 0) units[range.start] = {range.end, dwarf_dieoffset(&die)};
  std::vector<elf::Symbol> functions;
  for (const auto& symbol : file.symbols(elf::SymbolTable::kSymtab))
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && symbol.size != 0)
      functions.push_back(symbol);
  std::vector<Batch> batches(kBatches);
  if (functions.empty() || units.empty()) return batches;
  std::mt19937_64 random(1);
  for (Batch& batch : batches) {
    for (std::size_t tries = 0; batch.size() < kBatch && tries < 100 * kBatch; ++tries) {
      const auto& function = functions[random() % functions.size()];
      const std::uint64_t address = function.address.value + random() % function.size;
      const auto after = units.upper_bound(address);
      if (after == units.begin() || address >= std::prev(after)->second.first) continue;
      batch.push_back({address, std::prev(after)->second.second});
    }
    std::sort(batch.begin(), batch.end(), [](const Question& a, const Question& b) {
      return std::pair(a.unit, a.address) < std::pair(b.unit, b.address);
    });
  }
  return batches;
}

std::string answer(std::string_view file, std::uint64_t line) {
  return std::string(file) + ':' + std::to_string(line);
}
// libdw leaves "." and ".." in a path.
std::string normal(const std::string& answer) {
  return std::filesystem::path(answer).lexically_normal().string();
}

class Ours {
 public:
  Ours(const std::string& path, const elf::ElfFile& file) : opened_(path) {
    const auto load = [&](const char* name) {
      const auto* section = file.section(name);
      if (section == nullptr) return elf::SectionData();
      auto content = file.contents(*section);
      return content ? std::move(*content) : elf::SectionData();
    };
    line_ = load(".debug_line");
    line_string_ = load(".debug_line_str");
    string_ = load(".debug_str");
  }
  void ask(const Batch& batch, Answers& out) {
    for (std::size_t i = 0; i < batch.size();) {
      std::size_t end = i;
      std::vector<std::uint64_t> addresses;
      for (; end < batch.size() && batch[end].unit == batch[i].unit; ++end)
        addresses.push_back(batch[end].address);
      auto* program = program_of(batch[i].unit);
      const auto rows =
          program ? program->find(addresses) : std::vector<std::optional<LineRow>>(addresses.size());
      std::map<std::uint64_t, std::string> files;
      for (const auto& row : rows) {
        out.emplace_back();
        if (!row) continue;
        const auto [file_name, is_new] = files.try_emplace(row->file);
        if (is_new) file_name->second = program->file(row->file);
        out.back() = answer(file_name->second, row->line);
      }
      i = end;
    }
  }

 private:
  LineProgram* program_of(Dwarf_Off unit) {
    const auto [slot, added] = programs_.try_emplace(unit);
    if (!added) return slot->second ? &*slot->second : nullptr;
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_offdie(opened_.dwarf, unit, &die) == nullptr ||
        dwarf_formudata(dwarf_attr(&die, DW_AT_stmt_list, &attribute), &offset) != 0)
      return nullptr;
    const auto text = [&](unsigned name) {
      const char* found = dwarf_formstring(dwarf_attr(&die, name, &attribute));
      return std::string(found == nullptr ? "" : found);
    };
    auto program = LineProgram::parse({line_.bytes(), line_string_.bytes(), string_.bytes()}, offset,
                                      text(DW_AT_comp_dir), text(DW_AT_name));
    if (program) slot->second = std::move(*program);
    return slot->second ? &*slot->second : nullptr;
  }

  Opened opened_;
  elf::SectionData line_, line_string_, string_;
  std::map<Dwarf_Off, std::optional<LineProgram>> programs_;
};

class Libdw {
 public:
  Libdw(const std::string& path, const elf::ElfFile&) : opened_(path) {}
  void ask(const Batch& batch, Answers& out) {
    for (const Question& question : batch) {
      Dwarf_Die die;
      int line = 0;
      Dwarf_Line* row = dwarf_offdie(opened_.dwarf, question.unit, &die) == nullptr
                            ? nullptr
                            : dwarf_getsrc_die(&die, question.address);
      const char* file = row == nullptr ? nullptr : dwarf_linesrc(row, nullptr, nullptr);
      if (file == nullptr || dwarf_lineno(row, &line) != 0)
        out.emplace_back();
      else if (file[0] != '/')
        out.push_back(folder_of(die) + '/' + answer(file, static_cast<std::uint64_t>(line)));
      else
        out.push_back(answer(file, static_cast<std::uint64_t>(line)));
    }
  }

 private:
  // The base of the line program's relative paths, which libdw leaves to its caller.
  static std::string folder_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    const char* found = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attribute));
    return found == nullptr ? "" : found;
  }

  Opened opened_;
};

struct Measured {
  double first_ms = 0, later_ms = 0, memory_mb = 0;
  Answers answers;
};

std::uint64_t anonymous_memory() {
  const auto memory = process::read_memory(::getpid());
  return memory ? memory->rss_anon : 0;
}

// In a process of its own, so that one method does not use the other's caches.
template <class Method>
Measured measure(const std::string& path, const elf::ElfFile& file, const std::vector<Batch>& batches) {
  std::FILE* out = std::tmpfile();
  if (const pid_t child = ::fork(); child == 0) {
    Answers answers;
    answers.reserve(kBatch * kBatches);
    ::malloc_trim(0);  // otherwise memory that the parent has freed would be reused, and not count
    const auto memory = anonymous_memory();
    const auto start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    Method method(path, file);
    method.ask(batches[0], answers);
    const auto first = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (std::size_t i = 1; i < batches.size(); ++i) method.ask(batches[i], answers);
    const auto end = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const auto memory_after = anonymous_memory();
    fmt::print(out, "{} {} {}\n", first - start, end - first, memory_after - memory);
    for (const std::string& text : answers) fmt::print(out, "{}\n", text);
    std::fflush(out);
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  Measured result;
  std::rewind(out);
  char line[8192];
  unsigned long long first = 0, later = 0, memory = 0;
  if (std::fgets(line, sizeof(line), out) &&
      std::sscanf(line, "%llu %llu %llu", &first, &later, &memory) == 3)
    result = {static_cast<double>(first) * 1e-6,
              static_cast<double>(later) * 1e-6,
              static_cast<double>(memory) * 1e-6,
              {}};
  while (std::fgets(line, sizeof(line), out)) result.answers.emplace_back(line);
  std::fclose(out);
  return result;
}

template <class Method>
Measured median_of_rounds(const std::string& path, const elf::ElfFile& file,
                          const std::vector<Batch>& batches) {
  std::vector<Measured> rounds;
  for (std::size_t i = 0; i < kRounds; ++i) rounds.push_back(measure<Method>(path, file, batches));
  Measured result = rounds[0];
  const auto median = [&](double Measured::*field) {
    std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2, {}, field);
    result.*field = rounds[kRounds / 2].*field;
  };
  median(&Measured::first_ms);
  median(&Measured::later_ms);
  median(&Measured::memory_mb);
  return result;
}

void compare(const std::string& path) {
  const auto module = elf::ModuleFile::open(path);
  if (!module) {
    fmt::print("{}\n", module.error().message);
    return;
  }
  const auto& file = module->elf();
  const auto* section = file.section(".debug_line");
  const auto batches = batches_of(path, file);
  if (section == nullptr || batches[0].empty()) {
    fmt::print("{}: no line programs\n", path);
    return;
  }
  const auto ours = median_of_rounds<Ours>(path, file, batches);
  const auto libdw = median_of_rounds<Libdw>(path, file, batches);
  std::size_t equal = 0, shown = 0, all = std::max(ours.answers.size(), libdw.answers.size());
  for (std::size_t i = 0; i < std::min(ours.answers.size(), libdw.answers.size()); ++i)
    if (normal(ours.answers[i]) == normal(libdw.answers[i]))
      ++equal;
    else if (++shown <= 5)
      fmt::print(stderr, "  ours {}  libdw {}", ours.answers[i], libdw.answers[i]);
  fmt::print("| {} | {:.1f} | {:.1f} / {:.1f} | {:.1f} / {:.1f} | {:.1f} / {:.1f} | {} of {} |\n",
             std::filesystem::path(path).filename().string(), static_cast<double>(section->size) * 1e-6,
             ours.first_ms, libdw.first_ms, ours.later_ms, libdw.later_ms, ours.memory_mb, libdw.memory_mb,
             equal, all);
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print(
      "| file | .debug_line, MB | first, ms: fathom / libdw | later, ms | memory, MB | same answers |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  for (int i = 1; i < argc; ++i) compare(argv[i]);
}
