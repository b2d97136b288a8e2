// Package mysql stores sessions in a MySQL or MariaDB database.
//
//	store, err := mysql.Open(ctx, "mysql://holdfast:secret@db.example:3306/sessions?tls=true", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// The database must not contain other tables; Open creates the tables:
//
//	sessions (one row per session)              records (one row per record)
//	┌──────────────────────────────┐            ┌──────────────────────────────┐
//	│ num     PRIMARY KEY          │───────────▶│ num, seq   PRIMARY KEY       │
//	│ id      UNIQUE, bytes        │            │ id, time_ms, kind            │
//	│ epoch   of the lease, or 0   │            │ chain = prev ‖ body ‖ digest │
//	│ head, head_digest, …the rest │            │ payload (NULL when erased)   │
//	│ of session.Meta              │            └──────────────────────────────┘
//	└──────────────────────────────┘
//	leases (one row per session held)           epochs (the last one used), holdfast (the version)
//
// An append is one round trip and one transaction: an UPDATE that compares the head and the epoch
// in the session's row and changes the meta, and an INSERT of the records. A batch of one record is
// one call of the procedure append_record_1. Other batches are sent as one text of several
// statements. InnoDB's log is synced before the server answers; a server with other settings is
// rejected.
//
// After a lost connection the batch is sent again on a new one: if its records are already stored,
// the retry succeeds without storing them twice. Deadlocks are retried. All text is stored and
// compared as bytes.
//
// The package is not a cache and does not interpret records. The tables are described in
// docs/formats/mysql.md.
package mysql
