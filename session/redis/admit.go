package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// The format key marks the keys of a store. The scripts compare it too.
const (
	formatName    = "holdfast redis store "
	formatVersion = 1
	format        = formatName + "1"
)

// errCluster tells [Open] that the server belongs to a cluster.
var errCluster = errors.New("a cluster")

// admit checks the server of each new connection: it may have been restarted with other settings,
// or be another server.
func (s *Store) admit(ctx context.Context, c *redis.Conn) error {
	reply, err := text(c.Do(ctx, "INFO"))
	if err != nil {
		return err
	}
	info := parseInfo(reply)
	major, minor := version(info["redis_version"])
	refuse := func(sentinel error, detail, hint string) error {
		return &session.Error{Op: "open store", Err: sentinel, Detail: s.shown + ": " + detail, Hint: hint}
	}
	clustered := s.db.Clustered()
	switch {
	case info["loading"] == "1":
		return errLoading
	case info["redis_mode"] == "cluster" && !clustered:
		return errCluster
	case info["redis_mode"] == "sentinel":
		return refuse(session.ErrUnsupported, "this is a sentinel", "use the server that it monitors")
	case major < 6 || major == 6 && minor < 2:
		return refuse(session.ErrUnsupported, "version "+info["redis_version"], "use Redis 6.2 or later, or Valkey")
	case info["role"] != "master":
		return refuse(session.ErrReadOnly, "the server is a "+info["role"], "use the server that it replicates")
	case info["maxmemory_policy"] != "noeviction":
		return refuse(session.ErrUnsupported, "maxmemory-policy is "+info["maxmemory_policy"]+": the server may evict keys",
			"redis-cli CONFIG SET maxmemory-policy noeviction, and in redis.conf")
	case s.durability == durableNone:
		return nil
	case info["aof_enabled"] != "1":
		return refuse(session.ErrUnsupported, "appendonly is no: a restart of the server loses acknowledged writes",
			"redis-cli CONFIG SET appendonly yes and CONFIG SET appendfsync always, and in redis.conf; or accept the loss with ?durability=none")
	case s.durability == durableWait && (major < 7 || major == 7 && minor < 2):
		return refuse(session.ErrUnsupported, "durability=wait needs WAITAOF, which version "+info["redis_version"]+" does not have",
			"use Redis 7.2 or later, or appendfsync always")
	case s.durability == durableWait && clustered:
		return refuse(session.ErrUnsupported, "durability=wait is not supported on a cluster", "set appendfsync always on its servers")
	case s.durability == durableWait:
		return nil // each write waits for the sync, no matter what the settings are
	}
	return s.admitSync(ctx, c, refuse)
}

// admitSync checks when the server syncs.
func (s *Store) admitSync(ctx context.Context, c *redis.Conn, refuse func(error, string, string) error) error {
	const ways = "; or accept the loss of a second with ?durability=everysec, or wait for each sync with ?durability=wait (Redis 7.2)"
	set, err := fields(c.Do(ctx, "CONFIG", "GET", "*appendfsync*"))
	if _, answered := errors.AsType[redis.Error](err); answered || err == nil && set["appendfsync"] == "" {
		if s.durability == durableEverysec {
			return nil // trust the user's choice
		}
		return refuse(session.ErrUnsupported, "the server does not report its appendfsync setting", "allow CONFIG GET"+ways)
	}
	if err != nil {
		return err
	}
	switch sync := set["appendfsync"]; {
	case set["no-appendfsync-on-rewrite"] == "yes":
		return refuse(session.ErrUnsupported, "no-appendfsync-on-rewrite is yes: nothing is synced while the server rewrites its file",
			"redis-cli CONFIG SET no-appendfsync-on-rewrite no, and in redis.conf; or accept the loss with ?durability=none")
	case sync == "always", sync == "everysec" && s.durability == durableEverysec:
		return nil
	default:
		return refuse(session.ErrUnsupported, "appendfsync is "+sync+": the server answers before it has synced",
			"redis-cli CONFIG SET appendfsync always, and in redis.conf"+ways)
	}
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

func version(text string) (major, minor int) {
	a, rest, _ := strings.Cut(text, ".")
	b, _, _ := strings.Cut(rest, ".")
	major, _ = strconv.Atoi(a)
	minor, _ = strconv.Atoi(b)
	return major, minor
}

// createIfMissing connects, and creates the store if there is none.
func (s *Store) createIfMissing(ctx context.Context) error {
	_, err := s.try(ctx, "open store", "", func(ctx context.Context) (answer, error) {
		return nil, s.readOrCreateFormat(ctx)
	})
	return err
}

func (s *Store) readOrCreateFormat(ctx context.Context) error {
	key := s.base + "format"
	was, err := s.db.Do(ctx, "GET", key)
	if redis.HasCode(err, "WRONGTYPE") {
		return s.foreign(key)
	}
	if err != nil {
		return err
	}
	if was != nil {
		return s.checkFormatValue(was)
	}
	found, err := s.anyKey(ctx)
	if err != nil {
		return err
	}
	if found != "" {
		// Another process may have created the store meanwhile.
		if was, err := s.db.Do(ctx, "GET", key); err == nil && was != nil {
			return s.checkFormatValue(was)
		}
		return s.foreign(found)
	}
	if _, err := s.db.Do(ctx, "SET", key, format, "NX"); err != nil {
		return err
	}
	if was, err = s.db.Do(ctx, "GET", key); err != nil {
		return err
	}
	return s.checkFormatValue(was)
}

// checkFormatValue checks the value of the format key.
func (s *Store) checkFormatValue(value any) error {
	was, err := text(value, nil)
	if err != nil {
		return err
	}
	return s.checkFormat(was)
}

// anyKey finds a key with the store's prefix.
func (s *Store) anyKey(ctx context.Context) (string, error) {
	for cursor := "0"; ; {
		page, err := list(s.db.Do(ctx, "SCAN", cursor, "MATCH", s.base+"*", "COUNT", 10_000))
		if err != nil {
			return "", err
		}
		if keys := page.list(1); len(keys) > 0 {
			return answer(keys).word(0), nil
		}
		if cursor = page.word(0); cursor == "0" || cursor == "" {
			return "", nil
		}
	}
}

func (s *Store) checkFormat(was string) error {
	if was == format {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(was, formatName))
	if !strings.HasPrefix(was, formatName) || err != nil || n < 1 {
		return s.foreign(s.base + "format")
	}
	return &session.Error{
		Op: "open store", Err: session.ErrNewer,
		Detail: fmt.Sprintf("%s, prefix %s: format %d, but this program supports up to %d", s.shown, s.prefix, n, formatVersion),
		Hint:   "upgrade holdfast",
	}
}

func (s *Store) foreign(key string) error {
	return &session.Error{
		Op: "open store", Err: session.ErrCorrupt, Detail: fmt.Sprintf("%s: the key %q does not belong to a store", s.shown, key),
		Hint: "use another prefix with ?prefix=, or another database",
	}
}
