// PNTS: points of series. Most are whole numbers (bytes, counts) that change little, and are stored as
// differences; a part of a series with fractions is stored as doubles.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "model/store/column.h"
#include "model/store/payload.h"

namespace fathom::store {
namespace {

using namespace model;

enum SeriesEncoding : std::uint8_t { kWhole = 0, kDoubles = 1 };
constexpr std::size_t kMaxPoints = 1u << 16;  // of one block

// Survives the conversion to an integer and back; -0.0 does not.
bool is_whole(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  return std::abs(value) <= kExact && value == std::trunc(value) && !(value == 0 && std::signbit(value));
}

void put_piece(Bytes& out, std::size_t series, std::span<const Point> points) {
  bool whole = true;
  for (const Point& point : points) whole = whole && is_whole(point.value);
  put_varint(out, series);
  put_varint(out, points.size());
  out.push_back(static_cast<std::byte>(whole ? kWhole : kDoubles));
  std::uint64_t time = 0;
  for (const Point& point : points) {
    put_signed_varint(out, static_cast<std::int64_t>(point.time_ns - time));
    time = point.time_ns;
  }
  std::int64_t previous = 0;
  for (const Point& point : points) {
    if (whole) {
      const auto value = static_cast<std::int64_t>(point.value);
      put_signed_varint(out, value - previous);
      previous = value;
    } else {
      const auto at = out.size();
      out.resize(at + sizeof(point.value));
      std::memcpy(out.data() + at, &point.value, sizeof(point.value));
    }
  }
}

}  // namespace

Bytes encode_points(const Profile& profile, PointPosition& from) {
  Bytes out;
  std::size_t room = kMaxPoints;
  while (from.series < profile.series.size() && room > 0) {
    const auto& points = profile.series[from.series].points;
    const std::size_t count = std::min(room, points.size() - from.point);
    if (count != 0) put_piece(out, from.series, std::span(points).subspan(from.point, count));
    room -= count;
    from.point += count;
    if (from.point == points.size()) from = {from.series + 1, 0};
  }
  return out;
}

Result<> decode_points(Cursor in, Loading& loading) {
  auto& all_series = loading.profile.series;
  while (!in.at_end()) {
    const std::uint64_t series = in.read_uleb128();
    const std::uint64_t count = in.read_uleb128();
    const auto encoding = in.read<std::uint8_t>();
    if (!in.ok() || count > in.remaining() / 2 || encoding > kDoubles)
      return fail(ErrorKind::kMalformed, "points are cut short");
    if (series >= all_series.size() && !(loading.damaged && series < kLostRow))
      return fail(ErrorKind::kMalformed, fmt::format("points of series {}, which is not there", series));
    if (auto charged = loading.charge(count * sizeof(Point)); !charged) return charged;
    if (series >= all_series.size()) {
      if (auto charged = loading.charge((series + 1) * sizeof(Series)); !charged) return charged;
      all_series.resize(series + 1);
    }
    std::vector<Point> points(count);
    std::uint64_t time = 0;
    for (Point& point : points)
      point.time_ns = time += static_cast<std::uint64_t>(unzigzag(in.read_uleb128()));
    std::uint64_t value = 0;
    for (Point& point : points) {
      if (encoding == kWhole) {
        value += static_cast<std::uint64_t>(unzigzag(in.read_uleb128()));
        point.value = static_cast<double>(static_cast<std::int64_t>(value));
      } else {
        point.value = std::bit_cast<double>(in.read<std::uint64_t>());
      }
    }
    if (!in.ok()) return fail(ErrorKind::kMalformed, "points are cut short");
    auto& out = all_series[series].points;
    for (const Point& point : points)
      if (loading.in_window(point.time_ns)) out.push_back(point);
  }
  return {};
}

}  // namespace fathom::store
