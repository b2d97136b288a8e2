//go:build !holdfast_minimal

package stores

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
	"github.com/holdfast-dev/holdfast/session/object"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/redis"
)

// openServer opens a store on a server. A build with the tag holdfast_minimal contains no such
// stores.
func openServer(ctx context.Context, ref Ref, waits bool) (session.Store, error) {
	switch ref.Scheme {
	case "postgres":
		o := &postgres.Options{}
		if waits {
			o.Patience = time.Second
		}
		return asStore(postgres.Open(ctx, ref.URL, o))
	case "mysql":
		return asStore(mysql.Open(ctx, ref.URL, nil))
	case "redis", "rediss":
		return asStore(redis.Open(ctx, ref.URL, nil))
	case "s3":
		return asStore(object.Open(ctx, ref.URL, nil))
	}
	return nil, noStore(ref.Name)
}
