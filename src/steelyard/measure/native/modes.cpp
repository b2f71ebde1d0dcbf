// Shares the work of an operation between threads and a device.
#include "modes.h"

namespace steelyard {

Moded::Moded(Params& p, Team& team, std::unique_ptr<ModeKernel> (*make)(Params&, Team&))
    : mode_(p.choice("mode", "threads", {"threads", "opencl", "cuda", "hip", "mixed"})),
      kernel_(make(p, team)),
      team_(team) {
  if (mode_ == "threads") {
    p.count("device", 0);
    return;
  }
  const bool mixed = mode_ == "mixed";
  if (!mixed && team.size() != 1)
    throw CaseError(join({"mode='", mode_, "' uses one thread: threads='", team.size(), "' must be 1"}));
  device_ = accelerator::Device::open(p, mixed ? "" : mode_);
  clock_ = std::make_unique<DeviceClock>(device_->bus());
  double began = seconds_of(CLOCK_MONOTONIC_RAW);
  kernel_->open_device(*device_);
  device_->finish();
  to_device_ = seconds_of(CLOCK_MONOTONIC_RAW) - began;
  share_ = mixed ? 0.0 : 1.0;
  if (mixed) choose();
  kernel_->spoil_results(team);
}

std::size_t Moded::shared(std::size_t all) const {
  if (share_ >= 1) return all;
  auto wanted = static_cast<std::size_t>(share_ * static_cast<double>(all));
  return std::min(all, wanted / kernel_->share_granularity() * kernel_->share_granularity());
}
// A device that fails must not leave the other threads waiting: the first failure is kept until all have met.
template <class Job>
void Moded::guarded(Job job) {
  if (failure_) return;
  try {
    job();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void Moded::run(Worker w, std::size_t operations) {
  const std::size_t phases = kernel_->phases();
  for (std::size_t i = 0; i < operations; ++i) {
    for (std::size_t phase = 0; phase < phases; ++phase) {
      std::size_t all = kernel_->count_pieces(phase), share = shared(all);
      if (w.index == 0 && share > 0) guarded([&] { kernel_->queue(phase, 0, share), device_->flush(); });
      if (share < all) kernel_->run_on_threads(w, phase, share, all);
      if (w.index == 0 && share > 0) guarded([&] { device_->finish(), kernel_->exchange_results(phase, share); });
      if (w.size > 1) team_.barrier().wait();
    }
    clobber();
  }
  if (w.index == 0 && failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

Check Moded::check() {
  if (clock_) clock_->read();  // as the last sample leaves it
  if (std::size_t share = shared(kernel_->count_pieces(kernel_->phases() - 1)); share > 0) {
    double began = seconds_of(CLOCK_MONOTONIC_RAW);
    kernel_->fetch(share);
    from_device_ = seconds_of(CLOCK_MONOTONIC_RAW) - began;
  }
  if (corrupt_) kernel_->corrupt();
  return kernel_->check();
}

[[gnu::cold]] std::string Moded::details() const {
  if (!device_) return "null";
  std::string tried = "[";
  for (const auto& [share, seconds] : tried_)
    tried += (tried.size() > 1 ? "," : "") + json::list(std::vector<double>{share, seconds});
  return json::Object()
      .add("device", json::text(device_->name))
      .add("shares_memory", json::boolean(device_->shares_memory))
      .add("share", share_)
      .add("tried", tried.append("]"))
      .add("setup_seconds", to_device_)
      .add("fetch_seconds", from_device_)
      .add("clock", clock_->readings())
      .str();
}

// The share that takes least: each alone, then what their speeds suggest, then around the best. Both alone are among
// them, so that the mixture is not slower than either but by chance.
void Moded::choose() {
  double threads = tried(0), device = tried(1), guess = threads / (threads + device);
  for (double share : {guess, 0.8 * guess, std::min(0.95, 1.2 * guess)}) tried(share);
  auto best = std::min_element(tried_.begin(), tried_.end(), [](auto& a, auto& b) { return a.second < b.second; });
  for (double share : {best->first - 0.05, best->first + 0.05})
    if (share > 0.02 && share < 0.98) tried(share);
  best = std::min_element(tried_.begin(), tried_.end(), [](auto& a, auto& b) { return a.second < b.second; });
  // A mixture must be worth it: below 3 % it is chance.
  double alone = std::min(threads, device);
  share_ = best->second < 0.97 * alone ? best->first : (threads <= device ? 0 : 1);
}
double Moded::tried(double share) {
  share_ = share;
  double least = INFINITY;
  for (int i = 0; i < 3; ++i) {
    double began = seconds_of(CLOCK_MONOTONIC_RAW);
    team_.each([&](Worker w) { run(w, 1); });
    least = std::min(least, seconds_of(CLOCK_MONOTONIC_RAW) - began);
    // A second try of what is far behind would only cost time.
    if (!tried_.empty() && least > 3 * tried_.front().second) break;
  }
  tried_.emplace_back(share, least);
  return least;
}

}  // namespace steelyard
