//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// backend is a kind of store and its engine.
type backend struct {
	name    string
	control string // name of the bare way in the table; empty if there is none
	service string // the server in scripts/services; empty if the backend needs none
	place   func(ctx context.Context, dir string) (*place, error)
}

// place is the location of a backend's store and of a bare store with the same engine.
type place struct {
	open   func(context.Context) (session.Store, error)
	bare   func(context.Context) (bareWay, error)
	size   func(context.Context) (int64, error) // bytes on disk while the store is closed
	remove func(context.Context) error
}

// bareWay is the minimal way to make some bytes durable in an engine. Writers, numbered from 0, may
// append concurrently.
type bareWay interface {
	append(ctx context.Context, writer int, p []byte) error
	Close() error
}

const (
	writers = 64 // concurrent writers, each with its own session
	conns   = 16 // default number of connections of a store to a database; the bare way opens as many
)

var backends = []backend{
	{"memory", "", "", memoryPlace},
	{"file", "write + fdatasync", "", filePlace},
	{"SQLite", "modernc INSERT", "", sqlitePlace},
	{"PostgreSQL", "pgx INSERT", "postgres", postgresPlace},
	{"MySQL", "prepared INSERT", "mysql", mysqlPlace},
	{"Redis", "RPUSH", "redis", redisPlace},
	{"S3", "PutObject If-None-Match", "s3", s3Place},
}

// server returns the URL of a backend's server, or "" if there is none.
func (be *backend) server() string {
	if be.service == "" {
		return ""
	}
	return os.Getenv("HOLDFAST_TEST_" + strings.ToUpper(be.service))
}

// availableBackends returns the backends that can be measured. It reports the unavailable backends
// once.
func (b *bench) availableBackends() []backend {
	var found []backend
	var names, services []string
	for _, be := range backends {
		if be.service == "" || be.server() != "" {
			found = append(found, be)
			continue
		}
		names, services = append(names, be.name), append(services, be.service)
	}
	if len(names) > 0 && !b.reportedMissing {
		b.reportedMissing = true
		fmt.Fprintf(os.Stderr, "not measured: %s; to measure them: eval \"$(scripts/services start %s)\"\n",
			strings.Join(names, ", "), strings.Join(services, " "))
		for _, n := range names {
			b.add("all of "+n, "left out: no server", "", "", "")
		}
	}
	return found
}

// withPlace creates a place for f and removes it afterwards.
func (b *bench) withPlace(ctx context.Context, be backend, f func(*place) error) (err error) {
	dir, err := os.MkdirTemp(b.dir, "store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := be.place(ctx, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", be.name, err)
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if err := f(p); err != nil {
		return fmt.Errorf("%s: %w", be.name, err)
	}
	return nil
}

func removeNothing(context.Context) error { return nil }

func memoryPlace(context.Context, string) (*place, error) {
	return &place{open: func(context.Context) (session.Store, error) { return memory.New(), nil }, remove: removeNothing}, nil
}

func filePlace(_ context.Context, dir string) (*place, error) {
	at := filepath.Join(dir, "files")
	return &place{
		open:   func(context.Context) (session.Store, error) { return file.Open(at, nil) },
		bare:   func(context.Context) (bareWay, error) { return newBareFiles(dir) },
		size:   func(context.Context) (int64, error) { return diskUse(at) },
		remove: removeNothing,
	}, nil
}

func sqlitePlace(_ context.Context, dir string) (*place, error) {
	at := filepath.Join(dir, "store")
	return &place{
		open: func(context.Context) (session.Store, error) {
			if err := os.MkdirAll(at, 0o700); err != nil {
				return nil, err
			}
			return sqlite.Open(filepath.Join(at, "sessions.db"), nil)
		},
		bare:   func(ctx context.Context) (bareWay, error) { return newBareSQLite(ctx, filepath.Join(dir, "bare.db")) },
		size:   func(context.Context) (int64, error) { return diskUse(at) },
		remove: removeNothing,
	}, nil
}

// diskUse returns the disk space that a folder's files and subfolders take.
func diskUse(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += info.Sys().(*syscall.Stat_t).Blocks * 512
		return nil
	})
	return sum, err
}

// serverURL parses the URL of a service's server. Its errors do not contain the URL.
func serverURL(service string) (*url.URL, error) {
	name := "HOLDFAST_TEST_" + strings.ToUpper(service)
	u, err := url.Parse(os.Getenv(name))
	if err != nil || u.Host == "" {
		return nil, errors.New(name + " is no URL of a server")
	}
	return u, nil
}

// withParams returns a URL with parameters set.
func withParams(u *url.URL, pairs ...string) string {
	c, q := *u, u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	c.RawQuery = q.Encode()
	return c.String()
}

// unusedName returns a name that nothing else on a server uses.
func unusedName() string { return "holdfast_bench_" + strings.ToLower(rand.Text()) }
