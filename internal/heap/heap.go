// Package heap prepares the process's heap for much that is about to be allocated. It is for
// programs: a library leaves the heap to its host.
//
//	Expect(n) ─► n bytes from the system, in large pages where it has them ─► free, and untouched
//	                                                                            │
//	what is allocated next ◄────────────────────────────────────────────────────┘
//
// The system gives a program its memory page by page, as it is first written. For a long
// session that is thousands of faults, a quarter of the time that a resume takes. A large page is one
// fault for 2 MiB. Linux gives large pages to those who ask (transparent_hugepage is madvise or
// always); elsewhere Expect does nothing. Where no large page is free, Linux moves others to make
// room for one (compact_stall in /proc/vmstat), which takes about as long as is gained.
package heap

const (
	least = 8 << 20   // less is not worth a collection
	most  = 256 << 20 // what is beyond it comes in small pages
)
