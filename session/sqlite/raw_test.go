package sqlite_test

import (
	"database/sql"
	"fmt"
	"testing"

	_ "modernc.org/sqlite"
)

// raw runs SQL on a file behind the store's back and returns the first value of
// the first row, if there is one.
func raw(t testing.TB, path, query string, args ...any) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var v any
	if rows.Next() {
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
