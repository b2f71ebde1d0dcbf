// The application's MPI behind the tracer: what is called there, and how the calls of its Fortran library come here.
#pragma once
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
// All else of this library stays hidden; not every MPI says that its functions are to be found.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace steelyard::trace {

// Makes an MPI visible to all libraries if it was loaded for one module only (as in Python).
inline int make_known(dl_phdr_info* object, std::size_t, void* found) {
  if (!std::strstr(object->dlpi_name, "/libmpi.so")) return 0;
  *static_cast<void**>(found) = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  return 1;
}

inline void* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  void* library = nullptr;
  if (!found && dl_iterate_phdr(make_known, &library) && library) found = dlsym(library, name);
  if (found) return found;
  std::fprintf(stderr,
               "steelyard: the MPI of this program has no %s: it is not the MPI that the tracer was compiled for\n",
               name);
  std::abort();
}

}  // namespace steelyard::trace

// MPI's own function, looked for once.
#define REAL(NAME)                                                                                                     \
  ([] {                                                                                                                \
    static decltype(&PMPI_##NAME) found;                                                                               \
    if (__builtin_expect(!found, 0)) found = reinterpret_cast<decltype(found)>(steelyard::trace::next("PMPI_" #NAME)); \
    return found;                                                                                                      \
  }())
// Bindings of Fortran (mpif.h, mpi, mpi_f08) convert what they are given and call PMPI's functions of C, not MPI's. So
// these are wrapped as well; who calls one from within the other is recorded once.
#define ALSO(NAME) decltype(PMPI_##NAME) PMPI_##NAME __attribute__((alias("MPI_" #NAME)))
