! The messages of endings.c's "known", in Fortran: with mpif.h, the module mpi, or mpi_f08.
program known
#ifdef F08
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
#ifdef F08
  type(MPI_Request) :: r(2)
#else
  integer :: r(2)
#endif
  character :: text(1024), out(5000), in(5000), sent(1200), taken(1200)
  double precision :: numbers(100)
  integer :: rank, ranks, left, right, i, a, b, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  text = ' '
  out = char(rank)
  sent = ' '
  numbers = 1
  a = rank
  call MPI_Bcast(text, 1024, MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
  call MPI_Irecv(in, 5000, MPI_CHARACTER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, r(1), error)
  call MPI_Isend(out, 5000, MPI_CHARACTER, right, 7, MPI_COMM_WORLD, r(2), error)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, error)
  if (ichar(in(1)) /= left) call MPI_Abort(MPI_COMM_WORLD, 4, error)
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (nint(numbers(100)) /= ranks) call MPI_Abort(MPI_COMM_WORLD, 5, error)
  call MPI_Alltoall(sent, 300, MPI_CHARACTER, taken, 300, MPI_CHARACTER, MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  do i = 1, 100
    call MPI_Sendrecv(a, 1, MPI_INTEGER, right, 1, b, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Bcast(a, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
