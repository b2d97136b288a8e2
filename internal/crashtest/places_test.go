//go:build unix

package crashtest

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/internal/s3"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// place is where a store is.
type place struct{ store, dir string }

// places are the stores that processes can share: those on this disk, and each server
// that the environment names.
func places(t *testing.T) []place {
	t.Helper()
	var out []place
	for _, kind := range Stores {
		out = append(out, place{kind, t.TempDir()})
	}
	for _, kind := range Servers {
		if os.Getenv(serverOf(kind)) != "" {
			out = append(out, place{kind, newPlace(t, kind)})
		}
	}
	return out
}

// serverOf is the variable that names the server of a kind.
func serverOf(kind string) string { return "HOLDFAST_TEST_" + strings.ToUpper(kind) }

// newPlace is the URL of a store of its own on the server of a kind. What is in it goes with
// the test.
func newPlace(t *testing.T, kind string) string {
	t.Helper()
	at := os.Getenv(serverOf(kind))
	if at == "" {
		testneed.Need(t, `%s names no server: eval "$(scripts/services start %s)"`, serverOf(kind), kind)
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower("holdfast_crash_" + crand.Text())
	var remove func(context.Context, *url.URL, string) error
	q := u.Query()
	switch kind {
	case "postgres":
		remove = dropSchema
		q.Set("schema", name)
	case "redis":
		remove = unlinkKeys
		q.Set("prefix", name+":")
	case "s3":
		remove = removeObjects
		u.Path = "/" + name
	case "mysql":
		remove = dropDatabase
		newDatabase(t, u, name)
		u.Path = "/" + name
	}
	u.RawQuery = q.Encode()
	server := *u
	t.Cleanup(func() {
		if err := remove(context.Background(), &server, name); err != nil {
			t.Errorf("removing what the test left: %v", err)
		}
	})
	return u.String()
}

func dropSchema(ctx context.Context, u *url.URL, name string) error {
	plain := *u
	plain.RawQuery = ""
	c, err := pgx.Connect(ctx, plain.String())
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "DROP SCHEMA IF EXISTS "+name+" CASCADE")
	return errors.Join(err, c.Close(ctx))
}

func unlinkKeys(ctx context.Context, u *url.URL, name string) error {
	password, _ := u.User.Password()
	c := redis.New(redis.Options{Addr: u.Host, User: u.User.Username(), Password: password, Dial: 10 * time.Second, Timeout: time.Minute})
	found, err := c.Do(ctx, "KEYS", "{"+name+":}*")
	if keys, _ := found.([]any); len(keys) > 0 {
		_, err = c.Do(ctx, append([]any{"UNLINK"}, keys...)...)
	}
	return errors.Join(err, c.Close())
}

func removeObjects(ctx context.Context, u *url.URL, name string) error {
	end, err := url.Parse(u.Query().Get("endpoint"))
	if err != nil {
		return err
	}
	secret, _ := u.User.Password()
	c, err := s3.New(s3.Options{
		Bucket: u.Host, Endpoint: end.String(), Keys: credentials.Static(sigv4.Keys{ID: u.User.Username(), Secret: secret}),
	})
	if err != nil {
		return err
	}
	var failed error
	for o, err := range c.List(ctx, name+"/", "") {
		if err != nil {
			return err
		}
		failed = errors.Join(failed, c.Delete(ctx, o.Key))
	}
	return failed
}

func newDatabase(t *testing.T, u *url.URL, name string) {
	t.Helper()
	if err := inMySQL(u, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
}

func dropDatabase(_ context.Context, u *url.URL, name string) error {
	return inMySQL(u, "DROP DATABASE "+name)
}

func inMySQL(u *url.URL, statement string) error {
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)/", u.User, u.Host))
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}
