// Package spawn starts a small program many times, in one way after another, and reports how long each start
// took, from before the start to after the end of the program.
//
//	bench ── Ask{Way, Argv, Times, Workers} ──► Serve: prepare the way once,
//	      ◄── Answer{Took, Wall} ──────────────        start Times times
//
// It runs in a small separate process, so that the conditions are the same for every way: neither the size nor
// the activity of the benchmark program matters. Started with [Refused], it measures the ways that work where
// namespaces are refused.
//
// It does not choose what to compare; the benchmark program does.
package spawn
