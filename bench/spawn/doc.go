// Package spawn starts a small program many times, in one way after another, and reports how long
// each start took. The time is measured from before the start until the program has ended.
//
//	bench ── Ask{Way, Argv, Times, Workers} ──► Serve: prepare the way once,
//	      ◄── Answer{Took, Wall} ──────────────        start Times times
//
// It runs in a small separate process, so that the conditions are the same for every way: neither
// the size nor the activity of the benchmark program matters. A process that was started with
// [Refused] measures the ways that work when the kernel refuses namespaces.
//
// It does not choose what to compare; the benchmark program does.
package spawn
