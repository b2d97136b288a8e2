// Package sqlite stores sessions in one SQLite file. It is the default store.
//
//	store, err := sqlite.Open(path, nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// The file needs no server and no C compiler, any number of processes may have it open, and
// "sqlite3 sessions.db" reads it. It has four tables:
//
//	sessions (one row per session)              records (one row per record)
//	┌──────────────────────────────┐            ┌──────────────────────────────┐
//	│ num    INTEGER PRIMARY KEY   │─────┐      │ row  INTEGER PRIMARY KEY     │
//	│ id     TEXT UNIQUE           │     └─────▶│ key  UNIQUE = num<<32 | seq  │
//	│ head, head_digest            │            │ id, time_ms, kind            │
//	│ updated_ms, created_ms,      │            │ chain = prev ‖ body ‖ digest │
//	│ messages, size, model, title,│            │ payload (NULL when erased)   │
//	│ …the rest of session.Meta    │            └──────────────────────────────┘
//	│ parent, parent_seq           │──▶ id of the session it was forked from
//	│ deleted                      │
//	└──────────────────────────────┘            epochs (one row)
//	leases (one row per session held)           ┌──────────────────────────────┐
//	┌──────────────────────────────┐            │ last  the last epoch used    │
//	│ id, epoch, lease (JSON)      │            └──────────────────────────────┘
//	└──────────────────────────────┘
//
// Records are stored in the order of arrival, all sessions together, so that writers of many
// sessions fill the same pages; the key index orders the records of one session by seq. The cost of
// an append therefore does not depend on the size of the store. To read a tail, a page or a whole
// log, one range of one index is read.
//
// The file is in WAL mode with synchronous=FULL, so records that Append has acknowledged survive a
// power cut. A single writer commits at once in its own goroutine; writers that arrive during a
// commit share the next transaction. If a batch fails, for example with a conflict, the other
// batches in its transaction are not affected. Reading never waits for a writer. On Linux the
// journal is written by a VFS of this package: a commit is one write, and the file is extended in
// advance, so that a sync need not wait for its inode.
//
// The package is not a cache and not a query engine: the meaning of records is defined by package
// session. The format is described in docs/formats/sqlite.md.
package sqlite
