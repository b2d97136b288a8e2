package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

func ExampleOpen() {
	_, err := postgres.Open(context.Background(), "postgres://user@host/database?durability=perhaps", nil)
	fmt.Println(err)
	fmt.Println("hint:", session.Hint(err))
	// Output:
	// open store: invalid argument: durability is strict or relaxed, not "perhaps"
	// hint: postgres://user:password@host:5432/database?schema=holdfast
}

func Example() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	if err != nil {
		fmt.Println(err, "hint:", session.Hint(err))
		return
	}
	defer store.Close()

	page, err := store.List(ctx, session.Query{Limit: 50})
	fmt.Println(len(page.Sessions), "sessions", err)
}
