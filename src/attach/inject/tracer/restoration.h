// What to restore in a process whose profiler died. There are two sources: the journal in the shared memory,
// which the target can write to, and the modules' files, which it cannot. Reads, changes nothing.
//
// fathom often writes as root, and the journal is only the target's claim. A write through /proc/PID/mem only
// reaches private copies of the target's own pages, so a target could only harm itself; but a process that
// runs with other rights (set-uid, or exec between two checks) must not be changed on the word of a less
// privileged one either. So a change in the journal is taken back only inside a module of the process, and
// only to the content of that module's file: for any journal, the result is the program as in its file.
#pragma once

#include <string>
#include <vector>

#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/tracer/module_files.h"
#include "attach/inject/tracer/own_places.h"

namespace fathom::inject {

struct Restoration {
  std::vector<tracer_journal_entry> changes;  // for take_back()
  std::vector<std::string> left;              // places that cannot be restored, and why: one phrase each
};

class Restorer {
 public:
  // All arguments outlive the object.
  Restorer(const RemoteMemory& memory, std::span<const process::MapEntry> maps, const OwnPlaces& places,
           ModuleFiles& files)
      : memory_(memory), maps_(maps), places_(places), files_(files) {}

  // The changes of a well-formed `journal` (shared_view.h) that may be taken back; `left` names the others.
  Restoration by_journal(std::span<const tracer_journal_entry> journal);
  // All jumps from modules' texts into the tracer's islands, and all words in modules' data that hold an
  // address of its image. `left`: references to the tracer that cannot be restored. Compares every text with
  // its file.
  Restoration by_files();

 private:
  std::string why_not(const tracer_journal_entry& entry);
  void compare_text(const process::MapEntry& entry, Restoration& found);
  void search_data(const process::MapEntry& entry, Restoration& found);
  // The previous value of a word that holds `hook`, an address of the image.
  std::optional<std::uint64_t> word_before(std::uint64_t address, std::uint64_t hook);
  bool is_code_of_module(std::uint64_t address) const;
  bool is_jump_into_islands(std::uint64_t address, std::span<const std::byte> bytes) const;

  const RemoteMemory& memory_;
  std::span<const process::MapEntry> maps_;
  const OwnPlaces& places_;
  ModuleFiles& files_;
};

}  // namespace fathom::inject
