"""The kinds of records of a trace of ours, and how a request ended, by their numbers."""

SEND, ISEND, RECEIVE, IRECEIVE, EXCHANGE, COMPLETE, PROBE = 2, 3, 4, 5, 6, 7, 8
CALL, COLLECTIVE, ICOLLECTIVE, VECTORS, IVECTORS = 1, 9, 10, 11, 12
COMMUNICATOR, RELEASED, WINDOW, FENCE, PUT, GET = 13, 14, 15, 16, 17, 18
POLLED, PREEMPTED, TOOL, FINALIZE, ABORT, REGION = 19, 20, 21, 22, 23, 24
ANY, NOBODY = -1, -2
PLAIN, RECEIVED, CANCELLED = 0, 1, 2  # how a request ended

# OTF2 has no events for these: attributes and a parameter of the archives that earlier versions of Steelyard wrote.
BYTES, WAITED, LEVEL = "steelyard.bytes", "steelyard.waited", "MPI_Pcontrol"
