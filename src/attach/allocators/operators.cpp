#include "attach/allocators/operators.h"

#include <algorithm>

#include "attach/allocators/relocations.h"
#include "base/arch/branches.h"

namespace fathom::allocators {
namespace {

constexpr std::uint64_t kLongest = 128;  // bytes of a function that only hands on

bool frees(const Function& function) {
  return function.shape == TRACER_FREE || function.shape == TRACER_FREE_SIZED;
}

// Where the calls and jumps of a short function lead to, words of data through which they go looked up.
class Ways {
 public:
  // Of words of data only those that hold one of the functions that free, or of those that do not.
  Ways(const elf::ElfFile& file, const std::vector<Function>& functions, bool freeing = true) : file_(file) {
    std::vector<ElfAddress> wanted;
    for (const Function& function : functions)
      if (frees(function) == freeing) wanted.push_back(function.address);
    std::sort(wanted.begin(), wanted.end());
    words_ = words_holding(file, wanted);
  }

  std::vector<ElfAddress> out_of(const Function& function) const {
    const auto code = file_.bytes_at(function.address, function.size);
    // One that looks into a thread's cache by itself does more than hand on.
    if (code && arch::may_use_thread_memory(*code)) return {};
    std::vector<ElfAddress> ways = jumps_of(function);
    for (const ElfAddress called : calls_of(function)) ways.push_back(called);
    return ways;
  }
  std::vector<ElfAddress> jumps_of(const Function& function) const { return of_kind(function, false); }
  std::vector<ElfAddress> calls_of(const Function& function, std::uint64_t longest = kLongest) const {
    return of_kind(function, true, longest);
  }

 private:
  std::vector<ElfAddress> of_kind(const Function& function, bool calls,
                                  std::uint64_t longest = kLongest) const {
    std::vector<ElfAddress> ways;
    const auto code = file_.bytes_at(function.address, function.size);
    if (!code || code->size() > longest) return ways;
    arch::for_each_way(*code, function.address.value, [&](const arch::Way& way) {
      if (way.calls == calls) ways.push_back(way.through_word ? held_by({way.to}) : behind_table({way.to}));
    });
    return ways;
  }
  ElfAddress held_by(ElfAddress word) const {
    const auto found = std::lower_bound(words_.begin(), words_.end(), FilledWord{word, {0}});
    return found != words_.end() && found->word == word ? found->holds : ElfAddress{0};
  }
  // Through an entry of the procedure linkage table.
  ElfAddress behind_table(ElfAddress target) const {
    constexpr std::uint64_t kLongestEntry = 11;
    const auto code = file_.bytes_at(target, kLongestEntry);
    if (!code) return target;
    const auto word = arch::linkage_entry(*code, target.value).word;
    return word ? held_by({*word}) : target;
  }

  const elf::ElfFile& file_;
  std::vector<FilledWord> words_;
};

}  // namespace

// A direct call or jump to one of them, and nothing thread-local: an operator with a fast path of its own
// looks into a thread's cache, and calls malloc at most when that failed.
bool ends_in(const elf::ElfFile& file, const NamedFunction& function,
             const std::vector<Function>& functions) {
  const auto code = file.bytes_at(function.address, function.size);
  if (!code) return false;
  if (arch::may_use_thread_memory(*code)) return false;
  bool calls = false;
  arch::for_each_way(*code, function.address.value, [&](const arch::Way& way) {
    calls = calls ||
            (!way.through_word && std::any_of(functions.begin(), functions.end(), [&](const Function& each) {
              return each.address.value == way.to;
            }));
  });
  return calls;
}

bool hands_on(const elf::ElfFile& file, const Function& function) {
  return !Ways(file, {}).out_of(function).empty();
}

void find_wrappers(const elf::ElfFile& file, Allocator& allocator) {
  std::vector<Function>& functions = allocator.functions;
  const bool musl = allocator.label.starts_with("musl");
  const Ways ways(file, functions, false);
  const auto is_listed = [&](ElfAddress address, ElfAddress self) {
    return address != self && std::any_of(functions.begin(), functions.end(), [&](const Function& other) {
             return other.address == address && !frees(other);
           });
  };
  for (Function& function : functions) {
    if (frees(function) || function.shape == TRACER_XALLOCX) continue;
    const auto code = file.bytes_at(function.address, function.size);
    if (!code) continue;
    const bool array = function.shape == TRACER_REALLOCARRAY || function.shape == TRACER_REALLOCARRAY_IN;
    // The heap of the thread may be looked up for the other function, as long as nothing is returned from
    // here. One that multiplies looks for errno; musl's calloc is its malloc and a memset.
    const bool clears = musl && function.shape == TRACER_CALLOC;
    if (!array && !clears && arch::may_use_thread_memory(*code) && arch::may_return(*code)) continue;
    std::vector<ElfAddress> targets = ways.jumps_of(function);
    // What is called gives a block that could be changed before it is returned: aligned within a larger one.
    // What these return is the other's block.
    const bool as_it_is = array || clears || function.shape == TRACER_POSIX ||
                          tracer_throws(function.shape) || function.name.starts_with("_Zn") ||
                          function.name.ends_with("_nothrow");
    if (as_it_is)
      for (const ElfAddress called : ways.calls_of(function, clears ? 4 * kLongest : kLongest))
        targets.push_back(called);
    for (const ElfAddress target : targets)
      if (is_listed(target, function.address)) function.ends_in.push_back(target);
  }
}

void leave_out_forwarding(const elf::ElfFile& file, std::vector<Function>& functions) {
  const Ways ways(file, functions);
  const auto ends_in_other = [&](const Function& function, auto&& counts) {
    const auto targets = ways.out_of(function);
    return std::any_of(functions.begin(), functions.end(), [&](const Function& other) {
      return frees(other) && other.address != function.address && counts(other) &&
             std::find(targets.begin(), targets.end(), other.address) != targets.end();
    });
  };
  const auto is_told_again = [&](const Function& function) {
    return frees(function) && ends_in_other(function, [&](const Function& other) {
             return function.shape == TRACER_FREE || other.shape == TRACER_FREE_SIZED;
           });
  };
  for (Function& function : functions)
    function.hands_on = frees(function) && ends_in_other(function, [](const Function&) { return true; });
  std::vector<ElfAddress> out;
  for (const Function& function : functions)
    if (is_told_again(function)) out.push_back(function.address);
  std::erase_if(functions, [&](const Function& function) {
    return std::find(out.begin(), out.end(), function.address) != out.end();
  });
}

}  // namespace fathom::allocators
