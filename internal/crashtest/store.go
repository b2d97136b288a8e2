package crashtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/mysql"
	"github.com/holdfast-dev/holdfast/session/object"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/redis"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// Stores lists the kinds of stores that [OpenStore] opens in a folder, and Servers the kinds that
// it opens at a URL.
var (
	Stores  = []string{"sqlite", "file"}
	Servers = []string{"postgres", "mysql", "redis", "s3"}
)

// OpenStore opens a store of a kind in a folder, which it creates if necessary, or at a
// server's URL. The caller closes it with [CloseStore].
func OpenStore(kind, dir string) (session.Store, error) {
	ctx := context.Background()
	switch kind {
	case "postgres":
		return postgres.Open(ctx, dir, nil)
	case "mysql":
		return mysql.Open(ctx, dir, nil)
	case "redis":
		return redis.Open(ctx, dir, nil)
	case "s3":
		return object.Open(ctx, dir, nil)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	switch kind {
	case "sqlite":
		return sqlite.Open(filepath.Join(dir, "sessions.db"), nil)
	case "file":
		return file.Open(filepath.Join(dir, "sessions"), nil)
	}
	return nil, fmt.Errorf("crashtest: no store %q", kind)
}

// CloseStore closes a store that has a Close method.
func CloseStore(s session.Store) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// reportingAppends reports every append that the inner store acknowledged.
type reportingAppends struct {
	session.Store

	report *Reporter
	early  bool // report before the append is done: this is the control of the kill trials
}

func (a reportingAppends) Unwrap() session.Store { return a.Store }

func (a reportingAppends) Append(ctx context.Context, id string, b session.Batch) error {
	if a.early {
		a.report.Acked(id, b.Records)
	}
	err := a.Store.Append(ctx, id, b)
	if err == nil && !a.early {
		a.report.Acked(id, b.Records)
	}
	return err
}
