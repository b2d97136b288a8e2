// Package rows implements the parts shared by the SQL stores: the columns
// of a session, how a batch changes them, and the methods that differ only by the dialect.
//
//	session.Batch ──► Check ──► Dialect.Advance ──► UPDATE sessions SET …
//	session.Query ────────────► Dialect.List ─────► SELECT … WHERE … ORDER BY …
//	session.Meta  ◄── Scan ◄──────────────────────── the rows found
//
//	Tables (Acquire, Renew, Release, Held, List, PutMeta, Delete, Erase)
//	   │ Database.Read, Write, Transact
//	   ▼
//	Tx (Exec, Query) ──► the driver, with the words of the Dialect
//
// Statements are written with ? for a parameter; a [Dialect] says what the database
// wants instead. The package imports no driver: how a connection is made, which errors are
// tried again and how an append is sent is up to each store.
//
// Parameters are int64, string, []byte or nil; the dialect says how a string is sent.
package rows
