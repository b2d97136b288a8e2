//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	goredis "github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
	"github.com/holdfast-dev/holdfast/session/object"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/redis"
)

// postgresPlace creates a schema for the store and one for the bare table.
func postgresPlace(ctx context.Context, _ string) (*place, error) {
	u, err := serverURL("postgres")
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, withParams(u, "pool_max_conns", fmt.Sprint(conns)))
	if err != nil {
		return nil, err
	}
	name := unusedName()
	at := withParams(u, "schema", name, "pool_max_conns", fmt.Sprint(conns))
	return &place{
		open: func(ctx context.Context) (session.Store, error) { return postgres.Open(ctx, at, nil) },
		bare: func(ctx context.Context) (bareWay, error) {
			_, err := pool.Exec(ctx, fmt.Sprintf("CREATE SCHEMA %[1]s_bare; CREATE TABLE %[1]s_bare.bare (n bigserial PRIMARY KEY, payload bytea)", name))
			return &barePostgres{pool, fmt.Sprintf("INSERT INTO %s_bare.bare (payload) VALUES ($1)", name)}, err
		},
		size: func(ctx context.Context) (n int64, err error) {
			err = pool.QueryRow(ctx, `SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
				WHERE relkind = 'r' AND relnamespace = $1::regnamespace`, name).Scan(&n)
			return n, err
		},
		remove: func(ctx context.Context) error {
			defer pool.Close()
			_, err := pool.Exec(ctx, fmt.Sprintf("DROP SCHEMA IF EXISTS %[1]s CASCADE; DROP SCHEMA IF EXISTS %[1]s_bare CASCADE", name))
			return err
		},
	}, nil
}

type barePostgres struct {
	pool *pgxpool.Pool // closed by the place
	sql  string
}

func (b *barePostgres) append(ctx context.Context, _ int, p []byte) error {
	_, err := b.pool.Exec(ctx, b.sql, p)
	return err
}

func (b *barePostgres) Close() error { return nil }

// mysqlPlace creates a database for the store and one for the bare table.
func mysqlPlace(ctx context.Context, _ string) (*place, error) {
	u, err := serverURL("mysql")
	if err != nil {
		return nil, err
	}
	name := unusedName()
	c := mysqldriver.NewConfig()
	c.User, c.Net, c.Addr = u.User.Username(), "tcp", u.Host
	c.Passwd, _ = u.User.Password()
	connector, err := mysqldriver.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	remove := func(ctx context.Context) error {
		_, err1 := db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name)
		_, err2 := db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name+"_bare")
		return errors.Join(err1, err2, db.Close())
	}
	for _, s := range []string{
		"CREATE DATABASE " + name, "CREATE DATABASE " + name + "_bare",
		"CREATE TABLE " + name + "_bare.bare (n BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, payload LONGBLOB) ENGINE=InnoDB",
	} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return nil, errors.Join(err, remove(ctx))
		}
	}
	at := *u
	at.Path = "/" + name
	return &place{
		open: func(ctx context.Context) (session.Store, error) {
			return mysql.Open(ctx, withParams(&at, "conns", fmt.Sprint(conns)), nil)
		},
		bare: func(ctx context.Context) (bareWay, error) {
			insert, err := db.PrepareContext(ctx, "INSERT INTO "+name+"_bare.bare (payload) VALUES (?)")
			return &bareMySQL{insert}, err
		},
		remove: remove,
	}, nil
}

type bareMySQL struct{ insert *sql.Stmt }

func (b *bareMySQL) append(ctx context.Context, _ int, p []byte) error {
	_, err := b.insert.ExecContext(ctx, p)
	return err
}

func (b *bareMySQL) Close() error { return b.insert.Close() }

// redisPlace creates a key prefix for the store and one for the bare lists. The store refuses a
// server that answers before it syncs its data to disk.
func redisPlace(ctx context.Context, _ string) (*place, error) {
	u, err := serverURL("redis")
	if err != nil {
		return nil, err
	}
	o, err := goredis.ParseURL(u.String())
	if err != nil {
		return nil, errors.New("HOLDFAST_TEST_REDIS is not the URL of a Redis server")
	}
	client, prefix := goredis.NewClient(o), unusedName()+":"
	return &place{
		open: func(ctx context.Context) (session.Store, error) {
			return redis.Open(ctx, withParams(u, "prefix", prefix), nil)
		},
		bare: func(context.Context) (bareWay, error) { return &bareRedis{client, prefix + "bare:"}, nil },
		remove: func(ctx context.Context) error {
			defer client.Close()
			keys := client.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
			for keys.Next(ctx) {
				if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
					return err
				}
			}
			return keys.Err()
		},
	}, nil
}

type bareRedis struct {
	client *goredis.Client // closed by the place
	prefix string
}

func (b *bareRedis) append(ctx context.Context, writer int, p []byte) error {
	return b.client.RPush(ctx, fmt.Sprint(b.prefix, writer), p).Err()
}

func (b *bareRedis) Close() error { return nil }

// s3Place creates a key prefix for the store and one for the bare objects.
func s3Place(_ context.Context, _ string) (*place, error) {
	u, err := serverURL("s3")
	if err != nil {
		return nil, err
	}
	end, err := url.Parse(u.Query().Get("endpoint"))
	if err != nil || end.Host == "" || u.User == nil {
		return nil, errors.New("HOLDFAST_TEST_S3 must have a key, a secret, and an endpoint with http:// or https://")
	}
	secret, _ := u.User.Password()
	region := u.Query().Get("region")
	if region == "" {
		region = "us-east-1"
	}
	client, err := minio.New(end.Host, &minio.Options{
		Creds: credentials.NewStaticV4(u.User.Username(), secret, ""), Secure: end.Scheme == "https", Region: region,
	})
	if err != nil {
		return nil, err
	}
	at := u.JoinPath(unusedName())
	prefix := strings.TrimPrefix(at.Path, "/") + "/"
	barePrefix := strings.TrimSuffix(prefix, "/") + "_bare/"
	return &place{
		open: func(ctx context.Context) (session.Store, error) { return object.Open(ctx, at.String(), nil) },
		bare: func(context.Context) (bareWay, error) {
			return &bareS3{client: client, bucket: u.Host, prefix: barePrefix}, nil
		},
		remove: func(ctx context.Context) error {
			return errors.Join(removeObjects(ctx, client, u.Host, prefix), removeObjects(ctx, client, u.Host, barePrefix))
		},
	}, nil
}

func removeObjects(ctx context.Context, c *minio.Client, bucket, prefix string) (err error) {
	found := c.ListObjects(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true})
	for e := range c.RemoveObjects(ctx, bucket, found, minio.RemoveObjectsOptions{}) {
		err = errors.Join(err, e.Err)
	}
	return err
}

type bareS3 struct {
	client         *minio.Client
	bucket, prefix string
	last           atomic.Int64
}

func (b *bareS3) append(ctx context.Context, writer int, p []byte) error {
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	key := fmt.Sprintf("%s%d/%012d", b.prefix, writer, b.last.Add(1))
	_, err := b.client.PutObject(ctx, b.bucket, key, bytes.NewReader(p), int64(len(p)), o)
	return err
}

func (b *bareS3) Close() error { return nil }
