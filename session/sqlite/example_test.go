package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	store, err := sqlite.Open(filepath.Join(dir, "sessions.db"), nil)
	if err != nil {
		fmt.Println(err, "hint:", session.Hint(err))
		return
	}
	defer store.Close()

	page, err := store.List(context.Background(), session.Query{Limit: 50})
	fmt.Println(len(page.Sessions), "sessions", err)
	// Output: 0 sessions <nil>
}
