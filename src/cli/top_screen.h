// What `fathom top` shows: one table of functions for the last interval, and the keys that change it. A state machine without a
// terminal: rows and keys in, lines out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "present/tui/screen.h"

namespace fathom::cli {

struct TopRow {
  std::string name, module;  // as the target has them: not printable yet
  // CPU: share of one CPU; waits: threads that waited there on average; allocations: bytes per second.
  double self = 0, total = 0;
};

// One interval.
struct TopTable {
  std::string target;
  double at_s = 0;        // since the start
  double interval_s = 0;  // how long it was
  double cpus = 0;        // CPU time used, in CPUs
  double waiting = 0;     // threads that waited, on average
  std::size_t threads = 0;
  std::vector<TopRow> cpu = {}, waits = {}, allocations = {};
  std::optional<double> allocated_per_s = {};  // bytes; nullopt: the heap is not traced
};

enum class TopMetric : std::uint8_t { kCpu, kWaits, kAllocations };

class TopScreen {
 public:
  explicit TopScreen(TopMetric metric = TopMetric::kCpu) : metric_(metric) {}

  // Shown from now on, unless the screen is frozen.
  void take(TopTable table);
  // A byte from the keyboard. False: it means nothing here.
  bool key(char byte);

  bool wants_end() const { return end_; }
  bool wants_save() const { return save_; }
  bool is_frozen() const { return frozen_; }
  void say(std::string notice) { notice_ = std::move(notice); }

  // At most `height` lines, none wider than `width`, without line ends. Printable.
  std::vector<std::string> lines(std::size_t width, std::size_t height) const;
  // The same with their styles, which are those of `fathom tui`: what has 5 % of all is hot.
  std::vector<tui::ScreenLine> styled(std::size_t width, std::size_t height) const;
  // The same table as plain text, for files and pipes: `rows` functions.
  std::string plain(std::size_t rows) const;

 private:
  const std::vector<TopRow>& rows() const;
  std::vector<const TopRow*> chosen() const;
  std::string head() const;
  std::string row_text(const TopRow& row, std::size_t width) const;

  TopTable table_;
  TopMetric metric_;
  bool by_total_ = false, frozen_ = false, typing_ = false, end_ = false, save_ = false;
  std::string filter_, notice_;
};

}  // namespace fathom::cli
