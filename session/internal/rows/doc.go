// Package rows is what the stores that keep sessions in tables have in common: which
// columns a session has, how a batch changes them, and how a list is asked for.
//
//	session.Batch ──► Check ──► Dialect.Advance ──► UPDATE sessions SET …
//	session.Query ────────────► Dialect.List ─────► SELECT … WHERE … ORDER BY …
//	session.Meta  ◄── Scan ◄──────────────────────── the rows found
//
// Statements are written with ? for a parameter; a [Dialect] says what the database
// wants instead. The package talks to no database: which driver runs a statement, in
// which transaction, and how a refusal is told from a fault, is each store's own.
//
// All values handed over are int64, string, []byte or nil; how a string goes over is
// up to the dialect.
package rows
