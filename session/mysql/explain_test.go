package mysql_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session/mysql"
)

// The tail of a big session is the end of one range of the primary key.
func TestTailUsesTheKey(t *testing.T) {
	text := database(t)
	open(t, text, nil)
	db := rawOf(t, text)
	run(t, db, `INSERT INTO records (num, seq, id, time_ms, kind, chain, payload)
  SELECT 1 + seq % 3, seq, 'r', 0, 'item', REPEAT('c', 96), REPEAT('p', 200) FROM seq_1_to_20000`)
	run(t, db, "ANALYZE TABLE records")
	plan := explain(t, db, mysql.RecordsDown, 2, 0, 20000, 50)
	if plan["key"] != "PRIMARY" || plan["type"] != "range" || strings.Contains(plan["Extra"], "filesort") {
		t.Errorf("%v", plan)
	}
}

// explain returns the one row of a plan.
func explain(t *testing.T, db *sql.DB, query string, args ...any) map[string]string {
	t.Helper()
	found, err := db.Query("EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	plan := map[string]string{}
	for found.Next() {
		if len(plan) > 0 {
			t.Fatal("more than one step")
		}
		if err := found.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			plan[name] = values[i].String
		}
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
