#include "binary/probes/wish.h"

#include <fmt/format.h>

#include <optional>

#include "base/parse.h"

namespace fathom::probes {
namespace {

constexpr const char* kForm =
    "--probe 'FUNCTION[@MODULE][:argN[+OFFSET]|:ret]', as in --probe mdb_put:arg4+0, or --probe 'PROVIDER:NAME[@MODULE][:argN]'";

template <class Number>
std::optional<Number> number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  return parse_number<Number>(text, hexadecimal ? 16 : 10);
}

// Where the part behind the function begins. The colons of "Database::put" are none.
std::size_t single_colon(std::string_view text) {
  const std::size_t at = text.rfind(':');
  if (at == std::string_view::npos || (at > 0 && text[at - 1] == ':')) return std::string_view::npos;
  return at;
}

Result<> parse_size(std::string_view text, Wish& wish) {
  const unsigned most = wish.provider.empty() ? Wish::kMostArguments : Wish::kMostValues;
  if (text == "ret" && wish.provider.empty()) {
    wish.size = SizeFrom::kResult;
    return {};
  }
  const std::size_t plus = text.find('+');
  const auto argument = text.starts_with("arg")
                            ? number<unsigned>(text.substr(3, plus == text.npos ? plus : plus - 3))
                            : std::nullopt;
  if (!argument || *argument < 1 || *argument > most || (!wish.provider.empty() && plus != text.npos))
    return fail(ErrorKind::kUsage,
                fmt::format("--probe: a size is {}one of :arg1 to :arg{}, not ':{}'",
                            wish.provider.empty() ? ":ret or " : "", most, text),
                kForm);
  wish.argument = *argument;
  wish.size = SizeFrom::kArgument;
  if (plus == text.npos) return {};
  constexpr std::int64_t kMostOffset = 1 << 20;
  const auto offset = number<std::int64_t>(text.substr(plus + 1));
  if (!offset || *offset < 0 || *offset > kMostOffset)
    return fail(ErrorKind::kUsage, fmt::format("--probe: '{}' is not an offset", text.substr(plus + 1)),
                kForm);
  wish.size = SizeFrom::kPointed;
  wish.offset = *offset;
  return {};
}

// The text behind the last colon claims to be a size, not the name of a static probe.
bool is_of_size(std::string_view text) {
  return text.empty() || text == "ret" || text.starts_with("ret+") ||
         (text.starts_with("arg") && text.find_first_not_of("0123456789", 3) != 3) || text == "arg";
}

}  // namespace

Result<Wish> parse_wish(std::string_view text) {
  Wish wish;
  std::string_view place = text;
  std::size_t colon = single_colon(text);
  const bool has_size = colon != text.npos && is_of_size(text.substr(colon + 1));
  if (has_size) place = text.substr(0, colon);
  colon = single_colon(place);
  if (colon != place.npos) {
    wish.provider = place.substr(0, colon);
    if (wish.provider.empty())
      return fail(ErrorKind::kUsage, fmt::format("--probe '{}': no provider", text), kForm);
    place.remove_prefix(colon + 1);
  }
  if (has_size)
    if (auto parsed = parse_size(text.substr(text.rfind(':') + 1), wish); !parsed)
      return tl::unexpected<Error>(parsed.error());
  if (const std::size_t at = place.rfind('@'); at != place.npos) {
    wish.module = place.substr(at + 1);
    if (wish.module.empty())
      return fail(ErrorKind::kUsage, fmt::format("--probe '{}': no module behind the @", text), kForm);
    place = place.substr(0, at);
  }
  if (place.empty()) return fail(ErrorKind::kUsage, fmt::format("--probe '{}': no function", text), kForm);
  wish.function = place;
  return wish;
}

Result<std::vector<Wish>> parse_span(std::string_view text) {
  constexpr std::string_view kBetween = "..";
  const std::size_t equals = text.find('=');
  std::string_view places = equals == text.npos ? text : text.substr(equals + 1);
  const std::size_t between = places.find(kBetween);
  std::vector<Wish> wishes;
  for (const std::string_view place :
       {places.substr(0, between), between == places.npos ? "" : places.substr(between + kBetween.size())}) {
    if (between == places.npos && !wishes.empty()) break;
    auto wish = parse_wish(place);
    if (!wish) return within("--span", wish.error());
    wishes.push_back(std::move(*wish));
  }
  const bool is_pair = wishes.size() == 2;
  const bool has_size = wishes[0].size != SizeFrom::kNothing;
  const bool is_well_formed = is_pair ? wishes[0].size != SizeFrom::kResult &&
                                            wishes[1].size != SizeFrom::kResult &&
                                            has_size == (wishes[1].size != SizeFrom::kNothing)
                                      : !has_size && wishes[0].provider.empty();
  if (equals == 0 || !is_well_formed)
    return fail(
        ErrorKind::kUsage,
        fmt::format("--span '{}': a span is the call of a function, or begins and ends with calls", text),
        "--span NAME=FUNCTION[@MODULE], or --span NAME=BEGIN..END, or --span NAME=BEGIN:arg1..END:arg2");
  for (Wish& wish : wishes) {
    wish.span = equals == text.npos ? wishes[0].function : text.substr(0, equals);
    if (is_pair) wish.part = &wish == wishes.data() ? SpanPart::kBegin : SpanPart::kEnd;
  }
  return wishes;
}

}  // namespace fathom::probes
