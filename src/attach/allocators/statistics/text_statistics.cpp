#include <array>
#include <span>

#include "attach/allocators/statistics/parts.h"
#include "base/parse.h"

namespace fathom::allocators {
namespace {

using Words = std::vector<std::string_view>;

Words words_of_line(std::string_view line) {
  Words words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string_view unquoted(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    return value.substr(1, value.size() - 2);
  return value;
}

// "5.3.0" of "5.3.0-0-g54eaed1d".
std::string release_of(std::string_view version) {
  version = unquoted(version);
  return std::string(version.substr(0, version.find('-')));
}

// Numbers below the words of a head. A row that has more or fewer words than that is none.
class Row {
 public:
  Row(const Words& head, std::span<const std::string_view> values) : head_(head), values_(values) {}
  bool fits() const { return values_.size() == head_.size(); }
  std::optional<std::uint64_t> operator[](std::string_view column) const {
    for (std::size_t i = 0; i < head_.size(); ++i)
      if (head_[i] == column) return parse_number(values_[i]);
    return std::nullopt;
  }

 private:
  const Words& head_;
  std::span<const std::string_view> values_;
};

class TextReader {
 public:
  void line(std::string_view line);
  Statistics finished() {
    finish(arenas_, out_);
    return std::move(out_);
  }

 private:
  enum class Table : std::uint8_t { kNone, kSlabs, kLarge, kLocks, kDecay };

  bool begins_arena(std::string_view line);
  bool begins_table(const Words& words);
  bool setting(std::string_view line);
  void totals(const Words& words);
  void word_and_number(std::string_view word, std::uint64_t number);
  void row(const Words& words);
  void of_class(const Row& row, bool large);
  void lock(const Row& row, std::string_view name);
  std::string place(std::string_view name) const {
    return arena_name_.empty() ? std::string(name) : arena_name_ + ": " + std::string(name);
  }

  Statistics out_{};
  ArenaTables arenas_;
  ArenaNumbers ignored_;           // of arenas that are no more
  ArenaNumbers* arena_ = nullptr;  // null: above the first one
  std::string arena_name_;
  Table table_ = Table::kNone;
  // Text that outlives this reader.
  Words head_;
};

bool TextReader::begins_arena(std::string_view line) {
  constexpr std::string_view kArena = "arenas[";
  if (line.starts_with("Merged arenas stats:")) {
    arena_ = &arenas_.merged.emplace();
    arena_name_ = "all arenas";
  } else if (line.starts_with("Destroyed arenas stats:")) {
    arena_ = &(ignored_ = {});
    arena_name_ = "destroyed arenas";
  } else if (line.starts_with(kArena)) {
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) return false;
    arena_ = &arenas_.single.emplace_back();
    arena_name_ = "arena " + std::string(line.substr(kArena.size(), end - kArena.size()));
  } else {
    return false;
  }
  table_ = Table::kNone;
  return true;
}

bool TextReader::begins_table(const Words& words) {
  // 3.x numbers its bins first.
  const bool of_sizes = words.size() > 2 && (words[1] == "size" || (words[1] == "bin" && words[2] == "size"));
  if (words[0] == "n_lock_ops") {
    table_ = Table::kLocks;
    head_ = words;
    return true;
  }
  if (words[0] == "decaying:") {
    table_ = Table::kDecay;
  } else if (of_sizes && words[0] == "bins:") {
    table_ = Table::kSlabs;
  } else if (of_sizes && (words[0] == "large:" || words[0] == "huge:")) {
    table_ = Table::kLarge;
  } else if (of_sizes) {  // extents, which repeat the dirty pages of the table of decay
    table_ = Table::kNone;
  } else {
    return false;
  }
  head_.assign(words.begin() + 1, words.end());
  return true;
}

// "  opt.dirty_decay_ms: 10000 (arenas.dirty_decay_ms: 5000)": what stands in brackets is so now.
bool TextReader::setting(std::string_view line) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return false;
  line.remove_prefix(start);
  if (!line.starts_with("opt.") && !line.starts_with("config.")) return false;
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return true;
  std::string_view value = line.substr(colon + 2);
  const std::size_t now = value.rfind(": ");
  // Of profiling that is off the bracket says 0 for everything.
  if (now != std::string_view::npos && value.ends_with(')') && value.find("(prof.") == std::string_view::npos)
    value = value.substr(now + 2, value.size() - now - 3);
  else if (const std::size_t bracket = value.find(" ("); bracket != std::string_view::npos)
    value = value.substr(0, bracket);
  constexpr std::size_t kMostSettings = 1000;
  const std::string name(line.substr(0, colon));
  if (out_.settings.size() < kMostSettings && out_.setting(name) == nullptr)
    out_.settings.emplace_back(name, std::string(unquoted(value)));
  return true;
}

// "Allocated: 17447040, active: 34140160, metadata: 3114992 (n_thp 0), resident: ..."
void TextReader::totals(const Words& words) {
  const std::array<std::pair<std::string_view, std::optional<std::uint64_t>*>, 6> kKnown{
      {{"Allocated:", &out_.allocated},
       {"active:", &out_.active},
       {"metadata:", &out_.metadata},
       {"resident:", &out_.resident},
       {"mapped:", &out_.mapped},
       {"retained:", &out_.retained}}};
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    for (const auto& [name, value] : kKnown)
      if (words[i] == name)
        *value = parse_number(words[i + 1].substr(0, words[i + 1].find_first_not_of("0123456789")));
}

void TextReader::word_and_number(std::string_view word, std::uint64_t number) {
  if (arena_ == nullptr) {
    if (word == "Arenas:") out_.arenas = number;
    return;
  }
  if (word == "uptime:") arena_->uptime_ns = number;
  if (word == "tcache_bytes:") arena_->thread_caches = number;
}

void TextReader::of_class(const Row& row, bool large) {
  const std::optional<std::uint64_t> size = row["size"], made = row["nmalloc"];
  std::optional<std::uint64_t> live = row["curregs"];
  for (const std::string_view name : {"curlextents", "curruns", "curhchunks"})
    if (!live && large) live = row[name];
  // 3.x prints how many bytes of its bins are allocated.
  if (const auto bytes = row["allocated"]; !live && !large && bytes && size && *size != 0)
    live = *bytes / *size;
  if (!size || !made || !live) {
    ++out_.unread;
    return;
  }
  StatisticsClass of{.size = *size, .large = large, .live = *live, .made = *made};
  if (!large) {
    of.slabs = row["curslabs"] ? row["curslabs"] : row["curruns"];
    of.blocks_in_slab = row["regs"];
    if (const auto pages = row["pgs"]) of.slab_bytes = times(*pages, out_.page_bytes.value_or(4096));
  }
  arena_->classes.emplace(*size, of);
  if (row["total_wait_ns"]) lock(row, "blocks of " + std::to_string(*size) + " bytes");
}

void TextReader::lock(const Row& row, std::string_view name) {
  constexpr std::size_t kMostLocks = 100'000;
  std::vector<StatisticsLock>& locks = arena_ == nullptr ? out_.locks : arena_->locks;
  if (locks.size() < kMostLocks)
    locks.push_back({place(name), row["n_lock_ops"].value_or(0), row["total_wait_ns"].value_or(0)});
}

void TextReader::row(const Words& words) {
  if (words[0].starts_with('[')) return;  // "[3..5]" of 3.x: bins that were never used
  const bool named = table_ == Table::kLocks || table_ == Table::kDecay;
  const bool is_number = parse_number(words[0]).has_value();
  if (named == is_number || words[0] == "---") {
    if (words[0] != "---") table_ = Table::kNone;
    return;
  }
  const Row row(head_, std::span(words).subspan(named ? 1 : 0));
  if (!row.fits()) {
    // Lines of other kinds follow a table of names without a word between them.
    if (named)
      table_ = Table::kNone;
    else
      ++out_.unread;
    return;
  }
  if (table_ == Table::kLocks) return lock(row, words[0]);
  if (arena_ == nullptr) return;
  if (table_ == Table::kDecay) {
    if (words[0] == "dirty:") arena_->dirty_pages = row["npages"];
    if (words[0] == "muzzy:") arena_->muzzy_pages = row["npages"];
    return;
  }
  of_class(row, table_ == Table::kLarge);
}

void TextReader::line(std::string_view line) {
  if (begins_arena(line) || setting(line)) return;
  const Words words = words_of_line(line);
  if (words.empty()) return;
  if (begins_table(words)) return;
  if (words[0] == "Version:" && words.size() > 1) {
    out_.version = release_of(words[1]);
  } else if (words[0] == "Allocated:") {
    totals(words);
  } else if (words.size() == 3 && words[0] == "Page" && words[1] == "size:") {
    out_.page_bytes = parse_number(words[2]);
  } else if (words.size() > 3 && words[0] == "dirty" && words[1] == "pages:" && arena_ != nullptr) {
    // 3.x and 4.0: "dirty pages: 877:75 active:dirty, ..."
    arena_->dirty_pages =
        parse_number(words[2].substr(std::min(words[2].find(':'), words[2].size() - 1) + 1));
  } else if (words.size() > 2 && words[0] == "purging:" && words[1] == "dirty:" && arena_ != nullptr) {
    // "purging: dirty: 1140, sweeps: 0, madvises: 0, purged: 0": 4.1 to 4.5
    arena_->dirty_pages = parse_number(words[2].substr(0, words[2].find(',')));
  } else if (const auto number = words.size() == 2 ? parse_number(words[1]) : std::nullopt; number) {
    word_and_number(words[0], *number);
    table_ = Table::kNone;
  } else if (table_ != Table::kNone) {
    row(words);
  }
}

}  // namespace

Statistics read_text_statistics(std::string_view text, std::string_view line_prefix) {
  TextReader reader;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line_prefix.size(), line.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.line(line);
  }
  return reader.finished();
}

}  // namespace fathom::allocators
