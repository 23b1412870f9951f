// The layout in which valgrind's ms_print (3.19) shows a massif.out with its defaults: a chart of 72 by 20,
// the table of snapshots, the trees with what is below 1 % taken together. A test compares the two.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/core/words.h"
#include "base/parse.h"
#include "present/exports/massif_writer.h"

namespace fathom::present {
namespace {

constexpr std::size_t kColumns = 72, kRows = 20;
constexpr double kThreshold = 1;  // percent

std::string count(double value) {
  return analysis::with_commas(static_cast<std::int64_t>(std::min(value, 9e15)));
}

struct Scaled {
  std::string number, unit;
};
// Five characters; whole numbers below 1,000.
Scaled scaled(double value, double size, std::string unit) {
  if (value < 1000) return {fmt::format("{:5.0f}", value), unit};
  const int digits = size < 10 ? 3 : size < 100 ? 2 : 1;
  return {fmt::format("{:5.{}f}", size, digits), unit};
}
Scaled scaled_bytes(double value) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  double size = value;
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return scaled(value, size, kUnits[unit]);
}
Scaled scaled_time(double ms) {
  if (ms < 1000) return scaled(ms, ms, "ms");
  if (ms < 3'600'000) return scaled(ms, ms / 1000, "s");
  return scaled(ms, ms / 3'600'000, "h");
}

// Bars: the peak '#', with a tree '@', others ':'. Between bars the height of the one before goes on.
class Chart {
 public:
  explicit Chart(const MassifFile& file) : unit_(file.unit) {
    rows_.fill(std::string(kColumns, ' '));
    end_ = std::max<double>(1, static_cast<double>(file.snapshots.back().time));
    for (const MassifSnapshot& snapshot : file.snapshots) most_ = std::max(most_, snapshot.bytes);
    const double step = most_ / kRows;
    std::size_t next_column = 0, height = 0;
    char mark = ':';
    for (const MassifSnapshot& snapshot : file.snapshots) {
      const double place = static_cast<double>(snapshot.time) / end_ * kColumns;
      const std::size_t column = std::min(kColumns - 1, static_cast<std::size_t>(place));
      for (std::size_t gap = next_column; height > 0 && gap < column; ++gap) rows_[height - 1][gap] = mark;
      mark = snapshot.kind == MassifTreeKind::kPeak       ? '#'
             : snapshot.kind == MassifTreeKind::kDetailed ? '@'
                                                          : ':';
      for (height = 0; height < kRows && snapshot.bytes >= static_cast<double>(height + 1) * step; ++height) {
        char& cell = rows_[height][column];
        if (rank(mark) > rank(cell)) cell = mark;
      }
      next_column = column + 1;
    }
  }

  std::string text() const {
    const Scaled bytes = scaled_bytes(most_),
                 time = unit_ == MassifUnit::kBytes ? scaled_bytes(end_) : scaled_time(end_);
    std::string out = fmt::format("    {:>2}\n{}^{}\n", bytes.unit, bytes.number, rows_[kRows - 1]);
    for (std::size_t row = kRows - 1; row-- > 0;) out += "     |" + rows_[row] + "\n";
    out += "   0 +" + std::string(kColumns - 1, '-') + ">" + time.unit + "\n";
    return out + "     0" + std::string(kColumns - 5, ' ') + fmt::format("{:>5}\n", time.number);
  }

 private:
  static int rank(char mark) { return mark == '#' ? 3 : mark == '@' ? 2 : mark == ':' ? 1 : 0; }
  std::array<std::string, kRows> rows_;  // from the bottom up
  double most_ = 1, end_ = 1;
  MassifUnit unit_;
};

// The lines of a tree as they stand in the file, read one after the other.
class Tree {
 public:
  Tree(std::string_view lines, double total) : rest_(lines), total_(total) {}

  std::string text() {
    std::string out;
    print("", "", "", true, out);
    return out;
  }

 private:
  // Bytes that were too few to be printed.
  struct Left {
    std::size_t places = 0;
    double bytes = 0;
  };
  std::string share(double bytes) const {
    return fmt::format("{:05.2f}% ({}B)", total_ > 0 ? 100 * bytes / total_ : 0, count(bytes));
  }

  Left print(const std::string& before, std::string_view arrow, std::string_view beside, bool is_root,
             std::string& out) {
    const std::string_view line = take_until(rest_, '\n');
    const std::size_t start = line.find('n') + 1, colon = line.find(": ");
    const std::size_t children = std::stoul(std::string(line.substr(start, colon - start)));
    const std::size_t label = line.find(' ', colon + 2);
    const double bytes = std::stod(std::string(line.substr(colon + 2, label - colon - 2)));
    const bool is_printed = is_root || (total_ > 0 && bytes * 100 / total_ >= kThreshold);
    if (is_printed) out += fmt::format("{}{}{}{}\n", before, arrow, share(bytes), line.substr(label));
    const std::string below = before + std::string(beside);
    Left left;
    for (std::size_t i = 0; i < children; ++i) {
      const Left more = print(below, "->", i + 1 == children ? "  " : "| ", false, out);
      left.places += more.places;
      left.bytes += more.bytes;
    }
    if (!is_printed) return {1, bytes};
    if (left.places > 0)
      out += fmt::format("{0}->{1} in {2}+ places, all below ms_print's threshold ({3:05.2f}%)\n{0}\n", below,
                         share(left.bytes), left.places, kThreshold);
    if (children == 0) out += below + "\n";
    return {};
  }

  std::string_view rest_;
  double total_;
};

}  // namespace

std::string ms_print_text(const MassifFile& file) {
  const std::string rule(80, '-');
  std::string out = fmt::format(
      "{0}\nCommand:            {1}\nMassif arguments:   {2}\nms_print arguments: (none)\n{0}\n\n\n", rule,
      file.command, file.description);
  out += Chart(file).text();
  out += fmt::format("\nNumber of snapshots: {}\n Detailed snapshots: [", file.snapshots.size());
  std::string trees;
  for (std::size_t i = 0; i < file.snapshots.size(); ++i) {
    if (file.snapshots[i].kind == MassifTreeKind::kEmpty) continue;
    trees += fmt::format("{}{}{}", trees.empty() ? "" : ", ", i,
                         file.snapshots[i].kind == MassifTreeKind::kPeak ? " (peak)" : "");
  }
  out += trees + "]\n\n";
  const std::string head = fmt::format("{0}\n{1:>3} {2:>14} {3:>16} {4:>16} {5:>13} {6:>12}\n{0}\n", rule,
                                       "n", file.unit == MassifUnit::kBytes ? "time(B)" : "time(ms)",
                                       "total(B)", "useful-heap(B)", "extra-heap(B)", "stacks(B)");
  out += head;
  for (std::size_t i = 0; i < file.snapshots.size(); ++i) {
    const MassifSnapshot& snapshot = file.snapshots[i];
    out += fmt::format("{:>3} {:>14} {:>16} {:>16} {:>13} {:>12}\n", i,
                       count(static_cast<double>(snapshot.time)), count(snapshot.bytes),
                       count(snapshot.bytes), 0, 0);
    if (snapshot.kind == MassifTreeKind::kEmpty) continue;
    out += Tree(snapshot.tree, snapshot.bytes).text();
    if (i + 1 < file.snapshots.size()) out += head;
  }
  return out;
}

}  // namespace fathom::present
