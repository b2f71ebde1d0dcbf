// Writes the members of a record.
#include "record.h"

#include <algorithm>
#include <cmath>

#include "clock.h"

namespace steelyard {
namespace {

[[gnu::cold]] std::string samples_json(const Measurement& m) {
  std::vector<double> at, seconds, waited;
  std::vector<long> switches, faults;
  std::vector<Pace> readings;
  for (const Sample& s : m.samples) {
    at.push_back(s.at), seconds.push_back(s.seconds), waited.push_back(s.waited);
    switches.push_back(s.switches), faults.push_back(s.faults);
    readings.push_back(s.pace);
  }
  return json::Object()
      .add("at", json::list(at))
      .add("seconds", json::list(seconds))
      .add("waited", json::list(waited))
      .add("switches", json::list(switches))
      .add("faults", json::list(faults))
      .add(pace_columns(readings))
      .str();
}

[[gnu::cold]] std::string looks_json(const std::vector<Look>& looks) {
  std::vector<std::size_t> samples;
  std::vector<Pace> readings;
  for (const Look& look : looks) samples.push_back(look.sample), readings.push_back(look.pace);
  return json::Object().add("sample", json::list(samples)).add(pace_columns(readings)).str();
}

[[gnu::cold]] std::string pace_json(const Pace& pace) {
  return json::Object()
      .add("core_clock", pace.core_clock)
      .add("issued", pace.issued)
      .add("stream", pace.stream)
      .add("chase", pace.chase)
      .add("exchange", pace.exchange)
      .str();
}

// The counted events, for one operation.
[[gnu::cold]] std::string counted(const Measurement& m) {
  double sampled = 0;
  for (const Sample& s : m.samples) sampled += s.seconds;
  auto operations = static_cast<double>(m.operations * m.samples.size());
  double watched = m.elapsed - m.waited;
  return counters_json(m.counters, operations, watched > 0 ? std::min(1.0, sampled / watched) : unknown);
}

}  // namespace

[[gnu::cold]] json::Object pace_columns(const std::vector<Pace>& readings) {
  auto column = [&](double Pace::* part) {
    std::vector<double> values;
    for (const Pace& pace : readings) values.push_back(pace.*part);
    return json::list(values);
  };
  return json::Object()
      .add("core_clock", column(&Pace::core_clock))
      .add("issued", column(&Pace::issued))
      .add("stream", column(&Pace::stream))
      .add("chase", column(&Pace::chase));
}

void Phases::next(const char* name) {
  double now = seconds_of(CLOCK_MONOTONIC_RAW);
  out_.add(name, now - last_);
  last_ = now;
}

[[gnu::cold]] json::Object surroundings(const Measurement& m, const std::vector<int>& cpus, const Phases& phases,
                                        const std::string& details) {
  const Clock& clock = Clock::get();
  json::Object out;
  out.add("clock", json::Object()
                       .add("source", json::text(clock.source()))
                       .add("frequency", clock.frequency())
                       .add("resolution", clock.resolution())
                       .add("overhead", clock.overhead())
                       .str())
      .add("core_clock",
           json::Object().add("before", json::list(m.clock_before)).add("after", json::list(m.clock_after)).str())
      .add("began", m.began)
      .add("ended", m.ended)
      .add("monotonic", m.monotonic)
      .add("samples", samples_json(m))
      .add("pace", json::Object()
                       .add("before", pace_json(m.pace_before))
                       .add("after", pace_json(m.pace_after))
                       .add("waited", m.waited)
                       .add("looks", looks_json(m.looks))
                       .str())
      .add("processor_seconds", json::Object()
                                    .add("elapsed", m.elapsed)
                                    .add("steal", m.steal)
                                    .add("other", m.other)
                                    .add("interrupts", m.interrupt_time)
                                    .add("processors", m.processors)
                                    .add("most_steal", m.most_steal)
                                    .add("most_interrupts", m.most_interrupts)
                                    .add("most_other", m.most_other)
                                    .str())
      .add("machine_other", m.machine_other)
      .add("machine_processors", m.machine_processors)
      .add("interrupts", m.interrupts)
      .add("throttled", m.throttled)
      .add("oversubscribed", json::boolean(m.oversubscribed))
      .add("cpus", json::list(cpus))
      .add("counters", counted(m))
      .add("pages", Mappings::get().report())
      .add("phases", phases.str());
  if (!details.empty()) out.add("details", details);
  return out;
}

[[gnu::cold]] json::Object record(const AnyKernel& kernel, const Measurement& m, const Check& check,
                                  const json::Object& surroundings) {
  std::vector<double> seconds;
  for (const Sample& s : m.samples) seconds.push_back(s.seconds / static_cast<double>(m.operations));
  json::Object work;
  for (const auto& [what, amount] : kernel.work()) work.add(what, amount);
  return json::Object()
      .add("samples", json::list(seconds))
      .add("operations", m.operations)
      .add("work", work.str())
      .add("check",
           json::Object().add("passed", json::boolean(check.passed)).add("detail", json::text(check.detail)).str())
      .add("surroundings", surroundings.str());
}

std::string answer_line(const std::string& name, const std::string& kernel, const json::Object& body) {
  return json::Object().add("case", json::text(name)).add("kernel", json::text(kernel)).add(body).str();
}

}  // namespace steelyard
