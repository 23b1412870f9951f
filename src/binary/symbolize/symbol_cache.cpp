#include "binary/symbolize/symbol_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/cursor.h"
#include "binary/symbolize/put_text.h"

namespace fathom::symbolize {
namespace {

constexpr std::string_view kMagic = "fathmsym";
// Counts changes of this format, and of how names are made: old names must not survive next to new ones.
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kMostCachedAddresses = 1'000'000;
constexpr std::size_t kLargestFile = 256 << 20;
constexpr std::string_view kSuffix = ".names";

template <class T>
void put_fixed(Bytes& out, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof value);
}

std::string_view read_view(Cursor& in) {
  return in.read_chars(in.read_uleb128());
}

}  // namespace

std::uint32_t CachedNames::intern(const std::string& text) {
  const auto [slot, is_new] = text_ids_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return slot->second;
}

CachedNames::Chain CachedNames::shared(std::size_t first) {
  const auto added = std::span(lines_).subspan(first);
  if (!std::ranges::equal(added, std::span(lines_).subspan(last_.first, last_.count)))
    last_ = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(added.size())};
  else
    lines_.resize(first);
  return last_;
}

const CachedNames::Chain* CachedNames::chain_of(ElfAddress address) const {
  const auto row = std::ranges::lower_bound(loaded_, address.value, {}, &Row::address);
  if (row != loaded_.end() && row->address == address.value) return &row->chain;
  const auto added = added_.find(address.value);
  return added == added_.end() ? nullptr : &added->second;
}

void CachedNames::add(ElfAddress address, const std::vector<Name>& names) {
  if (size() >= kMostCachedAddresses || chain_of(address) != nullptr) return;
  const std::size_t first = lines_.size();
  for (const auto& name : names) lines_.push_back({intern(name.function), intern(name.file), name.line});
  added_.emplace(address.value, shared(first));
}

std::optional<std::vector<Name>> CachedNames::find(ElfAddress address) const {
  const Chain* chain = chain_of(address);
  if (chain == nullptr) return std::nullopt;
  std::vector<Name> names;
  for (const Line& line : std::span(lines_).subspan(chain->first, chain->count))
    names.push_back({texts_[line.function], texts_[line.file], line.line});
  return names;
}

Bytes CachedNames::encode(std::string_view identity, std::string_view stamp) const {
  Bytes body;
  put_text(body, identity);
  put_text(body, stamp);
  put_varint(body, texts_.size());
  for (const auto& text : texts_) put_text(body, text);
  std::vector<Row> sorted = loaded_;
  for (const auto& [address, chain] : added_) sorted.push_back({address, chain});
  std::ranges::sort(sorted, {}, &Row::address);
  put_varint(body, sorted.size());
  std::uint64_t before = 0;
  for (const auto& [address, chain] : sorted) {
    put_varint(body, address - std::exchange(before, address));
    put_varint(body, chain.count);
    for (std::uint32_t i = 0; i < chain.count; ++i) {
      const Line& line = lines_[chain.first + i];
      put_varint(body, line.function);
      put_varint(body, line.file);
      put_varint(body, line.line);
    }
  }
  Bytes out;
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  put_fixed(out, kVersion);
  put_fixed(out, static_cast<std::uint64_t>(XXH3_64bits(body.data(), body.size())));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

Result<CachedNames> CachedNames::decode(std::span<const std::byte> bytes, std::string_view identity,
                                        std::string_view stamp) {
  Cursor in(bytes);
  if (in.read_chars(kMagic.size()) != kMagic) return fail(ErrorKind::kMalformed, "not a cache of names");
  if (in.read<std::uint32_t>() != kVersion) return fail(ErrorKind::kUnsupported, "another version");
  const auto checksum = in.read<std::uint64_t>();
  if (!in.ok() || XXH3_64bits(in.rest().data(), in.rest().size()) != checksum)
    return fail(ErrorKind::kMalformed, "the checksum does not match");
  if (read_view(in) != identity || read_view(in) != stamp)
    return fail(ErrorKind::kUnsupported, "names from another file");

  const auto broken = [&](const char* what) {
    return fail(ErrorKind::kMalformed, std::string(what) + " at offset " + std::to_string(in.offset()));
  };
  CachedNames names;
  const auto texts = in.read_uleb128();
  if (texts > in.remaining()) return broken("too many texts");
  for (std::uint64_t i = 0; i < texts; ++i) names.texts_.emplace_back(read_view(in));
  for (std::size_t i = 0; i < names.texts_.size(); ++i)
    names.text_ids_.try_emplace(names.texts_[i], static_cast<std::uint32_t>(i));
  const auto chains = in.read_uleb128();
  if (chains > in.remaining() / 2 || chains > kMostCachedAddresses) return broken("too many addresses");
  names.loaded_.reserve(chains);
  std::uint64_t address = 0;
  for (std::uint64_t i = 0; i < chains && in.ok(); ++i) {
    address += in.read_uleb128();
    if (i != 0 && address <= names.loaded_.back().address) return broken("an address out of order");
    const auto count = in.read_uleb128();
    if (count > in.remaining() / 3) return broken("too many names");
    const std::size_t first = names.lines_.size();
    for (std::uint64_t j = 0; j < count; ++j) {
      const auto function = in.read_uleb128(), file = in.read_uleb128(), line = in.read_uleb128();
      if (function >= texts || file >= texts || line > UINT32_MAX) return broken("a number out of range");
      names.lines_.push_back({static_cast<std::uint32_t>(function), static_cast<std::uint32_t>(file),
                              static_cast<std::uint32_t>(line)});
    }
    names.loaded_.push_back({address, names.shared(first)});
  }
  if (!in.ok() || in.remaining() != 0) return broken("cut short, or too long");
  return names;
}

CacheDirectory::CacheDirectory(const std::string& path, std::uint64_t limit_bytes)
    : folder_(path, limit_bytes) {}

std::optional<CachedNames> CacheDirectory::load(const std::string& identity, std::string_view stamp) const {
  const auto content = folder_.load(file_of(identity), kLargestFile);
  if (!content) return std::nullopt;
  auto names = CachedNames::decode(std::as_bytes(std::span(*content)), identity, stamp);
  if (!names) return std::nullopt;
  return std::move(*names);
}

void CacheDirectory::save(const std::string& identity, std::string_view stamp, const CachedNames& names) {
  const Bytes content = names.encode(identity, stamp);
  if (!identity.empty() && content.size() <= kLargestFile) folder_.save(file_of(identity), content);
}

std::string CacheDirectory::file_of(const std::string& identity) {
  return identity.empty() ? std::string() : identity + std::string(kSuffix);
}

std::string default_cache_directory() {
  return default_cache_folder("symbols");
}

}  // namespace fathom::symbolize
