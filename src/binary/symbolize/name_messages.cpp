#include "binary/symbolize/name_messages.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/cursor.h"
#include "binary/symbolize/put_text.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kLongestText = 64 << 10;  // of a path or a problem; names are bounded by their sum
constexpr std::uint64_t kMostAddresses = 1 << 20;

std::string read_text(Cursor& in) {
  const std::uint64_t size = in.read_uleb128();
  if (size > kLongestText) in.fail();
  return std::string(in.read_chars(in.ok() ? size : 0));
}

bool read_bool(Cursor& in) {
  const auto value = in.read<std::uint8_t>();
  if (value > 1) in.fail();
  return value == 1;
}

// Each text once: the functions and files of neighbours repeat.
class TextTable {
 public:
  std::uint64_t number_of(std::string_view text) {
    const auto [row, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return row->second;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
};

void put_addresses(Bytes& out, const std::vector<ElfAddress>& addresses) {
  put_varint(out, addresses.size());
  for (const ElfAddress address : addresses) put_varint(out, address.value);
}
std::vector<ElfAddress> read_addresses(Cursor& in) {
  const std::uint64_t count = in.read_uleb128();
  if (count > in.remaining() || count > kMostAddresses) {
    in.fail();
    return {};
  }
  std::vector<ElfAddress> addresses(count);
  for (ElfAddress& address : addresses) address.value = in.read_uleb128();
  return addresses;
}

tl::unexpected<Error> malformed(const char* what, const Cursor& in) {
  return fail(ErrorKind::kMalformed, std::string(what) + " at offset " + std::to_string(in.offset()));
}

}  // namespace

Bytes encode_request(const NameRequest& request) {
  Bytes out;
  put_varint(out, request.module);
  out.push_back(static_cast<std::byte>(request.what.index()));
  if (const auto* open = std::get_if<OpenModule>(&request.what)) {
    put_text(out, open->path);
    put_text(out, open->debug_path);
    out.push_back(std::byte{open->inlines});
    put_text(out, open->pointed_from);
  } else if (const auto* map = std::get_if<OpenPerfMap>(&request.what)) {
    put_text(out, map->path);
  } else if (const auto* resolve = std::get_if<ResolveNames>(&request.what)) {
    put_addresses(out, resolve->addresses);
  } else if (const auto* places = std::get_if<ResolvePlaces>(&request.what)) {
    put_addresses(out, places->addresses);
  }
  return out;
}

Result<NameRequest> decode_request(std::span<const std::byte> bytes) {
  Cursor in(bytes);
  NameRequest request;
  request.module = static_cast<std::uint32_t>(in.read_uleb128());
  switch (in.read<std::uint8_t>()) {
    case 0: {
      OpenModule open;
      open.path = read_text(in);
      open.debug_path = read_text(in);
      open.inlines = read_bool(in);
      open.pointed_from = read_text(in);
      request.what = std::move(open);
      break;
    }
    case 1:
      request.what = OpenPerfMap{read_text(in)};
      break;
    case 2:
      request.what = ResolveNames{read_addresses(in)};
      break;
    case 3:
      request.what = ReleaseMemory{};
      break;
    case 4:
      request.what = CheckFiles{};
      break;
    case 5:
      request.what = ResolvePlaces{read_addresses(in)};
      break;
    default:
      return malformed("an unknown request", in);
  }
  if (!in.ok() || in.remaining() != 0) return malformed("cut short, or too long", in);
  return request;
}

Bytes encode_answer(const NameAnswer& answer) {
  TextTable texts;
  Bytes chains;
  std::size_t names = 0, text = 0;
  for (const auto& chain : answer.names) {
    std::size_t more = 0;
    for (const Name& name : chain) more += name.function.size() + name.file.size();
    if (names + chain.size() > kMostNamesOfAnswer || text + more > kMostTextOfAnswer) {
      put_varint(chains, 0);
      continue;
    }
    names += chain.size();
    text += more;
    put_varint(chains, chain.size());
    for (const Name& name : chain) {
      put_varint(chains, texts.number_of(name.function));
      put_varint(chains, texts.number_of(name.file));
      put_varint(chains, name.line);
    }
  }
  Bytes places;
  for (const auto& chain : answer.places) {
    std::size_t more = 0;
    for (const SourcePlace& place : chain) more += place.function.size();
    if (names + chain.size() > kMostNamesOfAnswer || text + more > kMostTextOfAnswer) {
      put_varint(places, 0);
      continue;
    }
    names += chain.size();
    text += more;
    put_varint(places, chain.size());
    for (const SourcePlace& place : chain) {
      put_varint(places, texts.number_of(place.function));
      for (const std::uint32_t number : {place.start_line, place.line, place.discriminator})
        put_varint(places, number);
    }
  }
  Bytes out;
  out.push_back(static_cast<std::byte>(answer.source));
  put_text(out, std::string_view(answer.problem).substr(0, kLongestText));
  put_text(out, std::string_view(answer.stamp).substr(0, kLongestText));
  put_text(out, std::string_view(answer.main_crate).substr(0, kLongestText));
  put_text(out, std::string_view(answer.compilers).substr(0, kLongestText));
  put_varint(out, answer.releasable_bytes);
  out.push_back(std::byte{answer.out_of_memory});
  put_varint(out, texts.texts().size());
  for (const std::string_view each : texts.texts()) put_text(out, each);
  put_varint(out, answer.names.size());
  out.insert(out.end(), chains.begin(), chains.end());
  put_varint(out, answer.places.size());
  out.insert(out.end(), places.begin(), places.end());
  return out;
}

Result<NameAnswer> decode_answer(std::span<const std::byte> bytes, std::size_t addresses,
                                 std::size_t places) {
  Cursor in(bytes);
  NameAnswer answer;
  const auto source = in.read<std::uint8_t>();
  if (source > static_cast<std::uint8_t>(model::SymbolSource::kGo)) return malformed("an unknown source", in);
  answer.source = static_cast<model::SymbolSource>(source);
  answer.problem = read_text(in);
  for (char& each : answer.problem)
    if (static_cast<unsigned char>(each) < ' ') each = '?';  // it is shown on a terminal
  answer.stamp = read_text(in);
  answer.main_crate = read_text(in);
  answer.compilers = read_text(in);
  answer.releasable_bytes = in.read_uleb128();
  answer.out_of_memory = read_bool(in);

  const std::uint64_t text_count = in.read_uleb128();
  if (text_count > in.remaining() || text_count > 2 * kMostNamesOfAnswer)
    return malformed("too many texts", in);
  std::vector<std::string_view> texts;  // in `bytes`
  texts.reserve(text_count);
  for (std::uint64_t i = 0; i < text_count; ++i) texts.push_back(in.read_chars(in.read_uleb128()));

  const std::uint64_t chains = in.read_uleb128();
  if (!in.ok() || chains != addresses) return malformed("not as many names as were asked for", in);
  answer.names.resize(addresses);
  std::size_t names = 0, text = 0;
  for (auto& chain : answer.names) {
    const std::uint64_t count = in.read_uleb128();
    if (count > in.remaining() / 3 || (names += count) > kMostNamesOfAnswer)
      return malformed("too many names", in);
    chain.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto function = in.read_uleb128(), file = in.read_uleb128(), line = in.read_uleb128();
      if (function >= texts.size() || file >= texts.size() || line > UINT32_MAX)
        return malformed("a number out of range", in);
      text += texts[function].size() + texts[file].size();
      if (text > kMostTextOfAnswer) return malformed("too much text", in);
      chain.push_back(
          {std::string(texts[function]), std::string(texts[file]), static_cast<std::uint32_t>(line)});
    }
  }
  if (in.read_uleb128() != places || !in.ok()) return malformed("not as many places as were asked for", in);
  answer.places.resize(places);
  for (auto& chain : answer.places) {
    const std::uint64_t count = in.read_uleb128();
    if (count > in.remaining() / 4 || (names += count) > kMostNamesOfAnswer)
      return malformed("too many places", in);
    chain.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto function = in.read_uleb128(), start = in.read_uleb128(), line = in.read_uleb128(),
                 discriminator = in.read_uleb128();
      if (function >= texts.size() || start > UINT32_MAX || line > UINT32_MAX || discriminator > UINT32_MAX)
        return malformed("a number out of range", in);
      text += texts[function].size();
      if (text > kMostTextOfAnswer) return malformed("too much text", in);
      chain.push_back({std::string(texts[function]), static_cast<std::uint32_t>(start),
                       static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(discriminator)});
    }
  }
  if (!in.ok() || in.remaining() != 0) return malformed("cut short, or too long", in);
  return answer;
}

}  // namespace fathom::symbolize
