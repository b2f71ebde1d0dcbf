// The Fourier transform of a long complex vector: by threads, by a device, by both; and by the site's FFTW.
#include <unistd.h>

#include "choices.h"
#include "modes.h"
#include "site_library.h"
#include "tone.h"

using namespace steelyard;

// A step on the device (the algorithm of T. Stockham): each work item transforms `RADIX` numbers from one memory into
// another, for `batch` vectors side by side. `tiled`: 1 if the step reads tiles, 2 if it writes transposed tiles.
constexpr const char* functions = R"(
double2 times(double2 a, double2 b) { return MAKE2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
double2 turned(double2 a) { return MAKE2(a.y, -a.x); }
void transform2(double2* a) {
  double2 first = a[0] + a[1], second = a[0] - a[1];
  a[0] = first, a[1] = second;
}
void transform4(double2* a) {
  double2 s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], u = turned(a[1] - a[3]);
  a[0] = s + t, a[1] = d + u, a[2] = s - t, a[3] = d - u;
}
void transform8(double2* a) {
  double2 e[4] = {a[0], a[2], a[4], a[6]}, o[4] = {a[1], a[3], a[5], a[7]};
  transform4(e), transform4(o);
  o[1] = (o[1] + turned(o[1])) * M_SQRT1_2;
  o[2] = turned(o[2]);
  o[3] = (turned(o[3]) - o[3]) * M_SQRT1_2;
  #pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = e[i] + o[i], a[i + 4] = e[i] - o[i];
}
)";
constexpr const char* step = R"(
kernel void stepRADIX(GLOBAL const double2* restrict in, GLOBAL double2* restrict out,
                      GLOBAL const double* restrict from, GLOBAL double* restrict to,
                      GLOBAL const double2* restrict fine, GLOBAL const double2* restrict coarse, uint shift,
                      uint length, uint done, uint batch, uint stride, uint columns, uint tiled) {
  const size_t item = get_global_id(0);
  const uint side = tiled == 2 ? min(done, 8u) : 1, low = item % side;
  const uint lane = item / side % batch, i = item / side / batch * side + low, q = i % done, p = i / done;
  const size_t n = (size_t)length * stride;
  double2 a[RADIX];
  #pragma unroll
  for (uint t = 0; t < RADIX; ++t) {
    uint row = i + t * (length / RADIX);
    if (tiled == 1) {
      size_t at = ((size_t)(lane / 8) * columns + row) * 16 + lane % 8;
      a[t] = MAKE2(from[at], from[at + 8]);
    } else {
      a[t] = in[(size_t)row * stride + lane];
    }
  }
  transformRADIX(a);
  #pragma unroll
  for (uint t = 0; t < RADIX; ++t) {
    uint row = q + done * (RADIX * p + t);
    size_t turn = tiled == 2 ? (size_t)row * lane : (size_t)p * t * done * stride;
    if (turn) a[t] = times(a[t], times(coarse[turn >> shift], fine[turn & ((1u << shift) - 1)]));
    if (tiled == 2) {
      size_t at = ((size_t)(row / 8) * columns + lane) * 16 + row % 8;
      to[at] = a[t].x, to[at + 8] = a[t].y;
    } else {
      out[(size_t)row * stride + lane] = a[t];
    }
  }
}
)";

struct Fft : Signal {
  static constexpr std::size_t phases = 2;
  Team& team;
  fourier::Transform transform;
  Buffer<double> tiles;
  std::vector<Buffer<double>> work_of;
  std::vector<Buffer<double>> scratch;
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> signal, spectrum, between, fine, coarse, spare[2];

  Fft(Params& p, Team& t)
      : Signal(p, t),
        team(t),
        transform(elements, streams(p, 48 * elements)),
        tiles(2 * elements, policy, team),
        work_of(Buffer<double>::one_each(transform.rows * fourier::line, policy, team, team.size())) {
    fill(team);
    spoil_results(team);
  }
  void spoil_results(Team&) {
    spoil(result, team, static_cast<double>(NAN)), spoil(tiles, team, static_cast<double>(NAN));
    if (on) spectrum->write(), between->write();
  }
  // Columns, then rows. There may be twice as many rows, so that a piece is two of them.
  std::size_t count_pieces(std::size_t) const { return transform.columns; }
  std::size_t share_granularity() const { return fourier::lanes; }
  std::size_t rows_of(std::size_t pieces) const { return pieces * (transform.rows / transform.columns); }

  void run_on_threads(Worker w, std::size_t phase, std::size_t first, std::size_t last) {
    double* work = work_of[w.index].data();
    if (phase == 1) first = rows_of(first), last = rows_of(last);
    auto [from, to] = w.part(last - first, fourier::lanes);
    for (std::size_t i = first + from; i < first + to; i += fourier::lanes)
      if (phase == 0)
        transform.transform_columns(x.data(), tiles.data(), work, i);
      else
        transform.transform_rows(tiles.data(), result.data(), work, i);
  }

  void open_device(accelerator::Device& device) {
    on = &device;
    std::string program = functions;
    for (const char* radix : {"2", "4", "8"}) {
      program += step;
      for (std::size_t at; (at = program.find("RADIX")) != std::string::npos;) program.replace(at, 5, radix);
    }
    device.build(program);
    auto buffer = [&](void* data, std::size_t bytes) {
      return std::make_unique<accelerator::Buffer>(device, data, bytes);
    };
    auto& roots = transform.roots;
    signal = buffer(x.data(), 16 * elements), spectrum = buffer(result.data(), 16 * elements);
    between = buffer(tiles.data(), 16 * elements);
    fine = buffer(roots.fine.data(), 16 * roots.fine.size()),
    coarse = buffer(roots.coarse.data(), 16 * roots.coarse.size());
    for (auto& one : spare) {
      scratch.emplace_back(2 * elements, policy, team);
      one = buffer(scratch.back().data(), 16 * elements);
    }
    for (auto* one : {&signal, &spectrum, &between, &fine, &coarse}) (*one)->write();
  }
  void queue(std::size_t phase, std::size_t, std::size_t share) {
    bool second = phase == 1;
    std::size_t length = second ? transform.columns : transform.rows, stride = elements / length, done = 1, turn = 0;
    std::size_t batch = second ? rows_of(share) : share;
    while (done < length) {
      std::size_t rest = length / done, radix = rest % 8 == 0 && rest != 16 ? 8 : rest % 4 == 0 ? 4 : 2;
      bool first = done == 1, last = done * radix == length;
      auto& from = first ? signal : spare[(turn + 1) % 2];
      auto& to = last ? spectrum : spare[turn % 2];
      std::uint32_t tiled = second && first ? 1 : !second && last ? 2 : 0;
      std::size_t items = batch * length / radix;
      auto narrow = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
      on->run(join({"step", radix}), 0, items, items % 64 == 0 ? 64 : 0, from->handle(), to->handle(),
              between->handle(), between->handle(), fine->handle(), coarse->handle(), narrow(transform.roots.shift),
              narrow(length), narrow(done), narrow(batch), narrow(stride), narrow(transform.columns), tiled);
      done *= radix, ++turn;
    }
  }
  // After the columns: of its rows the device lacks the threads' columns, and they of theirs the device's.
  void exchange_results(std::size_t phase, std::size_t share) {
    if (phase == 1) return;
    if (on->shares_memory) return between->read();
    std::size_t columns = transform.columns, bytes = fourier::line * sizeof(double);
    for (std::size_t row = 0; row < transform.rows; row += fourier::lanes) {
      std::size_t start = row / fourier::lanes * columns * bytes;
      if (row < rows_of(share))
        between->write(start + share * bytes, start + columns * bytes);
      else
        between->read(start, start + share * bytes);
    }
  }
  void fetch(std::size_t share) {
    if (on->shares_memory || share == transform.columns) return spectrum->read();
    for (std::size_t i = 0; i < elements; i += transform.rows) spectrum->read(16 * i, 16 * (i + rows_of(share)));
  }
};

// The same transform by the site's library, planned before it is timed; of the team only the first calls it.
struct Fftw : Signal {
  static constexpr int forward = -1;          // FFTW_FORWARD
  static constexpr unsigned measure = 0;      // FFTW_MEASURE
  static constexpr double most_seconds = 40;  // for a plan, so that a busy machine's case is not given up
  Team& team;
  void* plan = nullptr;
  void (*execute)(void*) = nullptr;
  void (*destroy)(void*) = nullptr;

  Fftw(Params& p, Team& t) : Signal(p, t), team(t) {
    p.choice("mode", "threads", {"threads"});
    with_started_threads(team, [&] { make_plan(); });
    fill(team);  // planning overwrites the signal
    with_started_threads(team, [&] { execute(plan); });
    spoil(result, team, static_cast<double>(NAN));
  }
  ~Fftw() {
    if (plan) destroy(plan);
    let_threads_sleep(team);
  }
  void make_plan() {
    static SiteLibrary library("FFTW", "STEELYARD_FFTW",
                               {"libfftw3_threads.so.3", "libfftw3_omp.so.3", "libfftw3.so.3"}, "fftw_plan_dft_1d");
    static auto* start = library.find<int()>("fftw_init_threads");
    static bool threads = start && start();
    if (threads)
      library.find<void(int)>("fftw_plan_with_nthreads")(static_cast<int>(team.size()));
    else if (team.size() > 1)
      throw CaseError(join({"the FFTW of this site does not support threads: threads='", team.size(), "' must be 1"}));
    execute = library.find<void(void*)>("fftw_execute"), destroy = library.find<void(void*)>("fftw_destroy_plan");
    if (auto* limit = library.find<void(double)>("fftw_set_timelimit")) limit(most_seconds);
    auto* make = library.find<void*(int, double*, double*, int, unsigned)>("fftw_plan_dft_1d");
    // To measure the variants takes many seconds: what was found is kept for the program's next starts.
    static const std::string file = learnt_file("wisdom");
    if (auto* recall = library.find<int(const char*)>("fftw_import_wisdom_from_filename")) recall(file.c_str());
    plan = make(static_cast<int>(elements), x.data(), result.data(), forward, measure);
    if (!plan) throw CaseError(join({"FFTW cannot plan elements='", elements, "': use another size"}));
    if (auto* remember = library.find<int(const char*)>("fftw_export_wisdom_to_filename")) {
      std::string fresh = join({file, ".", getpid()});  // a half-written file must not be read
      if (remember(fresh.c_str())) std::rename(fresh.c_str(), file.c_str());
    }
  }
  void run(Worker w, std::size_t operations) {
    if (w.index != 0) return;
    for (std::size_t i = 0; i < operations; ++i) execute(plan), clobber();
  }
};

int main() { return serve({kernel<Modes<Fft>>("fft"), kernel<Fftw>("fftw")}); }
