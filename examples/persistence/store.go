package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	_ "modernc.org/sqlite"

	"github.com/holdfast-dev/holdfast/transcript"
)

const schema = `
CREATE TABLE IF NOT EXISTS sessions (
	id TEXT PRIMARY KEY,
	created_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS items (
	session_id TEXT NOT NULL,
	seq INTEGER NOT NULL,
	json TEXT NOT NULL,
	PRIMARY KEY (session_id, seq),
	FOREIGN KEY (session_id) REFERENCES sessions(id)
);`

// Store stores transcripts in two tables of a SQLite database.
type Store struct{ db *sql.DB }

// NewStore opens the database at path and creates it if necessary. The caller closes
// the store.
func NewStore(ctx context.Context, path string) (*Store, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{db}, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Load returns a session's items in transcript order; none for a session that does not exist.
func (s *Store) Load(ctx context.Context, session string) ([]transcript.Item, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT json FROM items WHERE session_id = ? ORDER BY seq`, session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []transcript.Item
	for rows.Next() {
		var text []byte
		var it transcript.Item
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &it); err != nil {
			return nil, fmt.Errorf("item %d of session %s: %w", len(items)+1, session, err)
		}
		items = append(items, it)
	}
	return items, rows.Err()
}

// Append adds an item at the end.
func (s *Store) Append(ctx context.Context, session string, item transcript.Encoded) error {
	return s.inTransaction(ctx, session, func(tx *sql.Tx) error { return add(ctx, tx, session, item) })
}

// Replace replaces all items of a session.
func (s *Store) Replace(ctx context.Context, session string, items []transcript.Encoded) error {
	return s.inTransaction(ctx, session, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM items WHERE session_id = ?`, session); err != nil {
			return err
		}
		for _, it := range items {
			if err := add(ctx, tx, session, it); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) inTransaction(ctx context.Context, session string, change func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, created_at) VALUES (?, unixepoch()) ON CONFLICT DO NOTHING`, session)
	if err == nil {
		err = change(tx)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func add(ctx context.Context, tx *sql.Tx, session string, item transcript.Encoded) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO items (session_id, seq, json)
		SELECT ?1, coalesce(max(seq), 0) + 1, ?2 FROM items WHERE session_id = ?1`, session, string(item.JSON))
	return err
}
