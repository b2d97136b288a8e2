// Package confine is `holdfast sandbox exec`: it runs a command in the sandbox and
// ends as the command does.
//
//	flags ─┐
//	settings of the layers ─┴─► sandbox.Open ─► Command ─ streams and signals pass ─► status
//	                                                └ Report ─► standard error, --json-report
//
// It is apart from package cli because it must start fast: it needs no model, store
// or parser of command lines, so package first can run it before those have
// started. Words about a command line that makes no sense are package cli's.
package confine
