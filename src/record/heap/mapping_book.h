// Address space that a process mapped directly, without an allocator: which call mapped it and how much of it
// is left. Fed with memory calls in time order; mappings from before the first call are unknown and not
// counted. Pure.
//
// A mapping keeps its site until its last byte is given back, also when it is cut into pieces, moved or
// grown: mremap and brk that grow take the difference at their own site.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "linux/events.h"

namespace fathom::sources::heap {

class MappingBook {
 public:
  struct Change {
    std::uint64_t time_ns = 0;
    std::uint64_t stack_id = 0;  // of the call that took it, also when it is given back
    std::int32_t tid = 0;        // likewise
    bool taken = false;          // else given back
    std::uint64_t bytes = 0;
    bool whole = false;          // taken: always; given back: nothing of what that call took is left
    std::uint64_t lived_ns = 0;  // given back: since it was taken
    bool operator==(const Change&) const = default;
  };

  // Appends what the call changed. Anonymous memory only: mappings of files take address space and no memory
  // of their own, but they replace what was there.
  void on(const MemoryCall& call, std::vector<Change>& out);

  // visit(start, end) for each range that was taken and not given back, in ascending order.
  template <class Visit>
  void for_each_piece(const Visit& visit) const {
    for (const auto& [start, piece] : pieces_) visit(start, piece.end);
  }
  std::size_t pieces() const { return pieces_.size(); }

 private:
  struct Taking {
    std::uint64_t time_ns, stack_id, bytes;
    std::int32_t tid;
  };
  struct Piece {
    std::uint64_t end;
    std::uint64_t taking;  // key of takings_
  };
  void take(const MemoryCall& call, std::uint64_t start, std::uint64_t end, std::vector<Change>& out);
  void give_back(std::uint64_t time_ns, std::uint64_t start, std::uint64_t end, std::vector<Change>& out);
  void move(std::uint64_t from, std::uint64_t length, std::uint64_t to);
  // Pieces that reach across the address become two.
  void split(std::uint64_t address);

  std::map<std::uint64_t, Piece> pieces_;  // by start
  std::map<std::uint64_t, Taking> takings_;
  std::uint64_t next_ = 1;
  std::uint64_t break_ = 0;  // end of the heap; 0: not seen yet
};

}  // namespace fathom::sources::heap
