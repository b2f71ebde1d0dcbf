/* Runs HPCC's own STREAM alone, since HPCC itself runs minutes of other tests before it.
 *
 *     hpcc_stream ELEMENTS REPORT    appends HPCC's own report to the file REPORT; exit code 1 where its check fails
 *
 * Only HPCC's interface (include/hpcc.h) is used: it asks HPCC_LocalVectorSize for the length of a vector.
 */
#include <errno.h>
#include <hpcc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int elements;

int HPCC_LocalVectorSize(HPCC_Params* params, int vectors, size_t size, int power_of_two) {
  (void)params, (void)vectors, (void)size, (void)power_of_two;
  return elements;
}

static int parse(const char* text) {
  char* end;
  errno = 0;
  long value = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && value > 0 && value <= INT_MAX ? (int)value : 0;
}

int main(int argc, char** argv) {
  static HPCC_Params params;
  elements = argc == 3 ? parse(argv[1]) : 0;
  if (elements == 0 || strlen(argv[2]) >= sizeof params.outFname) {
    fprintf(stderr, "usage: hpcc_stream ELEMENTS REPORT (1 to %d elements, a path below %zu bytes)\n", INT_MAX,
            sizeof params.outFname);
    return 2;
  }
  strcpy(params.outFname, argv[2]);
  MPI_Init(&argc, &argv);
  double copy = 0, scale = 0, add = 0, triad = 0; /* GB/s */
  int failure = 0;
  int problem = HPCC_Stream(&params, 1, MPI_COMM_WORLD, 0, &copy, &scale, &add, &triad, &failure);
  MPI_Finalize();
  if (problem || failure) fprintf(stderr, "HPCC_Stream returned %d, failure %d\n", problem, failure);
  return problem || failure ? 1 : 0;
}
