#include "attach/allocators/nameless/jemalloc_entries.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "attach/allocators/nameless/code_map.h"
#include "attach/allocators/relocations.h"
#include "attach/allocators/versions.h"

namespace fathom::allocators::nameless {
namespace {

constexpr std::array<std::uint32_t, 2> kSearchBounds = {0x1000, 0x1001};
constexpr std::uint64_t kLargestQuickPath = 0x260;  // bytes; 150 to 400 in builds of 5.2 to 5.3.1
constexpr std::uint64_t kLargestShim = 64, kLargestWrapper = 64;
constexpr std::size_t kMostReached = 6000, kMostCandidates = 160;
constexpr std::uint64_t kZeroFlag = 0x40;  // MALLOCX_ZERO

using Facts = std::optional<arch::FunctionFacts>;

bool has(const std::vector<std::uint64_t>& sorted, std::uint64_t wanted) {
  return std::binary_search(sorted.begin(), sorted.end(), wanted);
}

class Search {
 public:
  explicit Search(const elf::ElfFile& file) : file_(file), code_(file) {}

  Result<JemallocEntries> run() {
    const std::vector<std::uint64_t> messages = find_messages();
    if (messages.empty()) return fail(ErrorKind::kNotFound, "no messages of jemalloc");
    if (code_.size() == 0)
      return fail(ErrorKind::kUnsupported, "its code has no unwind tables, which say where functions begin");
    inside_.assign(code_.size(), false);
    add_naming(messages);
    found_.messages = static_cast<std::uint32_t>(library_.size());
    if (library_.empty()) return fail(ErrorKind::kUnsupported, "no code names its messages");
    if (auto seeds = find_quick_paths(); !seeds) return tl::unexpected<Error>(seeds.error());
    grow();
    if (auto inlined = check_tables(); !inlined) return tl::unexpected<Error>(inlined.error());
    if (auto candidates = find_candidates(); !candidates) return tl::unexpected<Error>(candidates.error());
    if (auto labelled = label_by_shims(); !labelled) return tl::unexpected<Error>(labelled.error());
    count_program();
    found_.version = jemalloc_version(file_);
    add_own_code();
    return std::move(found_);
  }

 private:
  const Facts& facts(FunctionNumber function) {
    const auto known = facts_.find(function);
    return known != facts_.end() ? known->second
                                 : facts_.emplace(function, code_.facts(function)).first->second;
  }
  bool names(FunctionNumber function, std::uint64_t address) {
    const Facts& all = facts(function);
    return all && has(all->data, address);
  }
  void add(FunctionNumber function) {
    if (inside_[function]) return;
    inside_[function] = true;
    library_.push_back(function);
  }
  // To the library: all functions that surely name one of the addresses.
  void add_naming(std::span<const std::uint64_t> addresses) {
    for (const CodeMap::Naming& each : code_.namings(addresses))
      if (each.by != kNoFunction && !inside_[each.by] && names(each.by, each.named)) add(each.by);
  }

  // In two pieces, so that a program that only knows these messages does not look like a holder.
  std::vector<std::uint64_t> find_messages() const {
    std::string begin = "<jem";
    begin += "alloc>: ";
    std::vector<std::uint64_t> found;
    for (const elf::Segment& segment : file_.segments()) {
      if (segment.type != PT_LOAD) continue;
      const auto bytes = file_.bytes_from(segment.address);
      for (std::size_t from = 0; from < bytes.size();) {
        const void* at = ::memmem(bytes.data() + from, bytes.size() - from, begin.data(), begin.size());
        if (at == nullptr) break;
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - bytes.data());
        found.push_back(segment.address.value + offset);
        from = offset + begin.size();
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // malloc, operator new and sdallocx serve small sizes at once and leave all else to one function.
  Result<> find_quick_paths() {
    std::set<std::uint64_t> tables;
    std::vector<std::vector<std::uint64_t>> of_malloc;
    for (const FunctionNumber function : code_.holding_constant(kSearchBounds)) {
      if (code_.size_of(function) >= kLargestQuickPath) continue;
      const Facts& all = facts(function);
      if (!all || !(all->is_bounded[0] || all->is_bounded[1]) || !all->divides_by_8 ||
          all->thread_accesses < 3 || all->call_count > 1)
        continue;
      // gcc may call what it leaves to, where it has something left to do.
      const std::size_t ways = all->jumps.size() + all->calls.size();
      if (ways == 0 || ways > 2 || all->jumps.size() > 1) continue;
      std::vector<std::uint64_t> data;
      for (const std::uint64_t each : all->data)
        if (code_.is_writable(each)) data.push_back(each);
      if (data.empty() || data.size() > 4) continue;
      quick_.push_back({function, all->is_bounded[0] ? Role::kMalloc : Role::kSdallocx});
      for (const std::uint64_t each : all->jumps)
        if (const auto slow = code_.starting_at(each); slow != kNoFunction) slow_.insert(slow);
      if (all->is_bounded[0]) of_malloc.push_back(data);
    }
    if (of_malloc.empty())
      return fail(ErrorKind::kUnsupported, "no function has the shape of its malloc (of 5.2 and later)");
    for (const auto& each : of_malloc) tables.insert(each.begin(), each.end());
    // Two copies of the library have tables of their own.
    if (tables.size() > 6) return fail(ErrorKind::kUnsupported, "the program contains several copies of it");
    std::vector<std::uint64_t> common = of_malloc.front();
    for (const auto& each : of_malloc)
      std::erase_if(common, [&](std::uint64_t table) { return !has(each, table); });
    if (common.size() < 2) return fail(ErrorKind::kUnsupported, "the program contains several copies of it");
    for (const std::uint64_t each : common) found_.tables.push_back({each});
    std::erase_if(quick_, [&](const Quick& quick) {
      return std::ranges::none_of(common, [&](std::uint64_t table) { return names(quick.function, table); });
    });
    return {};
  }

  // The library: what names its tables, or data that its first functions name; what only it calls; and the few
  // bytes between two of its functions that go on into it.
  void grow() {
    const std::vector<FunctionNumber> first = library_;
    std::vector<std::uint64_t> tables;
    for (const ElfAddress each : found_.tables) tables.push_back(each.value);
    add_naming(tables);
    std::set<std::uint64_t> exported;
    for (const elf::Symbol& symbol : file_.symbols(elf::SymbolTable::kDynsym))
      if (symbol.section != SHN_UNDEF) exported.insert(symbol.address.value);
    std::vector<std::uint64_t> data;
    for (const FunctionNumber each : first)
      if (facts(each))
        for (const std::uint64_t named : facts(each)->data)
          if (code_.is_writable(named) && !exported.contains(named)) data.push_back(named);
    std::sort(data.begin(), data.end());
    data.erase(std::unique(data.begin(), data.end()), data.end());
    shared_data_ = data;
    add_naming(data);
    for (const Quick& each : quick_) add(each.function);

    // All that the library calls, whatever it is, and who else calls that.
    std::vector<bool> reached = inside_;
    std::vector<FunctionNumber> queue = library_;
    for (std::size_t i = 0; i < queue.size() && queue.size() < kMostReached; ++i) {
      const Facts& all = facts(queue[i]);
      if (!all) continue;
      for (const auto* ways : {&all->calls, &all->jumps})
        for (const std::uint64_t each : *ways)
          if (const auto to = code_.holding(each); to != kNoFunction && !reached[to]) {
            reached[to] = true;
            queue.push_back(to);
          }
    }
    // Including small ones next to the library.
    for (const FunctionNumber each : library_)
      for (const FunctionNumber beside : {each - 1, each + 1})
        if (beside < code_.size() && code_.size_of(beside) <= kLargestWrapper) reached[beside] = true;
    edges_ = code_.edges_into(reached);
    for (bool more = true; more;) {
      more = false;
      for (auto at = edges_.begin(); at != edges_.end();) {
        const auto end = std::find_if(at, edges_.end(),
                                      [&](const CodeMap::Edge& each) { return each.callee != at->callee; });
        if (!inside_[at->callee] && std::all_of(at, end, [&](const CodeMap::Edge& each) {
              return each.caller != kNoFunction && inside_[each.caller];
            })) {
          add(at->callee);
          more = true;
        }
        at = end;
      }
      for (FunctionNumber each = 1; each + 1 < code_.size(); ++each) {
        if (inside_[each] || !inside_[each - 1] || !inside_[each + 1] ||
            code_.size_of(each) > kLargestWrapper)
          continue;
        const Facts& all = facts(each);
        if (all && !all->jumps.empty() && std::ranges::all_of(all->jumps, [&](std::uint64_t to) {
              const auto function = code_.holding(to);
              return function != kNoFunction && inside_[function];
            })) {
          add(each);
          more = true;
        }
      }
    }
  }

  // Where a compiler put the quick path into the program's own functions, calls are not all there is to see.
  Result<> check_tables() {
    std::vector<std::uint64_t> tables;
    for (const ElfAddress each : found_.tables) tables.push_back(each.value);
    std::set<FunctionNumber> naming;
    for (const CodeMap::Naming& each : code_.namings(tables)) {
      if (each.by == kNoFunction)
        return fail(ErrorKind::kUnsupported, "code without unwind tables looks into its tables of sizes");
      if (names(each.by, each.named)) naming.insert(each.by);
    }
    const auto [first, last] = std::ranges::minmax(library_);
    for (const FunctionNumber each : naming)
      if (!inside_[each] || each < first || each > last)
        return fail(ErrorKind::kUnsupported, "its quick path was put into the program's own functions");
    return {};
  }

  // The library's own tables hold functions too, hundreds of them. Those get their thread from the caller;
  // entries find it themselves, or continue into a function that does.
  bool finds_its_thread(FunctionNumber function) {
    const Facts& all = facts(function);
    return !all || all->thread_accesses > 0 ||
           (code_.size_of(function) <= kLargestWrapper && !all->jumps.empty());
  }

  Result<> find_candidates() {
    std::vector<ElfAddress> starts;
    std::vector<FunctionNumber> ordered = library_;
    std::sort(ordered.begin(), ordered.end());
    std::map<FunctionNumber, Candidate> found;
    const auto candidate = [&](FunctionNumber function) -> Candidate& {
      auto& each = found[function];
      each.address = {code_.start(function)};
      each.size = code_.size_of(function);
      return each;
    };
    std::set<FunctionNumber> wrappers;
    for (const CodeMap::Edge& each : edges_) {
      if (!inside_[each.callee] || (each.caller != kNoFunction && inside_[each.caller])) continue;
      // Bytes that look like a call by chance are sorted out where the code around them can be read.
      if (each.caller != kNoFunction) {
        const Facts& all = facts(each.caller);
        const std::uint64_t start = code_.start(each.callee);
        if (all && !has(all->calls, start) && !has(all->jumps, start)) continue;
      }
      ++candidate(each.callee).direct;
      referrers_[each.callee].push_back(each.caller);
      if (each.caller != kNoFunction && code_.size_of(each.caller) <= kLargestWrapper) {
        const Facts& all = facts(each.caller);
        if (all && has(all->jumps, code_.start(each.callee))) wrappers.insert(each.caller);
      }
    }
    for (const FunctionNumber each : ordered) starts.push_back({code_.start(each)});
    // Code that takes an address: its use of the address is unknown.
    std::vector<std::uint64_t> addresses;
    for (const ElfAddress each : starts) addresses.push_back(each.value);
    for (const CodeMap::Naming& each : code_.namings(addresses))
      if (each.by != kNoFunction && !inside_[each.by] && !each.through && names(each.by, each.named)) {
        ++candidate(code_.starting_at(each.named)).direct;
        referrers_[code_.starting_at(each.named)].push_back(each.by);
      }
    // Words that hold one.
    std::vector<std::uint64_t> words;
    for (const FilledWord& each : words_holding(file_, starts))
      holds_[each.word.value] = code_.starting_at(each.holds.value);
    for (const FilledWord& each : code_.fixed_words_holding(starts))
      holds_[each.word.value] = code_.starting_at(each.holds.value);
    for (const auto& [word, function] : holds_) words.push_back(word);
    std::set<std::uint64_t> in_tables(words.begin(), words.end());
    for (const CodeMap::Naming& each : code_.namings(words)) {
      in_tables.erase(each.named);
      if (each.by == kNoFunction || !inside_[each.by]) {
        ++candidate(holds_.at(each.named)).through_words;
        referrers_[holds_.at(each.named)].push_back(each.by);
        if (each.by != kNoFunction && code_.size_of(each.by) <= kLargestShim) near_shims_.insert(each.by);
      }
    }
    for (const std::uint64_t word : in_tables)
      if (finds_its_thread(holds_.at(word))) {
        ++candidate(holds_.at(word)).in_tables;
        for (const FunctionNumber reader : readers_of_table_with(word))
          referrers_[holds_.at(word)].push_back(reader);
      }
    // Other modules may call what is exported.
    for (const elf::Symbol& symbol : file_.symbols(elf::SymbolTable::kDynsym))
      if (symbol.section != SHN_UNDEF)
        if (const auto function = code_.starting_at(symbol.address.value);
            function != kNoFunction && inside_[function]) {
          ++candidate(function).direct;
          referrers_[function].push_back(kNoFunction);
        }
    // A function whose only callers stand in the library is none of its entries, whatever it does.
    for (const FunctionNumber each : wrappers) {
      candidate(each).is_wrapper = true;
      if (found.size() > kMostCandidates) break;
    }
    // What quick paths leave to another function goes through these paths: it would be seen twice.
    for (const FunctionNumber each : slow_) found.erase(each);
    if (found.size() > kMostCandidates)
      return fail(ErrorKind::kUnsupported, "too many functions go on into it to tell its entries");
    for (auto& [function, each] : found) {
      for (const Quick& quick : quick_)
        if (quick.function == function) each.label = quick.role, each.by_shape = true;
      if (const Facts& all = facts(function))
        for (const std::uint64_t to : all->jumps)
          if (const auto other = code_.starting_at(to); other != kNoFunction && found.contains(other))
            each.goes_on_to.push_back({to});
      found_.candidates.push_back(each);
    }
    return {};
  }

  // The functions naming the nearest named word of data at or below this one: the table begins there.
  // kNoFunction: unknown. Functions that the loader calls at the start are not entries.
  std::vector<FunctionNumber> readers_of_table_with(std::uint64_t word) {
    constexpr std::uint64_t kLargestTable = 64;  // words
    if (const elf::Section* starts = file_.section(".init_array");
        starts != nullptr && word - starts->address.value < starts->size)
      return {};
    std::vector<std::uint64_t> words;
    for (std::uint64_t back = kLargestTable; back > 0; --back)
      if (word >= back * 8) words.push_back(word - back * 8);
    std::uint64_t nearest = 0;
    std::vector<FunctionNumber> readers;
    for (const CodeMap::Naming& each : code_.namings(words)) {
      if (each.named < nearest || (each.by != kNoFunction && !names(each.by, each.named))) continue;
      if (each.named > nearest) readers.clear();
      nearest = each.named;
      readers.push_back(each.by);
    }
    if (readers.empty()) return {kNoFunction};
    std::erase_if(readers, [&](FunctionNumber each) { return each != kNoFunction && inside_[each]; });
    return readers;
  }

  // Whatever gives, frees or resizes blocks asks for its thread, or goes on into the library: what is only linked in because of the library
  // (pthread_atfork) does neither.
  bool may_be_entry(FunctionNumber function) {
    const Facts& all = facts(function);
    const auto leads_inside = [&](std::uint64_t to) {
      const auto other = code_.holding(to);
      return other != kNoFunction && other != function && inside_[other];
    };
    return !all || all->thread_accesses > 0 || std::ranges::any_of(all->jumps, leads_inside) ||
           std::ranges::any_of(all->calls, leads_inside);
  }

  // The library's stretch of code: around its malloc, from one of its functions to another, with none in between that calls a labelled
  // entry, as the program does. What stands in it and is not known for the library's own is a helper of it. A linker that sorted
  // functions leaves short stretches, and then much looks like the program's.
  void count_program() {
    const auto home =
        std::ranges::find_if(quick_, [](const Quick& each) { return each.role == Role::kMalloc; });
    std::set<FunctionNumber> program;
    for (const Candidate& each : found_.candidates)
      if (each.label != Role::kUnknown)
        for (const FunctionNumber by : referrers_[code_.starting_at(each.address.value)])
          if (by != kNoFunction) program.insert(by);
    const auto after = program.lower_bound(home->function);
    const FunctionNumber end = after == program.end() ? static_cast<FunctionNumber>(code_.size()) : *after;
    const FunctionNumber begin = after == program.begin() ? 0 : *std::prev(after) + 1;
    FunctionNumber first = home->function, last = home->function;
    for (const FunctionNumber each : library_) {
      if (each < begin || each >= end) continue;
      first = std::min(first, each);
      last = std::max(last, each);
    }
    for (Candidate& each : found_.candidates) {
      const FunctionNumber function = code_.starting_at(each.address.value);
      if (each.label != Role::kUnknown || each.is_wrapper || !may_be_entry(function)) continue;
      each.from_program =
          static_cast<std::uint32_t>(std::ranges::count_if(referrers_[function], [&](FunctionNumber by) {
            return by == kNoFunction || by < first || by > last;
          }));
    }
  }

  Candidate* candidate_at(std::uint64_t address) {
    for (Candidate& each : found_.candidates)
      if (each.address.value == address) return &each;
    return nullptr;
  }

  // __rust_alloc, __rust_dealloc, __rust_realloc and __rust_alloc_zeroed: each of a few bytes, side by side, which ask
  // for the alignment's number of zeros and go on to one entry or the other.
  struct Shim {
    FunctionNumber function;
    std::vector<Candidate*> to;
    bool zeroes;
  };
  Result<> label_by_shims() {
    std::set<FunctionNumber> small = near_shims_;
    for (const CodeMap::Edge& each : edges_)
      if (inside_[each.callee] && each.caller != kNoFunction && !inside_[each.caller] &&
          code_.size_of(each.caller) <= kLargestShim)
        small.insert(each.caller);
    std::vector<Shim> shims;
    for (const FunctionNumber each : small) {
      const Facts& all = facts(each);
      if (!all || !all->counts_zeros || all->call_count != 0) continue;
      std::set<Candidate*> to;
      for (const std::uint64_t way : all->jumps) to.insert(candidate_at(way));
      for (const std::uint64_t word : all->words)
        to.insert(holds_.contains(word) ? candidate_at(code_.start(holds_.at(word))) : nullptr);
      if (to.empty() || to.size() > 2 || to.contains(nullptr)) continue;
      shims.push_back({each, {to.begin(), to.end()}, (all->sets_bits & kZeroFlag) != 0});
    }
    const auto other_of = [](const Shim& shim, Role role) -> Candidate* {
      if (shim.to.size() != 2) return nullptr;
      if (shim.to[0]->label == role) return shim.to[1];
      return shim.to[1]->label == role ? shim.to[0] : nullptr;
    };
    for (const Shim& alloc : shims) {
      Candidate* mallocx = other_of(alloc, Role::kMalloc);
      if (mallocx == nullptr || alloc.zeroes) continue;
      if (auto done = label(*mallocx, Role::kMallocx); !done) return done;
      for (const Shim& each : shims) {
        const auto distance =
            each.function > alloc.function ? each.function - alloc.function : alloc.function - each.function;
        if (distance == 0 || distance > 3) continue;
        Result<> done;
        if (Candidate* calloc = other_of(each, Role::kMallocx); calloc != nullptr) {
          if (each.zeroes) done = label(*calloc, Role::kCalloc);
        } else if (each.to.size() == 1) {
          done = label(*each.to[0], Role::kSdallocx);
        } else if (!each.zeroes) {
          // realloc asks both of its arguments whether they are 0.
          const auto asks = [&](const Candidate& candidate) {
            const Facts& all = facts(code_.starting_at(candidate.address.value));
            return all && all->is_zero_tested[0] && all->is_zero_tested[1];
          };
          const bool first = asks(*each.to[0]);
          if (first != asks(*each.to[1])) {
            done = label(*each.to[first ? 0 : 1], Role::kRealloc);
            if (done) done = label(*each.to[first ? 1 : 0], Role::kRallocx);
          }
        }
        if (!done) return done;
      }
    }
    return {};
  }
  Result<> label(Candidate& candidate, Role role) {
    if (candidate.label != Role::kUnknown && candidate.label != role)
      return fail(ErrorKind::kUnsupported, fmt::format("one of its functions looks like {} and like {}",
                                                       name_of(candidate.label), name_of(role)));
    candidate.label = role;
    candidate.by_shim = true;
    return {};
  }

  void add_own_code() {
    std::sort(library_.begin(), library_.end());
    for (const FunctionNumber each : library_) {
      const ElfAddress start{code_.start(each)}, end{start.value + code_.size_of(each)};
      if (!found_.own_code.empty() && found_.own_code.back().end == start)
        found_.own_code.back().end = end;
      else
        found_.own_code.push_back({start, end});
    }
  }

  struct Quick {
    FunctionNumber function;
    Role role;
  };
  const elf::ElfFile& file_;
  CodeMap code_;
  std::map<FunctionNumber, Facts> facts_;
  std::vector<bool> inside_;
  std::vector<FunctionNumber> library_;
  std::vector<Quick> quick_;
  std::set<FunctionNumber> slow_, near_shims_;
  std::vector<std::uint64_t> shared_data_;
  std::vector<CodeMap::Edge> edges_;
  std::map<std::uint64_t, FunctionNumber> holds_;
  std::map<FunctionNumber, std::vector<FunctionNumber>>
      referrers_;  // of candidates, from outside of the library
  JemallocEntries found_;
};

}  // namespace

const Candidate* JemallocEntries::labelled(Role role) const {
  const Candidate* found = nullptr;
  for (const Candidate& each : candidates) {
    if (each.label != role) continue;
    if (found != nullptr) return nullptr;
    found = &each;
  }
  return found;
}

Result<JemallocEntries> find_jemalloc_entries(const elf::ElfFile& file) {
  return Search(file).run();
}

}  // namespace fathom::allocators::nameless
