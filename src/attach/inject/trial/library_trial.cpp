#include "attach/inject/trial/library_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "attach/inject/stop/thread_stop.h"
#include "attach/inject/trial/copies.h"
#include "attach/inject/trial/library_questions.h"
#include "attach/inject/trial/questions.h"

namespace fathom::inject {
namespace {

using allocators::nameless::Candidate;
using allocators::nameless::LibraryCode;
using allocators::nameless::Role;

constexpr std::size_t kMostCandidates = 400;

class TrialOfLibrary {
 public:
  TrialOfLibrary(int fd, const elf::ElfFile& file, LibraryCode& code, std::span<const Question> questions,
                 int like)
      : code_(code),
        questions_(questions),
        candidates_(code.candidates()),
        copies_(fd, file, addresses_of(candidates_), like) {
    result_.candidates = candidates_.size();
  }

  Result<LibraryTrial> run() {
    if (candidates_.size() > kMostCandidates)
      return fail(ErrorKind::kUnsupported, "too many functions lead into its code to try all");
    for (auto step : {&TrialOfLibrary::find_givers, &TrialOfLibrary::find_takers, &TrialOfLibrary::find_roles,
                      &TrialOfLibrary::choose})
      if (auto done = (this->*step)(); !done) return tl::unexpected<Error>(done.error());
    result_.trial.copies = copies_.count();
    return std::move(result_);
  }

 private:
  struct Tried {
    Kind kind = Kind::kNone;
    Role role = Role::kUnknown;
  };
  static std::vector<ElfAddress> addresses_of(const std::vector<Candidate>& all) {
    std::vector<ElfAddress> addresses;
    for (const Candidate& each : all) addresses.push_back(each.address);
    return addresses;
  }
  template <class Answer>
  std::optional<Answer> ask(Answer (*question)(Bench&, ElfAddress), ElfAddress function) {
    return copies_.ask([&](PrivateCopy& copy) {
      Bench bench(copy, malloc_, release_);
      return question(bench, function);
    });
  }
  tl::unexpected<Error> no_answer() const { return fail(ErrorKind::kUnsupported, copies_.problem()); }

  Result<> find_givers() {
    for (const Candidate& each : candidates_) {
      const auto kind = ask(look_at_giver, each.address);
      if (!kind) return no_answer();
      tried_[each.address].kind = *kind;
      if (*kind != Kind::kAllocates) continue;
      const auto allocates_plainly = ask(allocates, each.address);
      if (!allocates_plainly) return no_answer();
      if (!*allocates_plainly) continue;
      const auto refuses = ask(refuses_huge, each.address);
      if (!refuses) return no_answer();
      tried_[each.address].role = *refuses ? Role::kMalloc : Role::kNew;
      if (*refuses && !malloc_) malloc_ = each.address;
    }
    // Programs in Rust only have the malloc with an alignment.
    for (auto at = tried_.begin(); !malloc_ && at != tried_.end(); ++at) {
      if (at->second.kind != Kind::kAllocates || at->second.role != Role::kUnknown) continue;
      const auto aligned = ask(allocates_aligned, at->first);
      if (!aligned) return no_answer();
      if (*aligned) malloc_ = at->first;
    }
    if (!malloc_) return fail(ErrorKind::kUnsupported, "none of its functions behaves as malloc");
    return {};
  }
  Result<> look_at_block(ElfAddress function, Tried& tried) {
    const auto kind = ask(look_at_taker, function);
    if (!kind) return no_answer();
    tried.kind = *kind;
    return {};
  }
  Result<> find_takers() {
    for (const Candidate& each : candidates_)
      if (Tried& tried = tried_[each.address]; tried.kind != Kind::kAllocates)
        if (auto done = look_at_block(each.address, tried); !done) return done;
    for (auto& [address, tried] : tried_) {
      if (tried.kind != Kind::kFrees) continue;
      if (auto done = find_role(address, tried); !done) return done;
      if (!release_ && tried.role == Role::kFree) release_ = Release{address};
    }
    if (!release_) return fail(ErrorKind::kUnsupported, "none of its functions behaves as one that frees");
    return {};
  }
  Result<> find_role(ElfAddress address, Tried& tried) {
    for (const Question& each : questions_) {
      if (each.kind != tried.kind) continue;
      const auto answer = ask(each.asks, address);
      if (!answer) return no_answer();
      if (!*answer) continue;
      tried.role = each.role;
      return {};
    }
    return {};
  }
  Result<> find_roles() {
    for (auto& [address, tried] : tried_) {
      if (tried.role == Role::kMalloc || tried.role == Role::kNew) {
        const auto is_own = ask(gives_of_the_heap, address);
        const auto zeroed = ask(gives_zeros, address);
        if (!is_own || !zeroed) return no_answer();
        if (!*is_own)
          tried.role = Role::kUnknown;
        else if (*zeroed && tried.role == Role::kMalloc)
          tried.role = Role::kZalloc;
      } else if (tried.role == Role::kUnknown) {
        if (auto done = find_role(address, tried); !done) return done;
      }
      if (tried.role == Role::kMallocAligned) result_.malloc_aligned = address;
    }
    for (const auto& [address, tried] : tried_)
      if (tried.role == Role::kMalloc) result_.malloc = address;
    // All others were identified with its help.
    if (tried_.at(*malloc_).role == Role::kUnknown)
      return fail(ErrorKind::kUnsupported, "none of its functions behaves as malloc");
    return {};
  }

  Result<> choose() {
    std::vector<ElfAddress> doors;
    for (const auto& [address, tried] : tried_)
      if (tried.role != Role::kUnknown) doors.push_back(address);
    auto ways = code_.ways_in(doors);
    if (!ways) return tl::unexpected<Error>(ways.error());
    for (const Candidate& each : ways->others)
      if (auto harmless = check_other(each.address); !harmless) return harmless;
    bool gives = false, frees = false;
    for (const Candidate& each : ways->entries) {
      const Role role = tried_.at(each.address).role;
      frees |= role == Role::kFree;
      gives |= role != Role::kFree;
      result_.trial.entries.push_back({each, role});
    }
    if (!gives || !frees)
      return fail(ErrorKind::kUnsupported,
                  "the program does not reach the functions that behave like its own");
    for (const auto& [address, tried] : tried_) result_.trial.rejected += tried.role == Role::kUnknown;
    result_.own_code = std::move(ways->own_code);
    return {};
  }
  // A function that the program calls and that is not an entry point: it must leave blocks alone.
  Result<> check_other(ElfAddress address) {
    auto [at, is_new] = tried_.try_emplace(address);
    Tried& tried = at->second;
    if (is_new) {
      const auto gives = ask(look_at_giver, address);
      if (!gives) return no_answer();
      tried.kind = *gives;
      if (tried.kind != Kind::kAllocates)
        if (auto done = look_at_block(address, tried); !done) return done;
    }
    switch (tried.kind) {
      case Kind::kAllocates:
        ++result_.trial.unknown;
        return {};
      case Kind::kNone:
      case Kind::kTells:
        return {};
      case Kind::kFrees:
      case Kind::kResizes:
      case Kind::kStores:
        return fail(
            ErrorKind::kUnsupported,
            fmt::format("the program calls a function of it, at {:#x}, that changes blocks in an unknown way",
                        address.value));
      case Kind::kGone:
        break;
    }
    return fail(
        ErrorKind::kUnsupported,
        fmt::format(
            "the program calls a function of it, at {:#x}, that does not come back when it is tried: one that takes a heap, or the rest of a quick path that stands in the program's own code",
            address.value));
  }

  LibraryCode& code_;
  std::span<const Question> questions_;
  std::vector<Candidate> candidates_;
  Copies copies_;
  std::map<ElfAddress, Tried> tried_;
  std::optional<ElfAddress> malloc_;
  std::optional<Release> release_;
  LibraryTrial result_;
};

}  // namespace

Result<LibraryTrial> try_library(int fd, const elf::ElfFile& file, LibraryCode& code,
                                 std::span<const Question> questions, int like) {
  return in_tracing_thread([&] { return TrialOfLibrary(fd, file, code, questions, like).run(); });
}

}  // namespace fathom::inject
