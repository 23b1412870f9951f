// A core file: memory, threads and mapped files of a process that is gone. Source: core(5), the gABI's notes, and the kernel's
// fs/binfmt_elf.c; gcore writes the same. The bytes are untrusted. Pure: a view into the bytes, which outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/arch/user_registers.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"
#include "linux/process/maps.h"

namespace fathom::stacks {

struct CoreThread {
  std::int32_t tid = 0;
  std::int32_t signal = 0;  // that it got last
  arch::UserRegisters registers = {};
};

class CoreFile {
 public:
  // Whether these are the first bytes of one.
  static bool recognize(std::span<const std::byte> bytes);
  static Result<CoreFile> parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& program() const { return program_; }  // the name of the process, at most 15 bytes
  std::int32_t pid() const { return pid_; }
  std::int32_t signal() const { return signal_; }  // that ended it; 0: none, as of gcore
  // In the order of the file: the first is the one that got the signal.
  const std::vector<CoreThread>& threads() const { return threads_; }
  // Of files, ascending, as far as the core lists them; `inode` is 0.
  const std::vector<process::MapEntry>& mappings() const { return mappings_; }
  std::uint64_t vdso() const { return vdso_; }  // 0: not known
  // What a whole file has; the file itself has less if it was cut short, as on a full disk.
  std::uint64_t whole_bytes() const { return whole_bytes_; }

  // What the core has from there on to the end of the mapping; empty where nothing was stored.
  std::span<const std::byte> memory(std::uint64_t address) const;
  bool is_executable(std::uint64_t address) const;
  // [start, end) of each range of memory that may be executed, ascending: of files, and code that was made at run time.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> executable_ranges() const;
  // gcore leaves out mappings that only repeat a file, and with them whether they were executable.
  bool lists(std::uint64_t address) const { return find(address) != nullptr; }
  // The build id of the file that is mapped at `start` from its beginning; "" where the core does not hold it.
  std::string build_id(std::uint64_t start) const;

 private:
  struct Range {
    std::uint64_t start = 0, end = 0;  // of addresses
    std::span<const std::byte> bytes;  // may be shorter
    bool executable = false;
  };
  const Range* find(std::uint64_t address) const;
  void read_notes(std::span<const std::byte> notes);
  void read_files(std::span<const std::byte> description);

  std::vector<Range> ranges_;  // ascending
  std::vector<CoreThread> threads_;
  std::vector<process::MapEntry> mappings_;
  std::string program_;
  std::int32_t pid_ = 0, signal_ = 0;
  std::uint64_t vdso_ = 0, whole_bytes_ = 0;
};

}  // namespace fathom::stacks
