package postgres_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

func ExampleOpen() {
	_, err := postgres.Open(context.Background(), "postgres://user@host/database?durability=perhaps", nil)
	fmt.Println(err)
	fmt.Println("hint:", session.Hint(err))
	// Output:
	// open store: invalid argument: durability=perhaps: want strict or relaxed
	// hint: postgres://user:password@host:5432/database?schema=holdfast
}
