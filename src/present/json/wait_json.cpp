#include "present/json/wait_json.h"

#include <algorithm>

#include "analysis/waits/other_locks.h"
#include "present/sentences/wait_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

double in_seconds(double ns) {
  return ns / 1e9;
}

Json sum_json(const WaitSum& sum) {
  return {{"waits", sum.waits()},
          {"walked", sum.walked()},
          {"total_s", in_seconds(static_cast<double>(sum.total_ns()))},
          {"total_error_s", in_seconds(sum.error_ns())},
          {"mean_s", in_seconds(sum.mean_ns())},
          {"max_s", in_seconds(static_cast<double>(sum.max_ns()))}};
}

Json spread_json(const Distribution& waits, bool with_histogram) {
  Json json = sum_json(waits.sum());
  json["min_s"] = in_seconds(static_cast<double>(waits.quantile_ns(0)));
  json["p50_s"] = in_seconds(static_cast<double>(waits.quantile_ns(0.5)));
  json["p99_s"] = in_seconds(static_cast<double>(waits.quantile_ns(0.99)));
  if (!with_histogram) return json;
  json["histogram"] = Json::array();
  for (const Distribution::Bucket& bucket : waits.histogram())
    json["histogram"].push_back(
        {{"from_s", in_seconds(static_cast<double>(bucket.from_ns))}, {"waits", bucket.waits}});
  return json;
}

Json joined(Json first, const Json& second) {
  first.update(second);
  return first;
}

template <class Row, class ToJson>
Json rows_json(const std::vector<Row>& rows, std::size_t top, ToJson to_json) {
  Json json = Json::array();
  for (const Row& row : rows) {
    if (top != 0 && json.size() == top) break;
    json.push_back(to_json(row));
  }
  return json;
}

Json party_json(const PartyRow& row) {
  return joined({{"thread", row.thread}, {"site", row.site}}, sum_json(row.sum));
}

Json contention_json(const ContentionRow& row) {
  constexpr std::size_t kMostParties = 20;
  Json json = {{"name", row.name}, {"kind", to_string(row.kind)}};
  if (row.released) json["released"] = true;
  if (row.address != 0) {
    json["address"] = row.address;
    json["pid"] = row.pid;
    json["private"] = row.is_private;
    json["operation"] = row.operation;
  }
  json.update(spread_json(row.waits, true));
  if (row.holds.sum().walked() != 0) json["holds"] = spread_json(row.holds, false);
  json["waiters"] = rows_json(row.waiters, kMostParties, party_json);
  json["releasers"] = rows_json(row.releasers, kMostParties, party_json);
  return json;
}

std::string_view kind_word(model::ObjectKind kind) {
  switch (kind) {
    case model::ObjectKind::kFile:
      return "file";
    case model::ObjectKind::kMappedFile:
      return "mapped-file";
    case model::ObjectKind::kMemory:
      return "memory";
    case model::ObjectKind::kPipe:
      return "pipe";
    case model::ObjectKind::kSocket:
      return "socket";
    default:
      return "unknown";
  }
}

Json returned_json(const Returned& returned) {
  return {{"returned_calls", returned.calls},
          {"returned_bytes", returned.bytes},
          {"failed_calls", returned.failed}};
}

Json faults_json(const FaultCount& faults) {
  return {{"major_faults", faults.major}, {"minor_faults", faults.minor}};
}

Json file_json(const FileRow& row) {
  Json json = {{"name", row.name}, {"kind", kind_word(row.kind)}, {"cause", to_string(row.cause)}};
  json.update(spread_json(row.waits, true));
  json["asked_bytes"] = row.bytes_asked;
  json.update(returned_json(row.returned));
  json.update(faults_json(row.faults));
  json["stacks"] = rows_json(row.stacks, 0, [](const FileRow::StackRow& stack) {
    const Json reason = stack.reason.empty() ? Json() : Json(stack.reason);
    Json stack_json = joined({{"path", stack.path}, {"reason", reason}}, returned_json(stack.returned));
    return joined(joined(std::move(stack_json), faults_json(stack.faults)), sum_json(stack.sum));
  });
  constexpr std::size_t kMostRanges = 16;
  json["ranges"] = rows_json(row.ranges, kMostRanges, [](const FileRange& range) {
    return Json{{"from_bytes", range.from}, {"to_bytes", range.to}, {"faults", range.faults}};
  });
  return json;
}

Json chain_json(const ChainRow& row) {
  Json json = {{"text", in_words(row)}};
  json.update(sum_json(row.sum));
  json["hops"] = rows_json(row.hops, 0, [](const ChainHop& hop) {
    return Json{{"thread", hop.thread}, {"tid", hop.tid},   {"cause", to_string(hop.cause)},
                {"label", hop.label},   {"site", hop.site}, {"s", in_seconds(static_cast<double>(hop.ns))}};
  });
  json["waker"] = row.waker;
  json["waker_tid"] = row.waker_tid;
  return json;
}

Json overview_json(const WaitReport& waits, std::size_t top) {
  Json json;
  json["waited"] = sum_json(waits.waited);
  json["run_queue"] = sum_json(waits.queued);
  json["idle"] = sum_json(waits.idle_waits);
  json["idle_by_rule"] = rows_json(waits.idle, top, [](const IdleRow& row) {
    return joined({{"name", row.name}, {"threads", row.threads}}, sum_json(row.sum));
  });
  json["threads"] = rows_json(waits.threads, top, [](const WaitThreadRow& row) {
    return Json{{"name", row.name},
                {"threads", row.threads},
                {"ran_s", in_seconds(row.ran_ns)},
                {"waited_s", in_seconds(row.waited_ns)},
                {"idle_s", in_seconds(row.idle_ns)},
                {"run_queue_s", in_seconds(row.queued_ns)},
                {"exact", row.exact}};
  });
  json["blocked"] = rows_json(waits.blocked, top, [](const BlockedRow& row) {
    return joined({{"thread", row.thread},
                   {"cause", to_string(row.cause)},
                   {"what", row.what},
                   {"released", row.released},
                   {"reason", row.reason},
                   {"wall_percent", row.share * 100}},
                  sum_json(row.sum));
  });
  json["reasons"] = rows_json(waits.reasons, top, [](const ReasonRow& row) {
    return joined(
        {{"reason", row.reason}, {"site", row.site}, {"evidence", row.evidence}, {"threads", row.threads}},
        sum_json(row.sum));
  });
  json["chains"] = rows_json(waits.chains, top, chain_json);
  json["unended"] = rows_json(waits.unended, top, [](const UnendedRow& row) {
    return Json{{"site", row.site},
                {"kind", to_string(row.kind)},
                {"threads", row.threads},
                {"min_s", in_seconds(static_cast<double>(row.shortest_ns))},
                {"max_s", in_seconds(static_cast<double>(row.longest_ns))},
                {"wakers", row.wakers},
                {"gone_waker", row.is_waker_gone ? Json(row.waker) : Json()},
                {"gone_waker_tid", row.is_waker_gone ? Json(row.waker_tid) : Json()}};
  });
  json["async_tasks"] = rows_json(waits.tasks, top, [](const AsyncTaskRow& row) {
    return joined({{"task", row.task},
                   {"ran_s", in_seconds(row.ran_ns)},
                   {"longest_s", in_seconds(static_cast<double>(row.longest_ns))},
                   {"site", row.site.empty() ? Json() : Json(row.site)},
                   {"cause", row.site.empty() ? Json() : Json(to_string(row.cause))}},
                  sum_json(row.blocked));
  });
  return json;
}

}  // namespace

void add_waits(Json& json, const WaitReport& waits, std::size_t top, const Sections& sections) {
  if (sections.has(Section::kWaits)) {
    json["waits"] = overview_json(waits, top);
    json["causes"] = rows_json(waits.causes, 0, [](const CauseRow& row) {
      return joined({{"cause", to_string(row.cause)},
                     {"text", describe(row.cause)},
                     {"idle_s", in_seconds(static_cast<double>(row.idle.total_ns()))}},
                    spread_json(row.waits, true));
    });
  }
  if (sections.has(Section::kLocks))
    json["locks"] = {{"by_site", rows_json(waits.locks.by_site, top, contention_json)},
                     {"by_object", rows_json(waits.locks.by_object, top, contention_json)},
                     {"others", rows_json(other_locks(waits), top, [](const OtherLockRow& row) {
                        return joined({{"lock", row.lock},
                                       {"place", row.place},
                                       {"thread", row.row->thread},
                                       {"cause", to_string(row.row->cause)}},
                                      sum_json(row.row->sum));
                      })}};
  if (sections.has(Section::kFiles)) json["files"] = rows_json(waits.files, top, file_json);
}

}  // namespace fathom::present
