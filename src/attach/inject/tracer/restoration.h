// What of a process is to be restored after a tracer whose profiler is gone. Two witnesses: the journal in
// the shared memory, which the target can write to, and the modules' files, which it cannot. Reads, changes
// nothing.
//
// Who writes is often root, and the journal is the target's word. The kernel lets a write through
// /proc/PID/mem reach private copies of the target's own pages only, so a target could harm nobody but
// itself; but a process whose program runs with other rights (set-uid, or entered by exec between two looks)
// must not be written to on a lesser one's word either. So a change of the journal is taken back only where a
// module of the process lies, and only to what that module's file says: whatever the journal says, the result
// is the program as its file has it.
#pragma once

#include <string>
#include <vector>

#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/tracer/module_files.h"
#include "attach/inject/tracer/own_places.h"

namespace fathom::inject {

struct Restoration {
  std::vector<tracer_journal_entry> changes;  // for take_back()
  std::vector<std::string> left;              // what cannot be restored, and why: one phrase each
};

class Restorer {
 public:
  // All outlive the object.
  Restorer(const RemoteMemory& memory, std::span<const process::MapEntry> maps, const OwnPlaces& places,
           ModuleFiles& files)
      : memory_(memory), maps_(maps), places_(places), files_(files) {}

  // Of `journal`, well formed (shared_view.h), the changes that may be taken back; `left` names the others.
  Restoration by_journal(std::span<const tracer_journal_entry> journal);
  // All jumps out of modules' texts into the tracer's islands, and all words in modules' data that hold an
  // address of its image. `left`: what leads into the tracer and cannot be restored. Compares every text with
  // its file.
  Restoration by_files();

 private:
  std::string why_not(const tracer_journal_entry& entry);
  void compare_text(const process::MapEntry& entry, Restoration& found);
  void search_data(const process::MapEntry& entry, Restoration& found);
  // What stood at a word that holds `hook`, an address of the image.
  std::optional<std::uint64_t> word_before(std::uint64_t address, std::uint64_t hook);
  bool is_code_of_module(std::uint64_t address) const;
  bool is_jump_into_islands(std::uint64_t address, std::span<const std::byte> bytes) const;

  const RemoteMemory& memory_;
  std::span<const process::MapEntry> maps_;
  const OwnPlaces& places_;
  ModuleFiles& files_;
};

}  // namespace fathom::inject
