// Package spawn starts a small program over and over, in one way after another,
// and says how long each start took, from before it to after the end of the program.
//
//	bench ── Ask{Way, Argv, Times, Workers} ──► Serve: prepare the way once,
//	      ◄── Answer{Took, Wall} ──────────────        start Times times
//
// It runs in a small process of its own, so that what is measured is the same for
// every way: neither the size of the program that asks nor what it does meanwhile
// matters. Started as [Refused] says, it measures what is left where namespaces are
// refused.
//
// It does not decide what is compared with what: that is the asking program's part.
package spawn
