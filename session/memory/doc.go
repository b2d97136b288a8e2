// Package memory stores sessions in memory, for tests, demos and short-lived agents.
//
//	sessions := session.New(memory.New(), nil)
//
// It is the reference implementation of [session.Store]; package sessiontest checks the other
// stores against the same contract. Nothing is written to disk.
package memory
