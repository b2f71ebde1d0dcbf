// The team on the compiler's OpenMP runtime: its threads, bound by OMP_PLACES, and its barrier.
#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>

#include "json.h"
#include "processor_set.h"
#include "team.h"

extern char** environ;

namespace steelyard {
namespace {

std::string placed_on(const ProcessorSet& set) {
  std::string list;
  for (int cpu : set.list()) list += join({(list.empty() ? "" : ","), cpu});
  return list;
}

std::string read_env(const char* name) {
  const char* value = std::getenv(name);
  return join({name, (value ? join({"='", value, "'"}) : " not set")});
}

// The newest of GCC's interfaces that a library says it has, as "GOMP_5.1" (GCC 12): every libgomp has the same file
// name.
std::string find_interface(const link_map& library) {
  const char* names = nullptr;
  ElfW(Addr) defined = 0;
  std::size_t count = 0;
  for (const auto* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERDEF) defined = entry->d_un.d_ptr;
    if (entry->d_tag == DT_VERDEFNUM) count = entry->d_un.d_val;
  }
  if (defined && defined < library.l_addr) defined += library.l_addr;  // glibc moves some entries, and not this one
  std::string newest;
  for (; names && defined && count > 0; --count) {
    const auto& definition = *reinterpret_cast<const ElfW(Verdef)*>(defined);
    const auto& first = *reinterpret_cast<const ElfW(Verdaux)*>(defined + definition.vd_aux);
    if (std::string name = names + first.vda_name; name.starts_with("GOMP_") && name[5] >= '0' && name[5] <= '9')
      newest = std::max(newest, name);
    defined += definition.vd_next;
  }
  return newest;
}

class OpenMpThreads final : public Crew {
 public:
  OpenMpThreads(std::size_t size, const std::vector<int>& cpus) : size_(size), cpus_(cpus), failures_(size) {
    omp_set_dynamic(0);
  }
  ~OpenMpThreads() override { OpenMpThreads::rest(); }

  void perform(Job job) override {
    std::size_t came = 0;
#pragma omp parallel num_threads(static_cast<int>(size_))
    {
      // A team that is too small would wait for its missing members, or leave their part undone.
      if (omp_get_num_threads() == static_cast<int>(size_))
        perform(job, static_cast<std::size_t>(omp_get_thread_num()));
#pragma omp single nowait
      came = static_cast<std::size_t>(omp_get_num_threads());
    }
    if (came != size_)
      throw CaseError(
          join({"the OpenMP runtime started only ", came, " of ", size_, " threads (", read_env("OMP_THREAD_LIMIT"),
                ", ", read_env("OMP_DYNAMIC"), "). Unset the variable that limits it"}));
    for (auto& f : failures_)
      if (f) std::rethrow_exception(std::exchange(f, nullptr));
  }
  // Who has nothing to do would spin at the end of the region, beside whom is measured: it sleeps instead.
  void one(std::size_t whose, Job job) override {
    std::atomic<bool> done{false};
    auto only = [&](Worker w) {
      if (w.index != whose) return done.wait(false, std::memory_order_acquire);
      Ends ends{done};
      job.call(job.object, w);
    };
    perform({&only, [](const void* object, Worker w) { (*static_cast<const decltype(only)*>(object))(w); }});
  }
  // The runtime's own meeting of all threads.
  void wait() override {
#pragma omp barrier
  }
  // Threads that wait actively would take the processors of whoever is measured next.
  void rest() override { omp_pause_resource(omp_pause_soft, omp_get_initial_device()); }

  std::string runtime() const override;

  void find_threads() {
    std::vector<pid_t> threads(size_);
    auto here = [&](Worker w) {
      require_own_processor(w.index);
      threads[w.index] = gettid();
    };
    perform({&here, [](const void* object, Worker w) { (*static_cast<const decltype(here)*>(object))(w); }});
    if (std::size_t different = std::set<pid_t>(threads.begin(), threads.end()).size(); different != size_)
      throw CaseError(join({"the OpenMP runtime has ", different, " threads for a team of ", size_}));
  }

 private:
  struct Ends {
    std::atomic<bool>& done;
    ~Ends() { done.store(true, std::memory_order_release), done.notify_all(); }
  };
  // Every member is a thread of its own, on the processor that it was meant for.
  void require_own_processor(std::size_t index) {
    ProcessorSet set = ProcessorSet::of_thread();
    if (cpus_.empty() || placed_on(set) == std::to_string(cpus_[index])) return;
    throw CaseError(join({"the OpenMP runtime placed thread ", index, " on processors ", placed_on(set), " instead of ",
                          cpus_[index], " (", read_env("OMP_PLACES"), ", ", read_env("OMP_PROC_BIND"), ")"}));
  }
  void perform(Job job, std::size_t index) {
    try {
      job.call(job.object, Worker{index, size_});
    } catch (...) {
      failures_[index] = std::current_exception();
    }
  }

  const std::size_t size_;
  const std::vector<int>& cpus_;
  std::vector<std::exception_ptr> failures_;
};

std::string OpenMpThreads::runtime() const {
  json::Object out, settings;
  Dl_info found{};
  link_map* library = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&omp_get_num_threads), &found, reinterpret_cast<void**>(&library),
              RTLD_DL_LINKMAP) &&
      found.dli_fname && library) {
    char* real = realpath(found.dli_fname, nullptr);
    std::string path = real ? real : found.dli_fname, name = path.substr(path.rfind('/') + 1);
    std::free(real);
    out.add("runtime", json::text(name.substr(0, name.find_first_of(".-"))))
        .add("library", json::text(path))
        .add("interface", json::text(find_interface(*library)));
  }
  out.add("specification", _OPENMP);
  for (char** each = environ; *each; ++each) {
    std::string word = *each;
    if (std::size_t sign = word.find('=');
        word.starts_with("OMP_") || word.starts_with("GOMP_") || word.starts_with("KMP_"))
      settings.add(word.substr(0, sign), json::text(word.substr(sign + 1)));
  }
  return out.add("settings", settings.str()).str();
}

// A case of OpenMP says so, and how threads wait: the runtime has read that before the program began.
void require_openmp(Params& params) {
  params.choice("model", thread_model().name, {thread_model().name});
  const char* found = std::getenv("OMP_WAIT_POLICY");
  std::string policy = params.choice("wait_policy", found ? found : "default", {"default", "active", "passive"});
  if (policy != (found ? found : "default"))
    throw CaseError(join({"parameter wait_policy='", policy,
                          "' differs from the environment in which the OpenMP runtime started: OMP_WAIT_POLICY is ",
                          (found ? join({"'", found, "'"}) : "not set")}));
}

}  // namespace

const ThreadModel& thread_model() {
  static const ThreadModel openmp{"openmp",
                                  [](std::size_t size, const std::vector<int>& cpus) -> std::unique_ptr<Crew> {
                                    auto crew = std::make_unique<OpenMpThreads>(size, cpus);
                                    crew->find_threads();
                                    return crew;
                                  },
                                  require_openmp};
  return openmp;
}

}  // namespace steelyard
