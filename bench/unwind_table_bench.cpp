// How long does it take to build the unwind table of a module, per MiB of .eh_frame, and how long does libdw
// need to walk through the same entries?
//
// Each binary is mapped and read once before, so its pages are warm: a recording reads binaries that are
// running. One benchmark only asks libdw for the entries (dwarf_next_cfi), the other for the rule at the
// start of every function, which is the minimum to get the content of the table.
#include <benchmark/benchmark.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "binary/unwind/frame_sections.h"
#include "binary/unwind/table.h"

namespace {

using fathom::elf::ModuleFile;

const char* const kBinaries[] = {
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/bin/redis-check-rdb",  // redis-server, as in redis-tools
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
};

void count_bytes(benchmark::State& state, const ModuleFile& file) {
  const auto sections = fathom::unwind::find_frame_sections(file.elf());
  const std::size_t size = sections.eh_frame ? sections.eh_frame->bytes.size() : 0;
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(size));
  state.counters["eh_frame_MiB"] = static_cast<double>(size) / (1 << 20);
}

void build(benchmark::State& state, const std::string& path, bool synthesize) {
  const auto file = ModuleFile::open(path);
  if (!file) return state.SkipWithError(file.error().message.c_str());
  std::size_t rows = 0;
  for (auto _ : state) {
    const auto table = fathom::unwind::build_table(file->elf(), {.synthesize = synthesize});
    rows = table->rows.size();
    benchmark::DoNotOptimize(table->rows.data());
  }
  count_bytes(state, *file);
  state.counters["rows"] = static_cast<double>(rows);
}

void libdw_entries(benchmark::State& state, const std::string& path) {
  const auto file = ModuleFile::open(path);
  if (!file) return state.SkipWithError(file.error().message.c_str());
  const auto sections = fathom::unwind::find_frame_sections(file->elf());
  if (!sections.eh_frame) return state.SkipWithError("no .eh_frame");
  const auto ident = file->elf().bytes().first(EI_NIDENT);
  // libdw reads through an Elf_Data that it never changes.
  Elf_Data data{};
  data.d_buf = const_cast<std::byte*>(sections.eh_frame->bytes.data());
  data.d_size = sections.eh_frame->bytes.size();
  data.d_version = EV_CURRENT;
  for (auto _ : state) {
    Dwarf_Off offset = 0;
    Dwarf_Off next = 0;
    Dwarf_CFI_Entry entry;
    std::size_t entries = 0;
    while (dwarf_next_cfi(reinterpret_cast<const unsigned char*>(ident.data()), &data, true, offset, &next,
                          &entry) == 0) {
      ++entries;
      offset = next;
    }
    benchmark::DoNotOptimize(entries);
  }
  count_bytes(state, *file);
}

void libdw_rules(benchmark::State& state, const std::string& path) {
  const auto file = ModuleFile::open(path);
  if (!file) return state.SkipWithError(file.error().message.c_str());
  const auto bounds = fathom::unwind::function_bounds(file->elf());
  elf_version(EV_CURRENT);
  const fathom::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (auto _ : state) {
    Elf* elf = elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr);
    Dwarf_CFI* cfi = dwarf_getcfi_elf(elf);
    for (const auto& [start, size] : bounds) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, start.value, &frame) == 0) std::free(frame);
    }
    dwarf_cfi_end(cfi);
    elf_end(elf);
  }
  count_bytes(state, *file);
}

}  // namespace

// FATHOM_BENCH_BINARY=path adds one.
int main(int argc, char** argv) {
  std::vector<std::string> binaries(std::begin(kBinaries), std::end(kBinaries));
  if (const char* more = std::getenv("FATHOM_BENCH_BINARY")) binaries.emplace_back(more);
  for (const std::string& path : binaries) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto add = [](const std::string& full_name, auto&& function) {
      benchmark::RegisterBenchmark(full_name.c_str(), function)->Unit(benchmark::kMillisecond);
    };
    add("table/" + name, [path](benchmark::State& state) { build(state, path, false); });
    add("table_with_prologues/" + name, [path](benchmark::State& state) { build(state, path, true); });
    add("libdw_entries/" + name, [path](benchmark::State& state) { libdw_entries(state, path); });
    add("libdw_rule_per_function/" + name, [path](benchmark::State& state) { libdw_rules(state, path); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
