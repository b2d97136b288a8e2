package postgres_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

func TestURLs(t *testing.T) {
	for _, at := range []string{
		"", "x", "mysql://u:p@h/db", "postgres://u:secret-word@h:port/db", "postgres://u:secret%zz-word@h/db",
		"postgres://u:33/secret-word@h", "postgres://h/db?schema=", "postgres://h/db?schema=a&search_path=b", "postgres://h/db?schema=a&schema=b",
		"postgres://h/db?schema=pg_x", "postgres://h/db?schema=a,b", "postgres://h/db?schema=" + strings.Repeat("x", 64),
		"postgres://h/db?durability=none", "postgres://h/db?durability=", "postgres://h/db?sslmode=secret-word", "postgres://h/db#x",
		"postgres://u:secret-word@h/db?pool_max_conns=none", "postgres://u@h/db?password=secret-word&connect_timeout=secret-word",
	} {
		_, err := postgres.Open(ctx, at, nil)
		if !errors.Is(err, session.ErrInvalid) || session.Hint(err) == "" {
			t.Errorf("%s: %v (hint %q)", at, err, session.Hint(err))
		}
		if strings.Contains(at, "password=") || strings.Contains(at, ":secret") || strings.Contains(at, "/secret") {
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("%s: the error shows the password: %v", at, err)
			}
		}
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	at := server(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	right, _ := u.User.Password()
	s := open(t, target(t))
	if strings.Contains(s.String(), right) || !strings.HasPrefix(s.String(), "postgres://") {
		t.Errorf("the store is %s", s)
	}
	wrong := "wro" + "ng/&?" // has what must be escaped
	u.User = url.UserPassword(u.User.Username(), wrong)
	closed := *u
	closed.Host = "127.0.0.1:1"
	missing := *u
	missing.User, missing.Path = url.UserPassword(u.User.Username(), right), "/none-of-this-name"
	unknown := with(t, at, "no_such_setting", "1")
	for _, at := range []string{u.String(), closed.String(), missing.String(), unknown} {
		_, err := postgres.Open(ctx, at, nil)
		if err == nil {
			t.Errorf("%s was opened", at)
			continue
		}
		if _, ok := errors.AsType[*session.Error](err); !ok {
			t.Errorf("%T: %v", err, err)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, word := range []string{wrong, url.PathEscape(wrong), url.QueryEscape(wrong), right} {
				if strings.Contains(fmt.Sprintf("%v %+v", e, e), word) {
					t.Errorf("the password is in %v", e)
				}
			}
		}
	}
}

func TestForeignSchemas(t *testing.T) {
	for name, tables := range map[string]string{
		"somebody's tables":     "CREATE TABLE users (name text)",
		"a format of their own": "CREATE TABLE format (paper text)",
		"an empty format":       "CREATE TABLE format (mark text, version integer)",
		"another mark":          "CREATE TABLE format (mark text, version integer); INSERT INTO format VALUES ('x', 1)",
		"no version":            "CREATE TABLE format (mark text, version text); INSERT INTO format VALUES ('holdfast sessions', 'x')",
	} {
		t.Run(name, func(t *testing.T) {
			at := target(t)
			u, _ := url.Parse(at)
			schema := u.Query().Get("schema")
			script(t, at, "CREATE SCHEMA "+schema+"; SET search_path = "+schema+"; "+tables)
			before := value(t, at, "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)", schema)
			_, err := postgres.Open(ctx, at, nil)
			if !errors.Is(err, session.ErrInvalid) || session.Hint(err) == "" {
				t.Errorf("%v (hint %q)", err, session.Hint(err))
			}
			if after := value(t, at, "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)", schema); after != before {
				t.Errorf("%s relations, before %s", after, before)
			}
		})
	}
}

func TestOpenEmptySchema(t *testing.T) {
	at := target(t)
	u, _ := url.Parse(at)
	script(t, at, "CREATE SCHEMA "+u.Query().Get("schema"))
	create(t, open(t, at), "s")
}

func TestNewerIsRefused(t *testing.T) {
	at := target(t)
	create(t, open(t, at), "s")
	script(t, at, "UPDATE format SET version = version + 1")
	if _, err := postgres.Open(ctx, at, nil); !errors.Is(err, session.ErrNewer) || session.Hint(err) == "" {
		t.Errorf("%v", err)
	}
}

// Of many that open a schema which is not there, one makes it and all have it.
func TestSchemaCreatedOnce(t *testing.T) {
	at := target(t)
	stores, errs := make([]*postgres.Store, 6), make([]error, 6)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() { stores[i], errs[i] = postgres.Open(ctx, at, nil) })
	}
	wg.Wait()
	for _, s := range stores {
		if s != nil {
			defer s.Close()
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	create(t, stores[0], "s")
	if n := count(t, stores[5], "s"); n != 1 {
		t.Errorf("%d records", n)
	}
	if v := value(t, at, "SELECT count(*) FROM format"); v != "1" {
		t.Errorf("%s formats", v)
	}
}

// The store's appends are durable where the server's default is that they are not.
func TestDurabilityIsForced(t *testing.T) {
	at := target(t)
	open(t, at)
	role := "r_" + strings.ToLower(rand.Text())
	word := "ma" + "de-up"
	script(t, at, fmt.Sprintf("CREATE ROLE %[1]s SUPERUSER LOGIN PASSWORD '%[2]s'; ALTER ROLE %[1]s SET synchronous_commit = off", role, word))
	t.Cleanup(func() { script(t, at, "DROP ROLE "+role) })
	u, _ := url.Parse(at)
	u.User = url.UserPassword(role, word)
	for durability, want := range map[string]string{"strict": "on", "relaxed": "off"} {
		s := open(t, with(t, u.String(), "durability", durability))
		script(t, at, `CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.title := current_setting('synchronous_commit')::bytea; RETURN NEW; END $$;
DROP TRIGGER IF EXISTS note ON sessions;
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION note()`)
		a := create(t, s, durability)
		if err := a.append(a.item("x")); err != nil {
			t.Fatal(err)
		}
		p, err := s.List(ctx, session.Query{ID: durability})
		if err != nil || p.Sessions[0].Title != want {
			t.Errorf("%s: synchronous_commit is %v, %v", durability, p.Sessions, err)
		}
	}
}

func TestClosed(t *testing.T) {
	s := open(t, target(t))
	a := create(t, s, "s")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.append(a.item("x")); !errors.Is(err, session.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := s.List(ctx, session.Query{}); !errors.Is(err, session.ErrClosed) {
		t.Errorf("list: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// A page of the newest and a tail are ranges of an index, however much there is.
func TestPlansUseIndexes(t *testing.T) {
	at := target(t)
	s := open(t, at)
	create(t, s, "s")
	script(t, at, `INSERT INTO records SELECT num, 1 + n, id, 0, 'item', head_digest, 'x' FROM sessions, generate_series(1, 20000) n;
INSERT INTO sessions (id, epoch, head, head_digest, updated_ms, created_ms, created_ns, messages, size, model, first_prompt, title, summary, tag,
  project, cwd, git_branch, parent, parent_seq, deleted, questions, run, owner, trashed)
SELECT convert_to('s' || n, 'UTF8'), 0, 1, head_digest, n, n, 0, 0, 0, model, first_prompt, title, summary, tag, project, cwd, git_branch, parent, 0, 0, 0, run, owner, trashed
FROM sessions, generate_series(1, 5000) n;
ANALYZE`)
	for query, index := range map[string]string{
		"SELECT * FROM records WHERE num = 1 AND seq > 0 AND seq <= 20001 ORDER BY seq DESC LIMIT 50":                                                                                                          "records_pkey",
		"SELECT * FROM sessions WHERE deleted = 0 AND trashed = '' AND substr(id, 1, 3) <> 'wt-' ORDER BY updated_ms DESC, created_ms DESC, created_ns DESC, id DESC LIMIT 51":                                 "recent",
		"SELECT * FROM sessions WHERE deleted = 0 AND trashed = '' AND questions > 0 ORDER BY updated_ms DESC, created_ms DESC, created_ns DESC, id DESC LIMIT 51":                                             "asking",
		"SELECT * FROM sessions WHERE deleted = 0 AND trashed = '' AND (updated_ms, created_ms, created_ns, id) < (9, 9, 9, 'x') ORDER BY updated_ms DESC, created_ms DESC, created_ns DESC, id DESC LIMIT 51": "recent",
	} {
		c := dial(t, at)
		var plan strings.Builder
		found, err := c.Query(ctx, "EXPLAIN "+query)
		if err != nil {
			t.Fatal(err)
		}
		for found.Next() {
			var line string
			if err := found.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		c.Close(ctx)
		if !strings.Contains(plan.String(), index) {
			t.Errorf("%s\ndoes not use %s:\n%s", query, index, plan.String())
		}
	}
}
