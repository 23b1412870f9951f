// The messages between the recorder and the process that reads the target's files, as bytes. The recorder
// trusts an answer only as far as it can check it: an attacker may control the other process. Pure.
//
// A request is about one module, by a number of the recorder's choice; descriptors travel with the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/varint.h"
#include "binary/symbolize/options.h"
#include "binary/symbolize/source_place.h"

namespace fathom::symbolize {

// With it: the file, then its debug file if it has one.
struct OpenModule {
  std::string path;        // for messages and for names of nameless functions
  std::string debug_path;  // "": there is none
  bool inlines = true;
  std::string pointed_from;  // path of the file with debug information: files it refers to may be next to it
  bool operator==(const OpenModule&) const = default;
};
// With it: the file, which replaces the one that was sent before.
struct OpenPerfMap {
  std::string path;
  bool operator==(const OpenPerfMap&) const = default;
};
struct ResolveNames {
  std::vector<ElfAddress> addresses;
  bool operator==(const ResolveNames&) const = default;
};
struct ResolvePlaces {
  std::vector<ElfAddress> addresses;  // ascending
  bool operator==(const ResolvePlaces&) const = default;
};
struct CheckFiles {
  bool operator==(const CheckFiles&) const = default;
};
struct ReleaseMemory {
  bool operator==(const ReleaseMemory&) const = default;
};

using NameQuestion =
    std::variant<OpenModule, OpenPerfMap, ResolveNames, ReleaseMemory, CheckFiles, ResolvePlaces>;
struct NameRequest {
  std::uint32_t module = 0;
  NameQuestion what;
  bool operator==(const NameRequest&) const = default;
};

// To every request, as of ModuleSymbols.
struct NameAnswer {
  model::SymbolSource source = model::SymbolSource::kNone;
  std::string problem, stamp, main_crate, compilers;
  std::uint64_t releasable_bytes = 0;
  bool out_of_memory = false;                    // the module is not open any more
  std::vector<std::vector<Name>> names;          // of ResolveNames: for each of its addresses
  std::vector<std::vector<SourcePlace>> places;  // of ResolvePlaces, likewise
  bool operator==(const NameAnswer&) const = default;
};

// What one answer may be made of. encode_answer() leaves the names of addresses out that would go beyond.
inline constexpr std::size_t kMostNamesOfAnswer = 1 << 18;
inline constexpr std::size_t kMostTextOfAnswer = 64 << 20;  // bytes, a name that comes twice counted twice
inline constexpr std::size_t kLargestNameMessage = 96 << 20;

Bytes encode_request(const NameRequest& request);
Result<NameRequest> decode_request(std::span<const std::byte> bytes);
Bytes encode_answer(const NameAnswer& answer);
// kMalformed for whatever encode_answer() would not have written for `addresses` addresses of ResolveNames, and `places` of
// ResolvePlaces.
Result<NameAnswer> decode_answer(std::span<const std::byte> bytes, std::size_t addresses,
                                 std::size_t places = 0);

}  // namespace fathom::symbolize
