// Package confine implements `holdfast sandbox exec`: it runs a command in the sandbox and ends
// with the command's exit code or signal.
//
//	flags ─┐
//	settings of the layers ─┴─► sandbox.Open ─► Command ─ streams and signals pass ─► status
//	                                                └ Report ─► standard error, --json-report
//
// It is separate from package cli because it must start fast: it needs no model, store or parser of
// command lines, so package confine/first can run it before those are initialized. Package cli
// writes the messages about invalid command lines.
package confine
