// Finds the allocators in one ELF file: their functions and the shape of each. Pure; it reads the file's
// symbol tables and those of its unstripped twin or separate debug file. Only processors named in
// base/arch/facts.h are supported.
//
// Names decide, with any prefix that a build may have added, but never one name alone: a program's own
// `xmalloc` does not count. Several names of one address are one function under the best-known name. An
// allocator's internal functions (`_rjem_je_*`, `_mi_*`) are not listed, because programs do not call them.
//
// An allocating function that ends in a call of another one is listed together with it and flagged: if both
// are hooked at their start, an exact recording has only the outer call, but a sampled one counts the bytes
// of both. Of freeing functions both would be recorded, so only one is listed, or a sized one and the
// unsized one it ends in.
//
// An allocator is traced completely or not at all. If only exported names are left, it counts as known if it
// is a library of its own or if all functions of its family are among them. It is not traced if no freeing
// function is known, or if a function that frees or resizes is chosen at load time.
//
// A function that ends all blocks of a heap at once (mi_heap_destroy) has none of these shapes: a file that
// imports it gets a note.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators {

enum class Kind : std::uint8_t { kLibc /* glibc, musl */, kJemalloc, kMimalloc, kTcmalloc, kOther };

struct Function {
  std::string name;
  tracer_shape shape;
  ElfAddress address;
  std::uint64_t size = 0;             // bytes; up to the next symbol where the symbol table does not say
  std::optional<ElfAddress> partner;  // of shapes that throw: the same arguments, does not throw
  std::vector<ElfAddress> ends_in{};  // functions of this allocator that it gets all its blocks from
  bool hands_on = false;              // frees through another one of them, which sees the block as well
};

struct CodeRange {
  ElfAddress start, end;
  bool operator==(const CodeRange&) const = default;
};

struct Allocator {
  Kind kind;
  std::string label;                // "jemalloc 5.3.0 (_rjem_)", "glibc 2.36"
  std::string prefix;               // of the names: "_rjem_", "mi_"; "" if there is none
  std::vector<Function> functions;  // ascending by address, each address once
  // The known code of the allocator, ascending and disjoint: its functions and the gaps between them that
  // belong to nothing else. Calls from here are not the program's.
  std::vector<CodeRange> own_code;
};

// An allocator that must not be traced because a function that allocates, frees or resizes its blocks is
// unknown: blocks freed through it would look live forever.
struct Unseen {
  Kind kind;
  std::string label;   // "jemalloc 5.3.0", "malloc of server"
  std::string why;     // "it is stripped, and what frees its blocks may have no name here"
  std::string remedy;  // what would help; empty: nothing is known to
  // "NAME=VALUE" in the environment that the program was started with, each of which makes all its blocks those of
  // another allocator; empty: there is no such setting.
  std::vector<std::string> shown_by{};
};

struct Found {
  std::vector<Allocator> allocators;
  std::vector<Unseen> unseen;
  // Operators delete with a size that belong to no allocator: they hand the block on and forget the size.
  std::vector<Function> sized_deletes;
  // One line each, for the user: functions left out and why.
  std::vector<std::string> notes;
};

// "jemalloc 5.3.0 is not traced: WHY (REMEDY)".
std::string text_of(const Unseen& unseen);

// Whether a function of that shape frees or resizes: where its calls are not seen, blocks look live, or of
// another size.
bool ends_blocks(tracer_shape shape);

// `twin` may be null: the separate debug file or an unstripped copy of the same build, asked where the file
// itself has no .symtab. One of another build is not used, and noted.
Found find(const elf::ElfFile& file, const elf::ElfFile* twin);

// The function's bytes as the file has them; behind a very short one also what fills the gap to the next
// function, as far as that is known: to the next multiple of 16, where the function starts at one itself.
// Empty if the file does not store them.
std::span<const std::byte> code_of(const elf::ElfFile& file, const Function& function);

}  // namespace fathom::allocators
