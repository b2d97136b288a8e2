// Package postgres keeps sessions in a PostgreSQL database, for teams whose agents run
// on several machines.
//
//	store, err := postgres.Open(ctx, "postgres://user:password@host/database", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// It has a schema of its own in the database, "holdfast" when the URL names no other:
//
//	sessions (one row per session)              records (one row per record)
//	┌──────────────────────────────┐            ┌──────────────────────────────┐
//	│ num    identity              │───────────▶│ num, seq   PRIMARY KEY       │
//	│ id     UNIQUE                │            │ id, time_ms, kind            │
//	│ epoch  of the lease, or 0    │            │ chain = prev ‖ body ‖ digest │
//	│ head, …the rest of a Meta    │            │ payload (NULL when erased)   │
//	└──────────────────────────────┘            └──────────────────────────────┘
//	leases (one row per session held)           search, indexed (what is searched)
//
// An append is one statement and one round trip: it compares head and epoch on the
// session's row, changes it and inserts the records. It returns when the server has the
// commit on disk: synchronous_commit is set for the store's connections whatever the
// server's default is. Many appends at once share the server's flushes.
//
// A connection that is lost is made again. What was under way is tried again: an append
// that had arrived is recognised by its digests. Watching listens on one more
// connection; every store tells of its appends there, behind them. Search has an index
// of words, brought up to date by Index.
//
// The package is no pool to share and no migration tool. The layout and what a server
// must be set to are described in docs/formats/postgres.md.
package postgres
