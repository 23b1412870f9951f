#include "attach/allocators/nameless/kept_findings.h"

#include <xxhash.h>

#include <cstdint>
#include <utility>

#include "base/cursor.h"

namespace fathom::allocators::nameless {
namespace {

constexpr std::string_view kMagic = "fathmfnd";
enum class Which : std::uint8_t { kRefusal, kJemalloc, kLibrary };

class Writer {
 public:
  void number(std::uint64_t value) { put_varint(out_, value); }
  void text(std::string_view value) {
    number(value.size());
    for (const char c : value) out_.push_back(static_cast<std::byte>(c));
  }
  void all(const std::vector<ElfAddress>& addresses) {
    number(addresses.size());
    for (const ElfAddress each : addresses) number(each.value);
  }
  void all(const std::vector<CodeRange>& ranges) {
    number(ranges.size());
    for (const CodeRange& each : ranges) number(each.start.value), number(each.end.value);
  }
  void all(const std::vector<Candidate>& candidates) {
    number(candidates.size());
    for (const Candidate& each : candidates) {
      number(each.address.value), number(each.size);
      number(static_cast<std::uint64_t>(each.label));
      number(each.by_shape + 2u * each.by_shim + 4u * each.is_wrapper);
      number(each.direct), number(each.through_words), number(each.in_tables), number(each.from_program);
      all(each.goes_on_to);
    }
  }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : in_(bytes) {}
  bool ok() const { return ok_ && in_.ok(); }
  bool is_at_the_end() const { return ok() && in_.remaining() == 0; }

  std::uint64_t number() { return in_.read_uleb128(); }
  std::uint32_t small() {
    const std::uint64_t value = number();
    ok_ = ok_ && value <= UINT32_MAX;
    return static_cast<std::uint32_t>(value);
  }
  std::string text() { return std::string(in_.read_chars(number())); }
  void all(std::vector<ElfAddress>& addresses) {
    for (std::uint64_t left = count(1); left > 0 && ok(); --left) addresses.push_back({number()});
  }
  void all(std::vector<CodeRange>& ranges) {
    for (std::uint64_t left = count(2); left > 0 && ok(); --left) {
      const std::uint64_t start = number();
      ranges.push_back({{start}, {number()}});
    }
  }
  void all(std::vector<Candidate>& candidates) {
    for (std::uint64_t left = count(9); left > 0 && ok(); --left) {
      Candidate each{};
      each.address = {number()};
      each.size = number();
      const std::uint64_t label = number(), flags = number();
      ok_ = ok_ && label <= static_cast<std::uint64_t>(kLastRole) && flags < 8;
      each.label = static_cast<Role>(label);
      each.by_shape = (flags & 1) != 0, each.by_shim = (flags & 2) != 0, each.is_wrapper = (flags & 4) != 0;
      each.direct = small(), each.through_words = small(), each.in_tables = small();
      each.from_program = small();
      all(each.goes_on_to);
      candidates.push_back(std::move(each));
    }
  }

 private:
  // Of things of at least so many bytes. The count is the file's claim.
  std::uint64_t count(std::size_t least_size) {
    const std::uint64_t claimed = number();
    ok_ = ok_ && claimed <= in_.remaining() / least_size;
    return ok() ? claimed : 0;
  }
  Cursor in_;
  bool ok_ = true;
};

}  // namespace

Bytes encode(const Findings& findings, std::string_view stamp) {
  Writer body;
  body.text(stamp);
  if (findings.jemalloc) {
    const JemallocEntries& found = *findings.jemalloc;
    body.number(static_cast<std::uint64_t>(Which::kJemalloc));
    body.text(found.version);
    body.number(found.messages);
    body.all(found.tables);
    body.all(found.candidates);
    body.all(found.own_code);
  } else if (findings.library) {
    const LibraryFindings& found = *findings.library;
    body.number(static_cast<std::uint64_t>(Which::kLibrary));
    body.all(found.candidates);
    body.all(found.doors);
    body.all(found.ways.entries);
    body.all(found.ways.others);
    body.all(found.ways.own_code);
  } else {
    body.number(static_cast<std::uint64_t>(Which::kRefusal));
    body.text(findings.refusal);
  }
  const Bytes content = body.take();
  const std::uint64_t checksum = XXH3_64bits(content.data(), content.size());
  Bytes out;
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  for (unsigned i = 0; i < sizeof checksum; ++i) out.push_back(static_cast<std::byte>(checksum >> 8 * i));
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

std::optional<Findings> decode(std::span<const std::byte> bytes, std::string_view stamp) {
  Cursor head(bytes);
  if (head.read_chars(kMagic.size()) != kMagic) return std::nullopt;
  const auto checksum = head.read<std::uint64_t>();
  if (!head.ok() || XXH3_64bits(head.rest().data(), head.rest().size()) != checksum) return std::nullopt;
  Reader in(head.rest());
  if (in.text() != stamp || !in.ok()) return std::nullopt;
  Findings findings;
  switch (in.number()) {
    case static_cast<std::uint64_t>(Which::kJemalloc): {
      JemallocEntries& found = findings.jemalloc.emplace();
      found.version = in.text();
      found.messages = in.small();
      in.all(found.tables);
      in.all(found.candidates);
      in.all(found.own_code);
      break;
    }
    case static_cast<std::uint64_t>(Which::kLibrary): {
      LibraryFindings& found = findings.library.emplace();
      in.all(found.candidates);
      in.all(found.doors);
      in.all(found.ways.entries);
      in.all(found.ways.others);
      in.all(found.ways.own_code);
      break;
    }
    case static_cast<std::uint64_t>(Which::kRefusal):
      findings.refusal = in.text();
      if (findings.refusal.empty()) return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  if (!in.is_at_the_end()) return std::nullopt;
  return findings;
}

}  // namespace fathom::allocators::nameless
