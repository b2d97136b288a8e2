// Package memory keeps sessions in memory: for tests, demos and agents whose
// sessions need not outlive the process.
//
//	sessions := session.New(memory.New(), nil)
//
// It is the reference for what a [session.Store] does; package sessiontest
// checks the others against the same contract. Nothing is written to disk.
package memory
