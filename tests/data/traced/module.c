// A program that loads its MPI late, as a module of Python's does: built with MODULE it is the module.
#ifdef MODULE
#include <mpi.h>
int go(void) {
  MPI_Init(0, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
#else
#include <dlfcn.h>
int main(int count, char** words) {
  void* module = dlopen(words[count - 1], RTLD_NOW);
  int (*go)(void) = module ? (int (*)(void))dlsym(module, "go") : 0;
  return go ? go() : 9;
}
#endif
