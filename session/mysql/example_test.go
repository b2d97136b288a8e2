package mysql_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
)

// Servers that cannot be reached, and URLs that name none, are told with what to do.
func ExampleOpen() {
	store, err := mysql.Open(context.Background(), "mysql://holdfast:secret@db.example", nil)
	if err != nil {
		fmt.Println(err)
		fmt.Println("hint:", session.Hint(err))
		return
	}
	defer store.Close()

	sessions := session.New(store, nil)
	page, err := sessions.List(context.Background(), session.Query{Limit: 50})
	fmt.Println(len(page.Sessions), "sessions", err)
	// Output:
	// open store: invalid argument: invalid URL: it has no database; want mysql://user:password@host:port/database
	// hint: write it as mysql://user:password@host:3306/database
}
