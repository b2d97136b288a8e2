// Package postgres stores sessions in a PostgreSQL database, for teams whose agents run
// on several machines.
//
//	store, err := postgres.Open(ctx, "postgres://user:password@host/database", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// It uses its own schema in the database, by default "holdfast":
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
// server's default is. Concurrent appends share the server's flushes.
//
// A lost connection is reopened and the operation is retried: an append that reached the server
// before is recognized by its digests. For watching, the store listens on one more connection;
// every store sends a notification after an append. Search has an index of words, brought up to
// date by Index.
//
// The package is not a shared connection pool and not a migration tool. The tables and the
// required server settings are described in docs/formats/postgres.md.
package postgres
