// The model that everything meets in: recorders and readers fill it, reports and writers drain it, and
// neither side sees the other. Tables of plain structs joined by typed ids; rows are only ever appended, so a
// writer can save what is new since its last visit, and parents stand before their children. Knows no format
// and no user interface.
//
//   strings   every text once
//   modules   files and pseudo-files that code comes from
//   functions, lines   names: one frame has one line, or several when calls were inlined into it
//   frames    one place in one module; the unit of symbolisation
//   stacks    prefix tree: a stack is its parent (towards the root) and a frame
//   processes, threads
//   samples   what the sources delivered: (metric, time, thread, stack, value)
//   objects, waits   what threads waited for, and each wait
//   faults    pages that were touched and not there
//   calls     how often functions that were asked for were called, and how long that took: calls.h
//   spans     pieces of work that the program or the user named: spans.h
//   heap      what was allocated and freed where and when: heap.h
//   memory_ranges   what the memory of processes was made of at some moments: memory.h
//   series    numbers over time
//   quality   what is known about the truth of all this
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/row_index.h"
#include "model/calls.h"
#include "model/heap.h"
#include "model/ids.h"
#include "model/memory.h"
#include "model/metric.h"
#include "model/packed_rows.h"
#include "model/spans.h"

namespace fathom::model {

// Every text once. Row 0 is the empty string.
class StringTable {
 public:
  StringTable() { intern(""); }
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;
  StringId intern(std::string_view text);
  // Valid as long as the table: rows never move.
  std::string_view operator[](StringId id) const { return *rows_[id.value]; }
  std::size_t size() const { return rows_.size(); }
  void reserve(std::size_t rows);
  // The same texts in the same rows.
  bool operator==(const StringTable& other) const;

 private:
  struct Hash {
    using is_transparent =
        void;  // looked up by view: most texts are there already, and then nothing is allocated
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> rows_;  // keys of ids_, which never move
};

enum class ModuleKind : std::uint8_t {
  kUnknown,  // row 0: the address belongs to nothing that was mapped
  kFile,     // an ELF file
  kKernel,   // the kernel and its modules; frames hold process (kernel) addresses
  kVdso,
  kAnonymous,  // executable memory without a file: code made at run time; frames hold process addresses
  kNames,      // imported text: frames have names and no addresses
};

// Where the names of a module came from, and so what they are worth.
enum class SymbolSource : std::uint8_t {
  kNone,    // stripped: no names
  kDynsym,  // exported names only
  kSymtab,  // every function
  kDwarf,   // every function, inlined calls and lines
  kKallsyms,
  kPerfMap,
  kPseudo,  // function bounds from .eh_frame, named by their address
  kGo,      // what a Go program knows of itself, stripped or not: functions, inlined calls and lines
};

struct Module {
  ModuleKind kind = ModuleKind::kUnknown;
  StringId name;      // short: "libc.so.6", "[kernel]"
  StringId path;      // as seen by the target
  StringId build_id;  // hex; for files without one, "x-" and a content hash
  SymbolSource symbols = SymbolSource::kNone;
  StringId symbols_path;  // separate debug file, perf map ...; empty if the module itself
  auto operator<=>(const Module&) const = default;
};

struct Function {
  StringId name;  // demangled, with generic arguments
  ModuleId module;
  auto operator<=>(const Function&) const = default;
};

// One source line of one function.
struct Line {
  FunctionId function;
  StringId file;           // empty if unknown
  std::uint32_t line = 0;  // 0 if unknown
  auto operator<=>(const Line&) const = default;
};

// One place in one module, found by `address`: an ELF address for files and the vdso, a process address
// otherwise, 0 for kNames. It is the address that tables are asked with: for a return address, one byte less
// (FrameAddress::for_lookup).
struct Frame {
  ModuleId module;
  ElfAddress address;
  // Innermost first: [0] is where the address is, the others called it and were inlined into one another.
  // Empty: no name is known (yet).
  std::uint32_t first_line = 0;
  std::uint32_t line_count = 0;
  auto operator<=>(const Frame&) const = default;
};

struct Stack {
  StackId parent;  // towards the root; smaller than the row's own number
  FrameId frame;
  auto operator<=>(const Stack&) const = default;
};

struct Process {
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC; 0 if it was there before
  std::uint64_t end_ns = 0;    // 0 if it outlived the recording
  StringId name;
  StringId executable;
  auto operator<=>(const Process&) const = default;
};

struct Thread {
  ProcessId process;
  std::int32_t tid = 0;
  StringId name;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t cpu_ns = 0;  // exact CPU time inside the recording, from the scheduler; 0 if unknown
  // Exact, booked at every switch, when waiting was recorded: ran + waited + queued is the thread's life
  // inside the recording. `queued` is the time in which it could run and had no CPU.
  std::uint64_t ran_ns = 0, waited_ns = 0, queued_ns = 0;
  std::uint64_t waits = 0,
                preemptions = 0;  // how often it was switched out: to wait, or though it could run on
  // Those of them whose stack was not walked, as there were too many: others of the thread stand for them
  // (Wait::weight).
  std::uint64_t unwalked_waits = 0, unwalked_ns = 0;
  auto operator<=>(const Thread&) const = default;
};
struct Sample {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; 0 for imported text without times
  std::int64_t value = 1;     // in unit_of(metric)
  ThreadId thread;
  StackId stack;
  std::uint16_t cpu = 0;
  Metric metric = Metric::kCpu;
  WalkEnd end = 0;
  auto operator<=>(const Sample&) const = default;
};

// What threads wait for: a lock, a file, a peer. Row 0: nothing known.
enum class ObjectKind : std::uint8_t {
  kNone,
  kFutex,       // address: of the futex word, in the process
  kFile,        // name: its path
  kMappedFile,  // name: the path of the file behind a page that was missing
  kMemory,      // a page without a file; name: of the mapping; address: of the page, in the process
  kPipe,
  kSocket,   // name: of the peer, as far as known
  kPoll,     // an epoll, an eventfd, a timer: address is the descriptor
  kProcess,  // a child; address: its pid
};
struct WaitObject {
  ObjectKind kind = ObjectKind::kNone;
  StringId name;
  std::uint64_t address = 0;
  std::int32_t pid = 0;  // whose address or descriptor it is; 0 for files
  auto operator<=>(const WaitObject&) const = default;
};
using WaitObjectId = Id<struct WaitObjectTag>;

// The state in which the scheduler took the thread off its CPU.
enum class WaitState : std::uint8_t {
  kPreempted,
  kInterruptible,
  kUninterruptible,
  kStopped,
  kTraced,
  kOther
};

// One wait of one thread: from being switched out to running again. Facts only; what to call it is the
// business of report/.
struct Wait {
  static constexpr std::int64_t kNoResult = INT64_MIN;  // not known, or there is none
  std::uint64_t start_ns = 0;                           // CLOCK_MONOTONIC; not before the recording
  std::uint64_t waited_ns = 0;                          // until it was woken; 0 if preempted
  std::uint64_t queued_ns = 0;                          // from then on until it had a CPU
  ThreadId thread;
  StackId stack;
  ThreadId waker = kNoThread;  // who woke it: a thread, of any process; kNoThread: unknown, or no thread
  StackId waker_stack;         // 0: not walked
  WaitObjectId object;
  std::int32_t system_call = -1;  // number; -1: none, as in a page fault or when preempted in user mode
  // futex: the operation; reading and writing: bytes asked for; a page fault: offset of the page in the file.
  std::uint64_t argument = 0;
  // What the call returned, of calls that read, write or sync: bytes, or a negative error number; of poll and select: how many
  // files are ready. A call that waits several times has its result at its last wait.
  std::int64_t result = kNoResult;
  std::uint32_t weight = 1;  // so many waits of this thread does it stand for, itself included
  WaitState state = WaitState::kOther;
  bool throttled = false;  // preempted by the CPU quota of its control group
  WalkEnd end = 0;
  bool began_before = false;  // was waiting when the recording began: only the part inside counts
  bool unfinished = false;    // still waiting when it ended
  auto operator<=>(const Wait&) const = default;
};

// A page fault of a thread: it touched a page that was not mapped yet.
struct Fault {
  std::uint64_t time_ns = 0;
  ThreadId thread;
  StackId stack;
  WaitObjectId object;       // a mapped file, or memory without one
  std::uint64_t offset = 0;  // of the page in the file; its address where there is no file
  std::uint32_t weight = 1;  // so many faults does it stand for, itself included
  bool major = false;  // it had to be read from a disk: all of these are there, and of the others a part
  WalkEnd end = 0;
  auto operator<=>(const Fault&) const = default;
};

struct Point {
  std::uint64_t time_ns;
  double value;
  auto operator<=>(const Point&) const = default;
};

struct Series {
  StringId name;  // "memory.rss_anon", "cgroup.memory" ...; docs/format.md lists them
  StringId unit;  // "bytes", "count"
  std::int32_t pid = 0;
  std::vector<Point> points;
  auto operator<=>(const Series&) const = default;
};

// Walks that stopped early, by reason and by the module in which they stopped.
struct EarlyEnd {
  WalkEnd reason = 0;
  ModuleId module;
  std::uint64_t count = 0;
  auto operator<=>(const EarlyEnd&) const = default;
};

// What is known about the truth of a recording. recorded = shown + filtered + lost, always.
struct Quality {
  std::uint64_t samples = 0;           // arrived and stored: shown + filtered
  std::uint64_t filtered = 0;          // stored, but outside of the window that was asked for when reading
  double expected_samples = 0;         // CPU time of the target times the rate; 0 if unknown
  std::uint64_t lost_ring_full = 0;    // sample dropped: the ring to user space was full
  std::uint64_t lost_stack = 0;        // sample arrived, its stack never did
  std::uint64_t lost_throttled = 0;    // times that the kernel throttled the event
  std::uint64_t lost_records = 0;      // side-band records (mappings, names) that the kernel dropped
  std::uint64_t lost_disk = 0;         // samples that could not be written
  std::uint64_t complete = 0;          // walks that reached the start of the thread
  std::uint64_t kernel_truncated = 0;  // kernel stacks deeper than the buffer
  std::vector<EarlyEnd> early_ends;
  std::uint64_t table_overflows = 0;     // modules without unwind table because the table space was full
  std::uint64_t profiler_cpu_ns = 0;     // of the profiler's own process
  std::uint64_t profiler_rss_bytes = 0;  // its peak
  std::uint64_t bpf_ns = 0;              // time inside our BPF programs, where the kernel measures it; else 0
  std::uint64_t bpf_runs = 0;
  std::uint64_t kernel_memory_bytes = 0;  // locked for tables and rings
  std::uint64_t target_stops = 0;         // times that all threads of the target stood still
  std::uint64_t target_stop_ns = 0;       // longest
  // Waiting, when it was recorded.
  std::uint64_t waits = 0;           // rows stored: shown + filtered
  std::uint64_t filtered_waits = 0;  // stored, but wholly outside of the window that was asked for
  std::uint64_t unwalked_waits = 0;  // booked, but represented by the weight of others
  std::uint64_t unwalked_ns = 0;
  std::uint64_t lost_waits = 0;    // walked, but the ring or the disk was full, or the file is damaged: their
                                   // time is missing from the stacks
  std::uint64_t switches = 0;      // of recorded threads, booked
  std::uint64_t switch_ns = 0;     // time inside our scheduler programs
  bool truncated = false;          // the recording ended without its last block (killed)
  std::vector<std::string> notes;  // sentences: what could not be seen and why
  auto operator<=>(const Quality&) const = default;
};

// Facts about the recording as a whole. Extra facts go to `facts` (documented in docs/format.md).
struct Meta {
  std::string target;  // what the user asked for: "redis-server (pid 12)", "cc1plus -O2 x.cpp"
  std::string engine;  // "bpf", "perf", "proc", "import"
  std::string event;   // "cpu-clock", "cycles"
  std::uint32_t frequency_hz = 0;
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t end_ns = 0;
  std::uint64_t start_unix_ns = 0;           // CLOCK_REALTIME at start_ns
  std::map<std::string, std::string> facts;  // "host", "kernel", "cpu", "cpus", "command", "exit" ...
  auto operator<=>(const Meta&) const = default;
};

struct Profile {
  Meta meta;
  StringTable strings;
  std::vector<Module> modules;  // row 0: unknown
  std::vector<Function> functions;
  std::vector<Line> lines;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;  // row 0: the empty stack
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Sample> samples;
  std::vector<WaitObject> objects;  // row 0: nothing known
  std::vector<Wait> waits;
  // Those before them, where a reader was asked to pack them (store::ReadOptions). What may be told of such a profile goes
  // over all_samples(), all_waits() and HeapTables::all_rows().
  PackedRows<Sample> packed_samples;
  PackedRows<Wait> packed_waits;
  std::vector<Fault> faults;
  std::vector<Calls> calls;  // a recorder clears them once they are written, like samples
  std::vector<Span> spans;   // a recorder clears them once they are written, like samples
  HeapTables heap;
  std::vector<MemoryRange> memory_ranges;  // a recorder clears them once they are written, like samples
  std::vector<Series> series;
  Quality quality;

  Profile();  // with the rows 0

  Rows<Sample> all_samples() const { return {packed_samples, samples}; }
  Rows<Wait> all_waits() const { return {packed_waits, waits}; }

  double duration_s() const {
    return meta.end_ns > meta.start_ns ? static_cast<double>(meta.end_ns - meta.start_ns) * 1e-9 : 0;
  }
  // "[module+0x1234]" for a frame without a name.
  std::string pseudo_name(const Frame& frame) const;
  // Row for row the same; for the same content in another order of rows see merge().
  bool operator==(const Profile& other) const = default;
};

// Fills a profile, finding rows that are there already. One per profile; rows must not be added behind its
// back.
class Builder {
 public:
  explicit Builder(Profile& profile);  // `profile` outlives the builder; its rows so far are known to it
  StringId string(std::string_view text) { return profile_.strings.intern(text); }
  ModuleId module(
      const Module& module);  // found again by kind, path (name, if there is no path) and build id
  FunctionId function(std::string_view name, ModuleId module);
  FrameId frame(ModuleId module, ElfAddress address);
  // A frame that has only a name (imported text).
  FrameId named_frame(std::string_view name, ModuleId module);
  // Names a frame that has none yet; innermost first. A second call for the same frame is ignored.
  struct NamedLine {
    std::string_view function;
    std::string_view file;
    std::uint32_t line;
  };
  void name_frame(FrameId frame, const std::vector<NamedLine>& lines);
  // The frame with exactly these names, made if there is none. For text that was imported with inlined calls
  // or lines (address 0), and for merging recordings in which one address had two names.
  FrameId frame_with_lines(ModuleId module, ElfAddress address, const std::vector<NamedLine>& lines);
  StackId stack(StackId parent, FrameId frame);

 private:
  void know_frame(std::uint32_t row);
  std::uint32_t find_or_add_stack(const Stack& stack, std::uint32_t next);
  std::vector<Line> lines_of(ModuleId module, const std::vector<NamedLine>& lines);
  static std::string lines_key(ModuleId module, ElfAddress address, const Line* lines, std::size_t count);
  struct PairHash {
    std::size_t operator()(std::uint64_t key) const noexcept;
  };
  struct WideKey {
    std::uint64_t a, b;
    bool operator==(const WideKey&) const = default;
  };
  struct WideHash {
    std::size_t operator()(const WideKey& key) const noexcept;
  };
  Profile& profile_;
  std::unordered_map<std::uint64_t, std::uint32_t, PairHash> functions_;
  RowIndex stacks_;  // millions of rows, each of which is its own key
  std::unordered_map<WideKey, std::uint32_t, WideHash> frames_;
  std::unordered_map<std::string, std::uint32_t> modules_, frames_by_lines_;
};

// Every id in range (so a sample needs a thread, and a thread its process), parents before children, lines
// inside their table, enumerators known; a wait stands for one at least (itself), and its end fits into 64
// bits. A profile that was read from a file is checked before anything else sees it.
Result<> check(const Profile& profile);

// Adds all of `from` to `into`: tables are joined by content, samples, waits and series are appended, quality
// is added up. A process is joined by pid, start and names; a thread by process, tid, start and name. A frame
// that is named in one of the two is named in the result; an address with two different names becomes two
// frames. Both sides pass check().
void merge(Profile& into, const Profile& from);

}  // namespace fathom::model
