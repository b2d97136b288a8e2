// Package heap prepares the process's heap for many allocations that follow. It is for programs: a library
// must leave the heap to its host.
//
//	Expect(n) ─► n bytes from the system, in large pages if available ─► free and untouched
//	                                                                            │
//	following allocations use them ◄────────────────────────────────────────────┘
//
// The system assigns memory page by page, when a page is first written. For a long session that causes
// thousands of page faults, which take a quarter of the time of a resume. A large page needs one fault for 2
// MiB. Linux provides large pages on request (transparent_hugepage is madvise or always); on other systems
// Expect does nothing. If no large page is free, Linux moves other pages to create one (compact_stall in
// /proc/vmstat), which takes about as much time as it saves.
package heap

const (
	minExpected = 8 << 20   // less does not justify a collection
	maxExpected = 256 << 20 // the part beyond this uses small pages
)
