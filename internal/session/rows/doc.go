// Package rows implements the parts shared by the SQL stores: the columns of a session, how a batch
// changes them, and the methods that differ only by the dialect.
//
//	session.Batch ──► Check ──► Dialect.Advance ──► UPDATE sessions SET …
//	session.Query ────────────► Dialect.List ─────► SELECT … WHERE … ORDER BY …
//	session.Meta  ◄── Scan ◄──────────────────────── the rows found
//
//	Tables (Acquire, Renew, Release, Held, List, PutMeta, Delete, Erase)
//	   │ Database.Read, Write, Transact
//	   ▼
//	Tx (Exec, Query) ──► the driver, in the SQL of the Dialect
//
// Statements are written with ? for a parameter, which a [Dialect] converts to the form that the
// database needs. The package imports no driver. Each store decides how to connect, which errors to
// retry and how to send an append.
//
// Parameters are int64, string, []byte or nil; the dialect defines how a string is sent.
package rows
