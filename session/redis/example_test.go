package redis_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
)

// What a store cannot promise, or does not know, it refuses to begin with.
func ExampleOpen() {
	store, err := redis.Open(context.Background(), "redis://127.0.0.1:6379?durability=maybe", nil)
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
	// open store: invalid argument: redis://127.0.0.1:6379: invalid durability: want always, wait, everysec or none
	// hint: the parameters are prefix, durability, rewrite; db with unix:
}
