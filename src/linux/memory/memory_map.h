// Every mapping of a process, its resident part, and its kind. Source: proc(5), /proc/PID/smaps. Reading it
// walks the page tables of the process with its mmap_lock held: 60 ns a page (31 ms for a mapping of 2 GiB on
// 6.18 in a virtual machine), during which the process can neither map nor unmap. So it is read in pieces
// within a budget; the kernel releases the lock between them. It is not read at all if the size alone shows
// that it would take too long. smaps_rollup does not help: it walks as much.
//
// Parsing and judging are pure; the text is not trusted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::sources {

// Bytes. `anonymous` is of `rss`: pages that are no file's, also inside of a private mapping of a file.
struct MemoryMapping {
  process::MapEntry entry;
  std::uint64_t rss = 0, anonymous = 0, swap = 0;
  std::uint64_t huge = 0;       // of rss, on transparent huge pages
  std::uint64_t huge_file = 0;  // explicit huge pages, which are no part of rss
  // Of smaps alone. PSS, and pages that differ from their file or have none.
  std::uint64_t proportional = 0, dirty = 0;
  // It lies right behind the data of a file, and the file says that it is not its zeroed data (zeroed_data.h).
  bool not_zeroed_data = false;
  bool operator==(const MemoryMapping&) const = default;
};

// Takes the text in pieces of any size.
class SmapsParser {
 public:
  // kMalformed: a line that is neither a mapping nor a field of one. Nothing is guessed.
  Result<> feed(std::string_view piece);
  // What came so far; the last mapping only if the text ended with a whole line.
  Result<std::vector<MemoryMapping>> finish();

 private:
  Result<> take_line(std::string_view line);
  std::vector<MemoryMapping> mappings_;
  std::string rest_;  // of a line
  std::uint64_t lines_ = 0;
};
Result<std::vector<MemoryMapping>> parse_smaps(std::string_view text);

struct SmapsReading {
  std::vector<MemoryMapping> mappings;
  bool whole = false;            // else the budget was used up, and `mappings` is not all
  std::uint64_t took_ns = 0;     // all of it: the cost
  std::uint64_t longest_ns = 0;  // one piece: as long as that was the lock held
};
// `budget_ns`: no further piece is begun after it. kNotFound: no such process, or one without memory.
Result<SmapsReading> read_smaps(std::int32_t pid, std::uint64_t budget_ns);

// Where a thread's stack was at that moment.
struct StackPointer {
  std::uint64_t address = 0;
  std::string thread;  // its name
  bool operator==(const StackPointer&) const = default;
};
// Of blocked threads; running ones do not report it. Reads at most `most` threads.
std::vector<StackPointer> read_stack_pointers(std::int32_t pid, std::size_t most = 4096);

// The kind of a mapping, as far as the map itself and stack pointers show it.
enum class MappingUse : std::uint8_t {
  kFile,         // its private pages are data of the file
  kFileZeroed,   // anonymous, right behind the writable data of a file: the zeroed part of it (.bss)
  kShared,       // memfd, System V, /dev/shm, /dev/zero: memory without a file
  kBreak,        // "[heap]"
  kMainStack,    // "[stack]"
  kThreadStack,  // a stack pointer is in it, or a guard page below it
  kArena,        // of glibc's malloc, by its shape: 64 MiB, of which the upper part is not accessible yet
  kKernel,       // "[vdso]", "[vvar]"
  kHugeFile,     // of hugetlbfs
  kAnonymous,    // anything else
};
struct JudgedMapping {
  MemoryMapping mapping;
  MappingUse use = MappingUse::kAnonymous;
  // Path of the file, name of the thread, or the name that the program gave it ("[anon:pool]"); may be empty.
  std::string name;
};
// In the same order. `mappings` is in ascending order, as the kernel gives them.
std::vector<JudgedMapping> judge_mappings(std::vector<MemoryMapping> mappings,
                                          std::span<const StackPointer> stacks);

}  // namespace fathom::sources
